--- The parts that Neovim's language client leaves out: which buffers are definition files, when
--- code lenses are asked for, and `:Hookwire`.

local M = {}

local EVENTS = 'hookwire events'
local HOOKS = 'hookwire hooks'

--- The last `hookwire/live` of each server, by client.
---@type table<integer, table>
local live = {}

local function tell(message, level)
  vim.notify('hookwire: ' .. message, level or vim.log.levels.INFO)
end

--- The root of the project whose definition file a buffer is; nil if it is none.
---@param bufnr integer
---@return string?
function M.root(bufnr)
  local path = vim.fs.normalize(vim.api.nvim_buf_get_name(bufnr))
  local project = path:match('^(.*)/%.hookwire/')
  if project then
    return project == '' and '/' or project
  end
  local config = vim.env.XDG_CONFIG_HOME or vim.fs.joinpath(vim.uv.os_homedir() or '', '.config')
  for _, dir in ipairs({ '/etc/hookwire/', vim.fs.normalize(config) .. '/hookwire/' }) do
    if vim.startswith(path, dir) then
      return vim.fs.root(vim.uv.cwd(), '.hookwire') or vim.uv.cwd()
    end
  end
  for _, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, 10, false)) do
    if line:find('$schema', 1, true) and line:find('hookwire', 1, true) then
      return vim.fs.root(bufnr, { '.hookwire', '.git' }) or vim.fs.dirname(path)
    end
  end
end

-- Asks again if a document changed in the meantime.
local function request(client, method, params, done, bufnr)
  client:request(method, params, function(problem, result, ctx)
    if problem and problem.code == vim.lsp.protocol.ErrorCodes.ContentModified then
      request(client, method, params, done, bufnr)
    else
      done(problem, result, ctx)
    end
  end, bufnr)
end

-- `vim.lsp.codelens.refresh` drops what is asked while an answer is under way, and would so keep
-- lenses from before the change.
local function refresh(client, bufnr)
  if vim.api.nvim_buf_is_loaded(bufnr) then
    local params = { textDocument = vim.lsp.util.make_text_document_params(bufnr) }
    request(client, 'textDocument/codeLens', params, vim.lsp.codelens.on_codelens, bufnr)
  end
end

--- Keeps the code lenses of a buffer as they should be.
---@param client vim.lsp.Client
---@param bufnr integer
function M.attach(client, bufnr)
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true, { bufnr = bufnr })
    return
  end
  local group = vim.api.nvim_create_augroup('hookwire.lenses.' .. bufnr, {})
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      refresh(client, bufnr)
    end,
  })
  vim.api.nvim_create_autocmd('LspDetach', {
    group = group,
    buffer = bufnr,
    callback = function(args)
      if args.data.client_id == client.id then
        vim.api.nvim_del_augroup_by_id(group)
      end
    end,
  })
  refresh(client, bufnr)
end

local function client_of(bufnr)
  local clients = vim.lsp.get_clients({ name = 'hookwire', bufnr = bufnr })
  return clients[1] or vim.lsp.get_clients({ name = 'hookwire' })[1]
end

-- Asks, and calls `done` with the result. An error is shown instead.
local function ask(client, method, params, done)
  request(client, method, params, function(problem, result)
    if problem then
      tell(problem.message, vim.log.levels.ERROR)
    elseif result and result ~= vim.NIL then
      done(result)
    end
  end)
end

local function execute(client, command, argument, done)
  local params = { command = 'hookwire.' .. command, arguments = { argument } }
  ask(client, 'workspace/executeCommand', params, done)
end

-- The names of the hooks in a buffer that code lenses tell, with the lines of these, in order.
local function hooks_of(lenses)
  local hooks, seen = {}, {}
  for _, lens in ipairs(lenses) do
    local argument = lens.command and (lens.command.arguments or {})[1]
    local name = type(argument) == 'table' and argument.hook
    if name and not seen[name] then
      seen[name] = true
      table.insert(hooks, { name = name, line = lens.range.start.line })
    end
  end
  table.sort(hooks, function(a, b)
    return a.line < b.line
  end)
  return hooks
end

local function lens_params()
  return { textDocument = vim.lsp.util.make_text_document_params(0) }
end

-- About the hook of that name, otherwise the one that the cursor is in.
local function about_hook(client, command, name)
  local uri, line = vim.uri_from_bufnr(0), vim.api.nvim_win_get_cursor(0)[1] - 1
  -- The server shows the result itself.
  local function about(hook)
    execute(client, command, { uri = uri, hook = hook }, function() end)
  end
  if name then
    return about(name)
  end
  ask(client, 'textDocument/codeLens', lens_params(), function(lenses)
    local hooks = hooks_of(lenses)
    local here = hooks[1]
    for _, hook in ipairs(hooks) do
      here = hook.line <= line and hook or here
    end
    if here then
      about(here.name)
    else
      tell('no hook here', vim.log.levels.WARN)
    end
  end)
end

-- Of the quickfix list with this title, if it is the current one and can be seen.
local function is_shown(title)
  local list = vim.fn.getqflist({ title = true, winid = true })
  return list.title == title and list.winid ~= 0
end

