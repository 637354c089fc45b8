//go:build unix

// Package hookwire asks hookwire, a host of hooks, before an agent acts. It is one file without dependencies.
//
//	hooks, err := hookwire.New(hookwire.Options{Hooks: []string{"hooks"}})
//	...
//	defer hooks.Close()
//	verdict, err := hooks.Dispatch(ctx, hookwire.Event{"event": "PreToolUse", "tool": tool})
//	if err == nil {
//		err = verdict.Enforce(&tool.Input) // *Denied, and *Stopped if the run is over
//	}
//
// An agent does nothing while err isn't nil. All methods may be called from several goroutines at once.
package hookwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Version is the version of the protocol.
const Version = 1

// longest is the length of the longest message; a verdict may hold a whole file.
const longest = 256 << 20

// pauses come before the next start of a host, after so many starts that came to nothing.
var pauses = []time.Duration{0, 0, 100 * time.Millisecond, 500 * time.Millisecond,
	2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second}

// Event is an event as the protocol has it: "event", its name, and its members. In events that a function gets, numbers
// are json.Number, so that an id of 64 bits stays what it is.
type Event map[string]any

// Answer is a function's answer; nil is no opinion.
type Answer map[string]any

// Options of a client. The zero value starts `hookwire serve` without definitions of its own.
type Options struct {
	Hooks     []string // directories of definitions
	Live      bool     // also the definitions of the project's .hookwire, in Root or the current directory
	Root      string
	Connect   string   // a host's socket, "unix:/path", instead of a host of one's own
	Program   string   // the program to run, instead of the one that HOOKWIRE names or that is on PATH
	Arguments []string // more arguments for its `serve`
	Env       []string // its environment, instead of this process's

	FailOpen  bool          // without a host, acts are done instead of denied
	Deadline  time.Duration // for a verdict; by default 30 s, or 330 s where a person may be asked
	Patience  time.Duration // a host that has been silent for so long when a deadline passes is replaced; 5 s
	Decisions []string      // what this agent can honour; any other decision becomes a deny
	Session   string        // what sends the events, where an event doesn't say
	Agent     string

	// Approve asks a person; it returns true, false or the protocol's ApprovalReply.
	Approve func(ctx context.Context, question Event) (any, error)
	// Complete is the agent's own model, for `prompt` and `agent` hooks.
	Complete func(ctx context.Context, request Event) (any, error)
	// Listen hears the host's notifications, such as hooks/failed. The functions must be quick.
	Listen map[string]func(params json.RawMessage)
	// Log gets what went wrong; by default the standard logger.
	Log *log.Logger
}

// HostGone is the error where the host has ended, hangs, or can't be started.
type HostGone struct{ Why string }

func (e *HostGone) Error() string { return e.Why }

// RequestFailed is the error where the host refused a request.
type RequestFailed struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *RequestFailed) Error() string { return e.Message }

// isCallersFault tells whether the request is wrong by itself: another host would refuse it too.
func (e *RequestFailed) isCallersFault() bool { return -32602 <= e.Code && e.Code <= -32600 }

// Hooks is a client: it keeps a host, sends it events, and answers what the host asks.
type Hooks struct {
	options Options

	mu         sync.Mutex
	host       *connection
	functions  map[string]function
	order      []string
	inVain     int
	pauseUntil time.Time
	closed     bool
}

type function struct {
	hook map[string]any
	call func(context.Context, Event) (Answer, error)
}

// New makes a client. Its host starts with the first event, and ends with Close or with this process.
func New(options Options) (*Hooks, error) {
	own := len(options.Hooks)+len(options.Arguments)+len(options.Env) > 0 || options.Live
	if options.Connect != "" && (own || options.Root != "" || options.Program != "") {
		return nil, errors.New("a host that runs already has its own definitions: Connect takes no others")
	}
	if options.Deadline == 0 {
		options.Deadline = 30 * time.Second
		if options.Approve != nil {
			options.Deadline = 330 * time.Second
		}
	}
	if options.Patience == 0 {
		options.Patience = 5 * time.Second
	}
	if options.Decisions == nil {
		options.Decisions = []string{"allow", "deny", "rewrite"}
	}
	if options.Session == "" {
		options.Session = fmt.Sprintf("%x-%x", os.Getpid(), time.Now().UnixNano())
	}
	if options.Log == nil {
		options.Log = log.Default()
	}
	return &Hooks{options: options, functions: map[string]function{}}, nil
}

