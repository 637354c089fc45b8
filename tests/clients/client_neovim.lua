-- Neovim's `vim.lsp.rpc`: Content-Length headers; what its language client is built on.
local PATIENCE = 20000
local here = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
local conversation = vim.json.decode(table.concat(vim.fn.readfile(here .. '/conversation.json'), '\n'))
local heard, served, code = {}, 0, nil

-- Everything that is expected is there; lists are as long as expected.
local function fits(found, expected)
  if expected == vim.NIL then
    return found == nil or found == vim.NIL
  elseif type(expected) ~= 'table' or type(found) ~= 'table' then
    return found == expected
  end
  for key, item in pairs(expected) do
    if not fits(found[key], item) then
      return false
    end
  end
  return not vim.islist(expected) or #found == #expected
end

local function check(what, found, expected)
  if not fits(found, expected) then
    error(('%s: expected %s, found %s'):format(what, vim.inspect(expected), vim.inspect(found)))
  end
end

local function wait_for(what, condition)
  if not vim.wait(PATIENCE, condition, 5) then
    error('gave up: ' .. what)
  end
end

local function talk()
  local host = vim.lsp.rpc.start({ vim.env.HOOKWIRE, 'serve', '--isolated', '--hooks', vim.env.HOOKS }, {
    notification = function(method, params)
      table.insert(heard, { method, params })
    end,
    server_request = function(method, params)
      check(method, params, conversation.serve[method].params)
      served = served + 1
      return conversation.serve[method].result
    end,
    on_exit = function(status)
      code = status
    end,
    on_error = function(_, problem)
      io.stderr:write(vim.inspect(problem), '\n')
    end,
  })
  for _, step in ipairs(conversation.steps) do
    if step.notify then
      host.notify(step.notify, step.params)
    elseif step.edit then
      assert(vim.uv.fs_rename(vim.env.EDITED, vim.fs.joinpath(vim.env.HOOKS, step.edit)))
    elseif step.heard then
      wait_for(step.heard, function()
        return vim.iter(heard):any(function(it)
          return fits(it, { step.heard, step.params })
        end)
      end)
    else
      local reply
      host.request(step.request, step.params, function(problem, result)
        reply = { error = problem, result = result }
      end)
      wait_for(step.request, function()
        return reply
      end)
      check(step.request, reply, { error = step.error or vim.NIL, result = step.result or vim.NIL })
    end
  end
  wait_for('the host ends', function()
    return code
  end)
  check('exit code', code, 0)
  check('calls of the host', served, 1)
end

local ok, problem = pcall(talk)
local version = vim.version()
if ok then
  io.stdout:write(('ok neovim %d.%d.%d\n'):format(version.major, version.minor, version.patch))
else
  io.stderr:write(problem, '\n')
end
os.exit(ok and 0 or 1)
