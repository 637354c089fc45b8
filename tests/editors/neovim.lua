-- Neovim with the delivered plugin, as a user has it: a second Neovim that gets keys.
local PATIENCE = 10000
local child = vim.fn.jobstart({ vim.v.progpath, '--embed', '--headless' }, { rpc = true })

-- Runs a chunk there and gives what it returns.
local function there(chunk, ...)
  return vim.rpcrequest(child, 'nvim_exec_lua', chunk, { ... })
end

local function wait_for(what, chunk, ...)
  local arguments, found = { ... }, nil
  local function holds()
    found = there(chunk, unpack(arguments))
    return found and found ~= vim.NIL
  end
  if not vim.wait(PATIENCE, holds, 5) then
    error(('gave up: %s\n%s'):format(what, there('return vim.fn.execute("messages")')))
  end
  return found
end

local function check(what, found, expected)
  if not vim.deep_equal(found, expected) then
    error(('%s: expected %s, found %s'):format(what, vim.inspect(expected), vim.inspect(found)))
  end
end

local function type(keys)
  vim.rpcrequest(child, 'nvim_input', keys)
end

local function edit(name)
  there('vim.cmd.edit(...)', '.hookwire/' .. name)
  wait_for('attached', 'return #vim.lsp.get_clients({ name = "hookwire", bufnr = 0 }) > 0')
end

-- The diagnostics, once there are as many: `line:column message`, counted from 1.
local function diagnostics(n)
  wait_for(
    n .. ' diagnostics',
    [[return #vim.diagnostic.get(0) == ...]],
    n
  )
  return there([[return vim.tbl_map(function(it)
    return ('%d:%d %s'):format(it.lnum + 1, it.col + 1, it.message)
  end, vim.diagnostic.get(0))]])
end

-- The lenses as they are drawn on a line, counted from 1, once they hold a text.
local function lenses(line, part)
  return wait_for(
    'lens ' .. part,
    [[
      local line, part = ...
      for name, namespace in pairs(vim.api.nvim_get_namespaces()) do
        if name:find('codelens', 1, true) then
          local from, to = { line - 1, 0 }, { line - 1, -1 }
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, from, to, { details = true })) do
            local text = ''
            for _, chunk in ipairs(mark[4].virt_text) do
              text = text .. chunk[1]
            end
            if text:find(part, 1, true) then
              return text
            end
          end
        end
      end
    ]],
    line,
    part
  )
end

local function message(part)
  wait_for('message ' .. part, [[return vim.fn.execute('messages'):find(..., 1, true) ~= nil]], part)
end

local tests = {}

function tests.other_files_are_left_alone()
  there([[
    vim.cmd.edit('compose.yaml')
    assert(vim.bo.filetype == 'yaml')
  ]])
  check('clients', there('return #vim.lsp.get_clients({ bufnr = 0 })'), 0)
end

function tests.a_mistake_is_shown_as_it_is_typed()
  edit('new.yaml')
  -- Pasted: nothing is to indent it.
  there([[vim.api.nvim_buf_set_lines(0, 0, -1, false, {
    'hooks:', '  - {name: é😀, on: PreTolUse, deny: no}', '  - name: b', '    on: [Stop, Stopp]', '    deny: no' })]])
  local found = diagnostics(2)
  check('first', vim.startswith(found[1], '2:24 unknown event “PreTolUse”'), true)
  check('second', vim.startswith(found[2], '4:16 unknown event “Stopp”'), true)
  type('2G0/lUse<CR>io<Esc>4G$hx')
  diagnostics(0)
end

function tests.completion_inserts_an_event()
  edit('completed.yaml')
  there([[vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'hooks:', '  - name: é😀', '    on: ' })]])
  type('GAPreToolU<C-x><C-o>')
  wait_for('menu', 'return vim.fn.pumvisible() == 1')
  type('<C-y><Esc>')
  wait_for('inserted', [[return vim.fn.mode() == 'n' and vim.api.nvim_get_current_line():find('PreToolUse', 1, true)]])
  check('line', there('return vim.api.nvim_get_current_line()'), '    on: PreToolUse')
end

