" Vim's own channel in lsp mode: Content-Length headers.
let s:patience = 20000
let s:conversation = json_decode(join(readfile(expand('<sfile>:p:h') .. '/conversation.json'), "\n"))
let s:heard = []
let s:served = 0
let s:code = v:null

" Everything that is expected is there; lists are as long as expected.
func s:fits(found, expected) abort
  if type(a:found) != type(a:expected)
    return v:false
  elseif type(a:expected) == v:t_dict
    return keys(a:expected)->indexof({_, key -> !has_key(a:found, key) || !s:fits(a:found[key], a:expected[key])}) < 0
  elseif type(a:expected) == v:t_list
    return len(a:found) == len(a:expected)
      \ && range(len(a:expected))->indexof({_, i -> !s:fits(a:found[i], a:expected[i])}) < 0
  endif
  return a:found ==# a:expected
endfunc

func s:check(what, found, expected) abort
  if !s:fits(a:found, a:expected)
    throw printf('%s: expected %s, found %s', a:what, json_encode(a:expected), json_encode(a:found))
  endif
endfunc

func s:receive(channel, message) abort
  if !has_key(a:message, 'id')
    call add(s:heard, a:message)
    return
  endif
  let l:serve = s:conversation.serve[a:message.method]
  call s:check(a:message.method, a:message.params, l:serve.params)
  let s:served += 1
  call ch_sendexpr(a:channel, #{id: a:message.id, result: l:serve.result})
endfunc

func s:ended(job, code) abort
  let s:code = a:code
endfunc

func s:wait_for(what, condition) abort
  let l:start = reltime()
  while !a:condition()
    if reltimefloat(reltime(l:start)) * 1000 > s:patience
      throw 'gave up: ' .. a:what
    endif
    " Callbacks run while Vim sleeps.
    sleep 5m
  endwhile
endfunc

func s:talk(job) abort
  for l:step in s:conversation.steps
    if has_key(l:step, 'notify')
      call ch_sendexpr(a:job, #{method: l:step.notify, params: l:step.params})
    elseif has_key(l:step, 'edit')
      " Not rename(): it deletes the old file first.
      call system('mv -f ' .. shellescape($EDITED) .. ' ' .. shellescape($HOOKS .. '/' .. l:step.edit))
    elseif has_key(l:step, 'heard')
      let l:expected = #{method: l:step.heard, params: l:step.params}
      call s:wait_for(l:step.heard, {-> s:heard->copy()->filter({_, it -> s:fits(it, l:expected)})->len() > 0})
    else
      let l:request = #{method: l:step.request, params: l:step.params}
      let l:reply = ch_evalexpr(a:job, l:request, #{timeout: s:patience})
      let l:outcome = has_key(l:step, 'error') ? 'error' : 'result'
      call s:check(l:step.request, l:reply, {l:outcome: l:step[l:outcome]})
    endif
  endfor
  call s:wait_for('the host ends', {-> s:code isnot v:null})
  call s:check('exit code', s:code, 0)
  call s:check('calls of the host', s:served, 1)
endfunc

try
  let s:job = job_start([$HOOKWIRE, 'serve', '--isolated', '--hooks', $HOOKS], #{
    \ in_mode: 'lsp', out_mode: 'lsp', err_io: 'null',
    \ callback: function('s:receive'), exit_cb: function('s:ended')})
  call s:talk(s:job)
  call writefile([printf('ok vim %d.%d', v:version / 100, v:version % 100)], '/dev/stdout', 'a')
  qall!
catch
  call writefile([v:throwpoint, v:exception], '/dev/stderr', 'a')
  cquit
endtry
