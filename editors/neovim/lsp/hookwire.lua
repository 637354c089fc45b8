---@brief
--- The language server of `hookwire`, for definition files only: other YAML, TOML and JSON buffers
--- don't start it.

local hookwire = require('hookwire')

return {
  cmd = { 'hookwire', 'serve' },
  filetypes = { 'yaml', 'toml', 'json', 'jsonc' },
  root_dir = function(bufnr, on_dir)
    local root = hookwire.root(bufnr)
    if root then
      on_dir(root)
    end
  end,
  capabilities = {
    experimental = { hookwire = { live = true } },
    workspace = { codeLens = { refreshSupport = true } },
  },
  handlers = hookwire.handlers,
}