// On makes a function a hook. The definition is written as in a file: it has "name" and "on", and may have "if",
// "matcher", "when", "fail", "priority" and others.
func (h *Hooks) On(definition map[string]any, call func(context.Context, Event) (Answer, error)) error {
	name, _ := definition["name"].(string)
	hook := map[string]any{"callback": name}
	for member, value := range definition {
		hook[member] = value
	}
	if name == "" || call == nil {
		return errors.New("a hook has a name and a function")
	}
	if _, err := json.Marshal(hook); err != nil {
		return err // the caller's mistake, here and not at the next event
	}
	h.mu.Lock()
	_, taken := h.functions[name]
	if !taken {
		h.functions[name] = function{hook, call}
		h.order = append(h.order, name)
	}
	host := h.host // the next one gets them all
	h.mu.Unlock()
	if taken {
		return fmt.Errorf("there is a hook %s already", name)
	}
	if host != nil && host.why() == nil {
		host.register([]string{name}, []any{hook})
	}
	return nil
}

// Dispatch sends an event. Without a host, the verdict is what FailOpen says. The error is ctx's, or a *RequestFailed if
// the event itself is wrong; then nothing has allowed the act. If ctx ends, the hooks are cancelled.
func (h *Hooks) Dispatch(ctx context.Context, event Event) (*Verdict, error) {
	whole := Event{"session": h.options.Session, "deadlineMs": h.options.Deadline.Milliseconds() * 9 / 10}
	if cwd, err := os.Getwd(); err == nil {
		whole["cwd"] = cwd
	}
	if h.options.Agent != "" {
		whole["agent"] = map[string]any{"name": h.options.Agent}
	}
	for member, value := range event {
		whole[member] = value
	}
	verdict := &Verdict{}
	err := h.Request(ctx, "hooks/dispatch", whole, verdict)
	var refused *RequestFailed
	var gone *HostGone
	switch {
	case err == nil && verdict.Decision == "":
		err = &HostGone{"the host's reply is no verdict"}
	case err == nil:
		verdict.Event = whole
		return verdict, nil
	case errors.As(err, &refused) && !refused.isCallersFault() || errors.As(err, &gone):
	default:
		return nil, err
	}
	h.options.Log.Printf("hookwire gave no verdict: %v", err)
	return withoutHost(whole, h.options.FailOpen, err.Error()), nil
}

// Request sends any request of the protocol and waits for its result. The error is a *HostGone without a host, a
// *RequestFailed if the host refuses, or ctx's.
func (h *Hooks) Request(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	host, err := h.currentHost()
	if err != nil {
		return err
	}
	replies := make(chan reply, 1)
	deadline := time.NewTimer(h.options.Deadline)
	defer deadline.Stop()
	id, err := host.request(ctx, deadline.C, method, params, func(r reply) { replies <- r })
	if err == nil {
		select {
		case r := <-replies:
			if r.err != nil || result == nil {
				return r.err
			}
			if err := json.Unmarshal(r.result, result); err != nil {
				return &HostGone{"the host's reply has another form: " + err.Error()}
			}
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-deadline.C:
			err = errLate
		}
	}
	host.cancel(id)
	if err == errLate {
		if host.silentFor() >= h.options.Patience {
			host.end("the host hangs")
		}
		return &HostGone{fmt.Sprintf("no reply within %v", h.options.Deadline)}
	}
	return err
}

// Start starts the host now and not with the first event.
func (h *Hooks) Start(ctx context.Context) error {
	return h.Request(ctx, "hooks/list", map[string]any{}, nil)
}

// Close ends the host. It has two seconds for what it does; then it is killed.
func (h *Hooks) Close() error {
	h.mu.Lock()
	h.closed = true
	host := h.host
	h.mu.Unlock()
	if host != nil {
		host.close()
	}
	return nil
}

