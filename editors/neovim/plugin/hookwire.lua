if vim.g.loaded_hookwire or vim.fn.has('nvim-0.11') == 0 then
  return
end
vim.g.loaded_hookwire = true

vim.api.nvim_create_autocmd('LspAttach', {
  group = vim.api.nvim_create_augroup('hookwire', {}),
  callback = function(args)
    local client = vim.lsp.get_client_by_id(args.data.client_id)
    if client and client.name == 'hookwire' then
      require('hookwire').attach(client, args.buf)
    end
  end,
})

vim.api.nvim_create_user_command('Hookwire', function(args)
  require('hookwire').command(args.fargs)
end, {
  nargs = '+',
  desc = 'What hooks do: run, explain, matches, hooks, events, trust, status, reload',
  complete = function(lead, line)
    return require('hookwire').complete(lead, line)
  end,
})
