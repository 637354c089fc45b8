--- `:checkhealth hookwire`.

local M = {}

function M.check()
  local health = vim.health
  health.start('hookwire')
  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim 0.11 or newer is needed', 'For older versions see the README.')
    return
  end
  local config = vim.lsp.config.hookwire or {}
  local program = type(config.cmd) == 'table' and config.cmd[1]
  if program and vim.fn.executable(program) == 0 then
    health.error(('`%s` is not in PATH'):format(program), {
      'Install it: cargo install hookwire',
      "Or name it: vim.lsp.config('hookwire', { cmd = { '/path/to/hookwire', 'serve' } })",
    })
  elseif program then
    local found = vim.system({ program, '--version' }, { text = true }):wait(5000)
    if found.code == 0 then
      health.ok(('%s: %s'):format(vim.fn.exepath(program), vim.trim(found.stdout)))
    else
      health.error(('`%s --version` failed: %s'):format(program, vim.trim(found.stderr or '')))
    end
  end
  local enabled = vim.lsp.is_enabled and vim.lsp.is_enabled('hookwire')
  if enabled then
    health.ok('enabled')
  else
    health.warn('not enabled', "vim.lsp.enable('hookwire')")
  end
  local clients = vim.lsp.get_clients({ name = 'hookwire' })
  if #clients == 0 then
    health.info('not started: it starts with the first file of a `.hookwire` directory')
  end
  for _, client in ipairs(clients) do
    local params = { command = 'hookwire.status', arguments = { vim.empty_dict() } }
    local reply = client:request_sync('workspace/executeCommand', params, 5000)
    local status = reply and reply.result
    if not status then
      health.error(('%s: no answer'):format(client.root_dir or ''))
    elseif #status.hosts == 0 then
      health.info(('%s: no host runs there; lenses use sample events'):format(client.root_dir or ''))
    else
      health.ok(('%s: %s'):format(client.root_dir or '', status.summary))
    end
  end
end

return M
