-- As the README of the plugin says.
vim.lsp.enable('hookwire')
vim.api.nvim_create_autocmd('LspAttach', {
  callback = function(args)
    vim.lsp.completion.enable(true, args.data.client_id, args.buf)
  end,
})
vim.o.completeopt = 'menuone,noinsert'
-- Messages of more than a line would have to be answered.
vim.o.columns = 240
vim.o.more = false