func (h *Hooks) currentHost() (*connection, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, &HostGone{"the client is closed"}
	}
	last := error(&HostGone{"no host could be started"})
	if h.host != nil {
		if last = h.host.why(); last == nil {
			return h.host, nil
		}
	}
	if time.Now().Before(h.pauseUntil) {
		return nil, last
	}
	h.pauseUntil = time.Now().Add(pauses[min(h.inVain, len(pauses)-1)])
	h.inVain++
	host, err := h.start()
	if err != nil {
		return nil, &HostGone{"no host: " + err.Error()}
	}
	h.host = host
	return host, nil
}

func (h *Hooks) start() (*connection, error) {
	options := &h.options
	host := &connection{hooks: h, outgoing: make(chan []byte, 64), closing: make(chan struct{}), done: make(chan struct{}),
		ended: make(chan struct{}), pending: map[int64]func(reply){}, working: map[string]context.CancelFunc{}}
	if options.Connect != "" {
		socket, err := net.Dial("unix", strings.TrimPrefix(options.Connect, "unix:"))
		if err != nil {
			return nil, err
		}
		host.input, host.output, host.kill = socket, socket, func() { socket.Close() }
	} else if err := host.spawn(options); err != nil {
		return nil, err
	}
	go host.read()
	go host.write()
	requests, notifications := []string{}, []string{}
	if options.Approve != nil {
		requests = append(requests, "approval/request")
	}
	if options.Complete != nil {
		requests = append(requests, "model/complete")
	}
	for name := range options.Listen {
		notifications = append(notifications, name)
	}
	can := map[string]any{"decisions": options.Decisions, "requests": requests, "notifications": notifications}
	params := map[string]any{"capabilities": map[string]any{"hooks": can}}
	// Nothing waits for the replies: what is sent after them is judged after them.
	host.request(context.Background(), nil, "initialize", params, func(r reply) {
		var found struct {
			ProtocolVersion json.Number `json:"protocolVersion"`
		}
		if r.err == nil && json.Unmarshal(r.result, &found) == nil && found.ProtocolVersion.String() == fmt.Sprint(Version) {
			h.mu.Lock()
			h.inVain = 0
			h.mu.Unlock()
			return
		}
		host.end(fmt.Sprintf("the host speaks version %q of the protocol, this client version %d", found.ProtocolVersion, Version))
	})
	if len(h.order) > 0 {
		hooks := []any{}
		for _, name := range h.order {
			hooks = append(hooks, h.functions[name].hook)
		}
		host.register(h.order, hooks)
	}
	return host, nil
}

// serve answers a request of the host.
func (h *Hooks) serve(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("panic: %v", broken)
		}
	}()
	var asked Event
	if err := decode(params, &asked); err != nil {
		return nil, err
	}
	switch {
	case method == "hooks/invoke":
		name, _ := asked["callback"].(string)
		h.mu.Lock()
		known := h.functions[name].call
		h.mu.Unlock()
		if known == nil {
			break
		}
		event, _ := asked["event"].(map[string]any)
		answer, err := known(ctx, event)
		if answer == nil {
			answer = Answer{}
		}
		return answer, err
	case method == "approval/request" && h.options.Approve != nil:
		said, err := h.options.Approve(ctx, asked)
		if yes, is := said.(bool); is {
			said = map[string]any{"decision": map[bool]string{true: "approve", false: "deny"}[yes]}
		}
		return said, err
	case method == "model/complete" && h.options.Complete != nil:
		return h.options.Complete(ctx, asked)
	}
	return nil, &RequestFailed{-32601, "this client doesn't answer " + method}
}

// connection is one host on the other end of two pipes or a socket, until it is gone.
type connection struct {
	hooks    *Hooks
	input    io.ReadCloser
	output   io.WriteCloser
	kill     func()
	outgoing chan []byte
	closing  chan struct{} // closed when nothing more will be sent
	done     chan struct{} // closed when the host is gone
	ended    chan struct{} // closed when the host has closed its output

	mu          sync.Mutex
	gone        *HostGone
	pending     map[int64]func(reply)
	working     map[string]context.CancelFunc
	lastID      int64
	silentSince time.Time // when a request was sent to which the host has given no sign of life
}

type reply struct {
	result json.RawMessage
	err    error
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RequestFailed  `json:"error"`
}

var errLate = errors.New("late")