function tests.hover_tells_what_a_field_means()
  edit('guard.yaml')
  type('4G0w')
  there('vim.lsp.buf.hover()')
  local text = wait_for(
    'a window',
    [[
      for _, window in ipairs(vim.api.nvim_list_wins()) do
        if vim.api.nvim_win_get_config(window).relative ~= '' then
          return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n')
        end
      end
    ]]
  )
  check('documentation of `on`: ' .. text, text:find('event') ~= nil, true)
end

function tests.a_lens_runs_the_hook_as_it_is_typed()
  edit('guard.yaml')
  lenses(2, '▶ run on last PreToolUse')
  lenses(2, 'denied 1')
  -- Unsaved: the reason is another one than on disk.
  type('6G0f:C: never, 😀<Esc>2G')
  lenses(2, '▶ run on last PreToolUse')
  type('<Cmd>lua vim.lsp.codelens.run()<CR>1<CR>')
  message('never, 😀')
  lenses(2, 'deny: never, 😀')
  check('on disk', there([[return vim.fn.readfile('.hookwire/guard.yaml')[6] ]]), '    deny: never force-push')
end

function tests.the_command_does_the_same()
  edit('guard.yaml')
  type('3G:Hookwire run<CR>')
  message('never force-push')
  type(':Hookwire explain keep-secrets<CR>')
  message('keep-secrets')
  type(':Hookwire matches<CR>')
  message('git push')
  check('completed', there([[return vim.fn.getcompletion('Hookwire run k', 'cmdline')]]), { 'keep-secrets' })
  check('completed', there([[return vim.fn.getcompletion('Hookwire r', 'cmdline')]]), { 'reload', 'run' })
  type(':Hookwire status<CR>')
  message('2 hooks, 1 running host')
  type(':Hookwire reload<CR>')
  message('1 running host loaded its definitions')
end

function tests.events_are_listed_as_they_come()
  edit('guard.yaml')
  type(':Hookwire hooks<CR>')
  wait_for('hooks', [[return vim.fn.getqflist({ title = true }).title == 'hookwire hooks']])
  local hooks = there('return vim.fn.getqflist()')
  check('hooks', #hooks, 2)
  check('place', { hooks[1].lnum, hooks[1].valid }, { 2, 1 })
  type(':Hookwire events<CR>')
  wait_for('events', [[return vim.fn.getqflist({ title = true }).title == 'hookwire events']])
  local events = there('return vim.fn.getqflist()')
  check('events', #events, 1)
  check('place', { events[1].lnum, events[1].valid, events[1].type }, { 2, 1, 'E' })
  check(events[1].text, events[1].text:find('PreToolUse Bash .*deny by never%-force: never force%-push') ~= nil, true)
  -- The agent goes on.
  vim.fn.writefile(vim.fn.readfile(vim.env.EVENT), vim.env.AGENT, 'a')
  wait_for('the next', 'return #vim.fn.getqflist() == 2')
  there('vim.cmd.cfirst()')
  lenses(2, 'denied 2')
  check('status line', there([[return require('hookwire').status()]]), '2 hooks, 1 running host')
end

function tests.the_health_check_is_content()
  edit('guard.yaml')
  lenses(2, '▶ run on last PreToolUse')
  there([[vim.cmd('checkhealth hookwire')]])
  local text = table.concat(there('return vim.api.nvim_buf_get_lines(0, 0, -1, false)'), '\n')
  check(text, text:find('ERROR') or text:find('WARNING'), nil)
  check(text, text:find('1 running host') ~= nil, true)
end

local order = {
  'other_files_are_left_alone',
  'a_mistake_is_shown_as_it_is_typed',
  'completion_inserts_an_event',
  'hover_tells_what_a_field_means',
  'a_lens_runs_the_hook_as_it_is_typed',
  'the_command_does_the_same',
  'events_are_listed_as_they_come',
  'the_health_check_is_content',
}
local failed = {}
for _, name in ipairs(order) do
  if not vim.env.ONLY or name:find(vim.env.ONLY, 1, true) then
    local ok, problem = pcall(tests[name])
    if not ok then
      table.insert(failed, name)
      io.stderr:write(name, ': ', problem, '\n')
    end
    type('<Esc>')
    there('vim.cmd("silent! only! | silent! %bwipeout! | messages clear")')
  end
end
vim.fn.jobstop(child)
local version = vim.version()
if #failed == 0 then
  io.stdout:write(('ok neovim %d.%d.%d\n'):format(version.major, version.minor, version.patch))
end
os.exit(#failed == 0 and 0 or 1)