local function show(title, items, again)
  if again and not is_shown(title) then
    return
  end
  local action = is_shown(title) and 'r' or ' '
  vim.fn.setqflist({}, action, { title = title, items = items })
  if not again then
    vim.cmd('botright copen')
  end
end

local function item(place, kind, text)
  local found = { type = kind, text = (text:gsub('%s+', ' ')) }
  if place then
    found.filename = vim.uri_to_fname(place.uri)
    found.lnum = place.range.start.line + 1
    found.col = 1
  end
  return found
end

local SEVERITIES = { deny = 'E', ask = 'W' }

local function event_item(event, places)
  local text = ('%s %s %s → %s'):format(os.date('%H:%M:%S', event.seconds), event.event, event.subject, event.decision)
  if event.decidedBy then
    text = text .. ' by ' .. event.decidedBy
  end
  if event.reason then
    text = text .. ': ' .. event.reason
  end
  return item(places[event.decidedBy or ''], SEVERITIES[event.decision] or 'I', text)
end

-- The events that were judged last, each with the place of the hook that decided.
local function events(client, again)
  execute(client, 'hooks', vim.empty_dict(), function(known)
    local places = {}
    for _, root in ipairs(known.roots) do
      for _, hook in ipairs(root.hooks) do
        places[hook.name] = places[hook.name] or (hook.uri and hook.range and hook) or nil
      end
    end
    execute(client, 'events', vim.empty_dict(), function(result)
      local items = vim.tbl_map(function(event)
        return event_item(event, places)
      end, result.events)
      show(EVENTS, items, again)
    end)
  end)
end

local function hook_item(hook)
  local text = ('%s on %s: %s'):format(hook.name, table.concat(hook.on, ', '), table.concat(hook.notes, ', '))
  return item(hook.uri and hook.range and hook, 'I', text)
end

-- All hooks in force, in the order in which they run.
local function hooks(client)
  execute(client, 'hooks', vim.empty_dict(), function(result)
    local items = {}
    for _, root in ipairs(result.roots) do
      for _, hook in ipairs(root.hooks) do
        table.insert(items, hook_item(hook))
      end
    end
    show(HOOKS, items)
  end)
end

local commands = {
  run = function(client, name)
    about_hook(client, 'run', name)
  end,
  explain = function(client, name)
    about_hook(client, 'explain', name)
  end,
  matches = function(client, name)
    about_hook(client, 'matches', name)
  end,
  hooks = hooks,
  events = function(client)
    events(client)
  end,
  -- The server shows what is to be trusted, and asks.
  trust = function(client)
    local path = vim.api.nvim_buf_get_name(0)
    local here = path:find('/.hookwire/', 1, true) and { uri = vim.uri_from_bufnr(0) } or vim.empty_dict()
    execute(client, 'trust', here, function() end)
  end,
  status = function(client)
    execute(client, 'status', vim.empty_dict(), function(status)
      tell(status.summary)
    end)
  end,
  reload = function(client)
    execute(client, 'reload', vim.empty_dict(), function(result)
      tell(result.summary)
    end)
  end,
}

--- Carries out `:Hookwire …`.
---@param args string[]
function M.command(args)
  local run = commands[args[1]]
  local client = client_of(0)
  if not run then
    tell(('unknown command `%s`'):format(args[1]), vim.log.levels.ERROR)
  elseif not client then
    tell('no definition file is open', vim.log.levels.WARN)
  else
    run(client, args[2])
  end
end

--- The completions of `:Hookwire`.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(line, '%s+')
  local names = {}
  if #words <= 2 then
    names = vim.tbl_keys(commands)
    table.sort(names)
  elseif vim.list_contains({ 'run', 'explain', 'matches' }, words[2]) then
    local client = client_of(0)
    local reply = client and client:request_sync('textDocument/codeLens', lens_params(), 500, 0)
    for _, hook in ipairs(hooks_of(reply and reply.result or {})) do
      table.insert(names, hook.name)
    end
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

--- How the definitions of the buffer's project stand, for a status line.
---@return string
function M.status()
  local client = vim.lsp.get_clients({ name = 'hookwire', bufnr = 0 })[1]
  local status = client and live[client.id]
  return status and status.summary or ''
end

--- The server's messages that Neovim doesn't handle by itself.
M.handlers = {
  ['window/showMessage'] = function(_, params)
    -- Their numbers are those of LSP turned round: 4 is an error there.
    vim.notify(params.message, math.max(5 - params.type, vim.log.levels.DEBUG), { title = 'hookwire' })
  end,
  ['hookwire/live'] = function(_, status, ctx)
    live[ctx.client_id] = status
    vim.api.nvim_exec_autocmds('User', { pattern = 'HookwireLive', data = status })
    local client = vim.lsp.get_client_by_id(ctx.client_id)
    if client and is_shown(EVENTS) then
      events(client, true)
    end
  end,
}

if not vim.lsp.codelens.enable then
  M.handlers['workspace/codeLens/refresh'] = function(_, _, ctx)
    local client = vim.lsp.get_client_by_id(ctx.client_id)
    for bufnr in pairs(client and client.attached_buffers or {}) do
      refresh(client, bufnr)
    end
    return vim.NIL
  end
end

return M