func (c *connection) spawn(options *Options) error {
	program := options.Program
	if program == "" {
		program = os.Getenv("HOOKWIRE")
	}
	if program == "" {
		program = "hookwire"
	}
	arguments := []string{"serve"}
	for _, directory := range options.Hooks {
		arguments = append(arguments, "--hooks", directory)
	}
	if options.Live {
		arguments = append(arguments, "--live")
	}
	if options.Root != "" {
		arguments = append(arguments, "--root", options.Root)
	}
	command := exec.Command(program, append(arguments, options.Arguments...)...)
	command.Env, command.Stderr = options.Env, os.Stderr
	// Its own session, because a Ctrl-C that interrupts the agent's turn mustn't end the host.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if c.output, err = command.StdinPipe(); err != nil {
		return err
	}
	if c.input, err = command.StdoutPipe(); err != nil {
		return err
	}
	c.kill = func() {
		command.Process.Kill()
		command.Wait()
	}
	return command.Start()
}

// why tells why this host is gone; nil while it is there.
func (c *connection) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		return nil
	}
	return c.gone
}

func (c *connection) silentFor() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silentSince.IsZero() {
		return 0
	}
	return time.Since(c.silentSince)
}

// request sends a request. take gets its reply, before the next message is looked at.
func (c *connection) request(ctx context.Context, late <-chan time.Time, method string, params any, take func(reply)) (int64, error) {
	c.mu.Lock()
	if c.gone != nil {
		defer c.mu.Unlock()
		return 0, c.gone
	}
	c.lastID++
	id := c.lastID
	c.pending[id] = take
	if c.silentSince.IsZero() {
		c.silentSince = time.Now()
	}
	c.mu.Unlock()
	return id, c.send(ctx, late, map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// register makes the host know functions. A guard that isn't in force must not be taken for one without an objection.
func (c *connection) register(names []string, hooks []any) {
	said := strings.Join(names, ", ")
	c.request(context.Background(), nil, "hooks/register", map[string]any{"hooks": hooks}, func(r reply) {
		var registered struct {
			Diagnostics []struct{ Hook, Message string }
		}
		if r.err != nil {
			c.end(fmt.Sprintf("the hooks %s could not be registered: %v", said, r.err))
		} else if json.Unmarshal(r.result, &registered) == nil {
			for _, remark := range registered.Diagnostics {
				c.hooks.options.Log.Printf("hook %s: %s", remark.Hook, remark.Message)
			}
		}
	})
}

// cancel ends a request; its reply, if one still comes, is passed over.
func (c *connection) cancel(id int64) {
	c.mu.Lock()
	_, waits := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if waits {
		params := map[string]any{"id": id}
		go c.send(context.Background(), nil, map[string]any{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params})
	}
}

// send waits only while the host reads nothing.
func (c *connection) send(ctx context.Context, late <-chan time.Time, message map[string]any) error {
	line, err := json.Marshal(message)
	if err != nil {
		if id, is := message["id"].(int64); is {
			c.mu.Lock()
			delete(c.pending, id)
			c.mu.Unlock()
		}
		return err
	}
	select {
	case c.outgoing <- append(line, '\n'):
		return nil
	case <-c.done:
		return c.why()
	case <-late:
		return errLate
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *connection) write() {
	defer c.output.Close()
	for {
		select {
		case line := <-c.outgoing:
			if _, err := c.output.Write(line); err != nil {
				c.end("the host has ended")
				return
			}
		case <-c.closing:
			return
		case <-c.done:
			return
		}
	}
}

func (c *connection) read() {
	why := "the host has ended"
	lines := bufio.NewScanner(c.input)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		c.mu.Lock()
		c.silentSince = time.Time{}
		c.mu.Unlock()
		var said message
		if json.Unmarshal(lines.Bytes(), &said) != nil || said.ID == nil && said.Method == "" {
			why = "the host sent something unreadable"
			break
		}
		c.take(said)
	}
	if lines.Err() == bufio.ErrTooLong {
		why = "the host sent something unreadable"
	}
	close(c.ended)
	c.end(why)
}

func (c *connection) take(said message) {
	switch {
	case said.Method == "":
		var id int64
		_ = json.Unmarshal(said.ID, &id) // another id is nobody's
		c.mu.Lock()
		take := c.pending[id]
		delete(c.pending, id)
		c.mu.Unlock()
		if take == nil {
			return
		}
		if said.Error != nil {
			take(reply{err: said.Error})
		} else {
			take(reply{result: said.Result})
		}
	case said.Method == "$/cancelRequest":
		var of struct{ ID json.RawMessage }
		if json.Unmarshal(said.Params, &of) == nil {
			c.mu.Lock()
			stop := c.working[string(of.ID)]
			c.mu.Unlock()
			if stop != nil {
				stop()
			}
		}
	case said.ID == nil:
		if hear := c.hooks.options.Listen[said.Method]; hear != nil {
			hear(said.Params)
		}
	default:
		ctx, stop := context.WithCancel(context.Background())
		c.mu.Lock()
		c.working[string(said.ID)] = stop
		c.mu.Unlock()
		go c.answer(ctx, said)
	}
}

func (c *connection) answer(ctx context.Context, said message) {
	result, err := c.hooks.serve(ctx, said.Method, said.Params)
	wasCancelled := ctx.Err() != nil
	c.mu.Lock()
	c.working[string(said.ID)]()
	delete(c.working, string(said.ID))
	c.mu.Unlock()
	text, unfit := json.Marshal(result)
	if err == nil && unfit != nil {
		err = fmt.Errorf("the answer is not JSON: %w", unfit)
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": said.ID}
	if err == nil {
		answer["result"] = json.RawMessage(text)
	} else {
		refusal := &RequestFailed{-32000, err.Error()}
		if wasCancelled {
			refusal.Code = -32800
		}
		errors.As(err, &refusal)
		answer["error"] = refusal
	}
	c.send(context.Background(), nil, answer)
}

// close lets the host end; after two seconds it is killed.
func (c *connection) close() {
	c.mu.Lock()
	select {
	case <-c.closing:
	default:
		close(c.closing)
	}
	c.mu.Unlock()
	select {
	case <-c.ended:
	case <-time.After(2 * time.Second):
	}
	c.end("the client has closed")
}

// end is called when the host is gone or has to go. What waits for it fails at once.
func (c *connection) end(why string) {
	c.mu.Lock()
	if c.gone != nil {
		c.mu.Unlock()
		return
	}
	c.gone = &HostGone{why}
	pending := c.pending
	c.pending = map[int64]func(reply){}
	for _, stop := range c.working {
		stop()
	}
	close(c.done)
	c.mu.Unlock()
	for _, take := range pending {
		take(reply{err: c.gone})
	}
	c.kill()
}

// Denied is the error of a verdict that says no: the act must not be done.
type Denied struct{ Verdict *Verdict }

func (e *Denied) Error() string {
	if reason := e.Verdict.Why(); reason != "" {
		return reason
	}
	return "a hook said no"
}

// Stopped is the error of a verdict that ends the run.
type Stopped struct{ Denied }

// Unwrap makes errors.As find a *Denied too.
func (e *Stopped) Unwrap() error { return &e.Denied }

// Verdict is the answer to one event. Enforce is how it is obeyed.
type Verdict struct {
	Decision          string          `json:"decision"` // allow, ask, defer or deny
	Reason            string          `json:"reason"`
	DecidedBy         string          `json:"decidedBy"` // the hook that decided; empty where no hook had an opinion
	Subject           json.RawMessage `json:"subject"`   // what takes the place of the event's subject; nil where nothing does
	Stop              *string         `json:"stop"`      // why the run is over; nil where it goes on
	UserMessages      []string        `json:"userMessages"`
	AdditionalContext []string        `json:"additionalContext"` // for the model
	Context           json.RawMessage `json:"context"`           // a JSON merge patch over metadata, messages, system prompt
	Retry             *Retry          `json:"retry"`             // what to do about a failed model call
	Grant             json.RawMessage `json:"grant"`             // what policies grant a tool call: the agent keeps to it
	Errors            []string        `json:"errors"`
	Outcomes          json.RawMessage `json:"outcomes"`
	Reply             json.RawMessage `json:"reply"` // in the words of the event's dialect

	Event   Event  `json:"-"`
	Failure string `json:"-"` // why the host gave no verdict; then FailOpen has decided
}

// Retry says what to do about a failed model call.
type Retry struct {
	Action  string `json:"action"`
	AfterMs int64  `json:"afterMs"`
	Model   string `json:"model"`
}

func withoutHost(event Event, failOpen bool, failure string) *Verdict {
	reason := "hookwire gave no verdict: " + failure
	verdict := &Verdict{Decision: "deny", Reason: reason, Errors: []string{reason}, Event: event, Failure: failure}
	// A deny at Stop would send the agent back to work for as long as there is no host.
	if failOpen || event["event"] == "Stop" || event["event"] == "SubagentStop" {
		verdict.Decision = "allow"
	}
	return verdict
}

// Allowed tells whether the act may be done and the run goes on.
func (v *Verdict) Allowed() bool { return v.Decision == "allow" && v.Stop == nil }

// Why is the reason: that of the end of the run, else that of the decision.
func (v *Verdict) Why() string {
	if v.Stop != nil {
		return *v.Stop
	}
	return v.Reason
}

// Value is the event's subject as it is to be used: as hooks rewrote it, else as it was.
func (v *Verdict) Value() (json.RawMessage, error) {
	if v.Subject != nil {
		return v.Subject, nil
	}
	name, _ := v.Event["event"].(string)
	pointer, known := Subjects[name]
	if !known {
		return json.RawMessage("null"), nil
	}
	value, err := json.Marshal(v.Event)
	for _, member := range strings.Split(pointer, "/")[1:] {
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil || members[member] == nil {
			return json.RawMessage("null"), err
		}
		value = members[member]
	}
	return value, err
}

// Enforce puts the subject as it is to be used into what `into` points to (nil: nowhere). The error is a *Denied where
// the act must not be done, and a *Stopped where the run is over too. A question that nobody answered is a deny.
func (v *Verdict) Enforce(into any) error {
	if v.Stop != nil {
		return &Stopped{Denied{v}}
	}
	if v.Decision != "allow" {
		return &Denied{v}
	}
	value, err := v.Value()
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(value, into)
}

// Patched is the agent's state as Context changes it.
func (v *Verdict) Patched(state map[string]any) (map[string]any, error) {
	if v.Context == nil {
		return state, nil
	}
	var patch map[string]any
	if err := decode(v.Context, &patch); err != nil {
		return nil, err
	}
	merged, _ := merge(state, patch).(map[string]any)
	return merged, nil
}

// merge applies a JSON merge patch, RFC 7396.
func merge(target, patch any) any {
	members, is := patch.(map[string]any)
	if !is {
		return patch
	}
	old, _ := target.(map[string]any)
	merged := map[string]any{}
	for key, value := range old {
		merged[key] = value
	}
	for key, value := range members {
		if value == nil {
			delete(merged, key)
		} else {
			merged[key] = merge(merged[key], value)
		}
	}
	return merged
}

// Allow, Deny and Ask are answers of a function.
func Allow(reason string) Answer { return Answer{"decision": "allow", "reason": reason} }
func Deny(reason string) Answer  { return Answer{"decision": "deny", "reason": reason} }
func Ask(reason string) Answer   { return Answer{"decision": "ask", "reason": reason} }

// Rewrite is another value in the place of the event's subject.
func Rewrite(subject any) Answer { return Answer{"subject": subject} }

// Patch is other members of the event's subject; nil removes one.
func Patch(members map[string]any) Answer { return Answer{"patch": members} }

func decode(text json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// Subjects is the JSON pointer of each event's subject. Generated by clients/types.
var Subjects = map[string]string{
	"MessageDisplay":       "/lastMessage",
	"PermissionRequest":    "/tool/input",
	"PostModelCall":        "/model/response",
	"PostToolUse":          "/tool/output",
	"PostToolUseFailure":   "/tool/output",
	"PreCompact":           "/compaction",
	"PreModelCall":         "/model/request",
	"PreSkillShellCommand": "/tool/input",
	"PreToolUse":           "/tool/input",
	"RunEnd":               "/result",
	"RunError":             "/result",
	"RunStart":             "/prompt",
	"StepEnd":              "/lastMessage",
	"Stop":                 "/lastMessage",
	"SubagentStart":        "/prompt",
	"SubagentStop":         "/lastMessage",
	"UserPromptExpansion":  "/prompt",
	"UserPromptSubmit":     "/prompt",
}
