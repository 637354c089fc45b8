// An agent loop that sends every event to hookwire and obeys the verdicts: go run . --hooks DIR
//
// What belongs to agent is to adapt, Hooked to copy unchanged, and what comes after it to replace.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"hookwire"
)

type object = map[string]any

// agent works on prompts.
type agent struct{ hooked }

func (a *agent) session() error {
	if _, err := a.fire("SessionStart", object{}); err != nil {
		return err
	}
	for n, prompt := range script.Prompts {
		a.begin("r" + strconv.Itoa(n+1))
		fmt.Println(">", prompt)
		answer := tried(func() (string, error) { return a.run(prompt) }) // or why there is none
		if _, err := a.fire("Notification", object{"message": show(answer["output"].(string))}); err != nil {
			return err
		}
	}
	a.begin("")
	_, err := a.fire("SessionEnd", object{})
	return err
}

// run works on one prompt until the agent stops. Every started run ends with RunEnd or RunError.
func (a *agent) run(prompt string) (string, error) {
	for _, event := range []string{a.either("SubagentStart", "UserPromptSubmit"), "RunStart"} {
		moment, err := a.fire(event, object{"prompt": prompt})
		if err != nil {
			return "", err
		}
		prompt = moment.text("prompt")
	}
	a.Messages = append(a.Messages, Message{Role: "user", Content: prompt})
	result, err := a.work()
	var no *refused
	if errors.As(err, &no) { // a refusal is an answer, not a failure
		result, err = no.Error(), nil
	}
	if err != nil {
		moment, no := a.fire("RunError", object{"error": err.Error(), "usage": a.usage})
		if no != nil || moment.Subject == nil {
			return "", err
		}
		return moment.text("result"), nil // a hook's result replaces the error
	}
	moment, err := a.fire("RunEnd", object{"result": result, "usage": a.usage})
	return moment.text("result"), err
}

func (a *agent) work() (string, error) {
	stopActive := false
	for {
		if _, err := a.fire("StepStart", object{}); err != nil {
			return "", err
		}
		// Between steps every tool call has its result, so here the conversation can be changed.
		if a.tokens > budget {
			if err := a.compact(); err != nil {
				return "", err
			}
		}
		a.addNotes()
		reply, err := a.ask(a.Messages, "large", 1)
		if err != nil {
			return "", err
		}
		results := []Message{}
		for _, call := range reply.Calls {
			result, err := a.tool(call)
			if err != nil {
				return "", err
			}
			results = append(results, result)
		}
		moment, err := a.fire("StepEnd", object{"lastMessage": reply.Content})
		if err != nil {
			return "", err
		}
		last := moment.text("lastMessage")
		a.Messages = append(append(a.Messages, Message{Role: "assistant", Content: last, Calls: reply.Calls}), results...)
		if _, err := a.fire("Checkpoint", object{"path": save(a)}); err != nil {
			return "", err
		}
		if len(reply.Calls) > 0 {
			continue
		}
		rest, err := a.fire(a.either("SubagentStop", "Stop"), object{"lastMessage": last, "stopActive": stopActive})
		var no *refused
		if !errors.As(err, &no) {
			return rest.text("lastMessage"), err
		}
		a.notes = append(a.notes, no.Error()) // back to work, with the reason; hookwire limits how often hooks do this
		stopActive = true
	}
}

// ask asks the model. Each attempt fires PreModelCall again, because the model may be another one.
func (a *agent) ask(messages []Message, name string, attempt int) (Response, error) {
	request := object{"systemPrompt": a.SystemPrompt, "messages": messages}
	before, err := a.fire("PreModelCall", object{"model": object{"name": name, "request": request}})
	if err != nil {
		return Response{}, err
	}
	model := before.data["model"].(object)
	reply, err := callModel(model)
	var failure *modelError
	if errors.As(err, &failure) {
		model["error"], model["attempt"] = failure, attempt
		moment, no := a.fire("ModelCallError", object{"model": model})
		if no != nil {
			return Response{}, no
		}
		if !waited(moment.Retry, attempt) {
			return Response{}, err
		}
		if moment.Retry.Model != "" {
			name = moment.Retry.Model
		}
		return a.ask(messages, name, attempt+1)
	}
	a.count(reply.Usage)
	model["response"], model["usage"], model["finishReason"] = reply.Response, reply.Usage, reply.FinishReason
	after, err := a.fire("PostModelCall", object{"model": model})
	var response Response
	if err == nil {
		err = convert(after.data["model"].(object)["response"], &response)
	}
	return response, err
}

// tool runs a tool call, if permitted, and returns the model's message with the output or the refusal.
func (a *agent) tool(call object) (Message, error) {
	output, err := a.toolOutput(call)
	var no *refused
	if errors.As(err, &no) {
		output, err = "refused: "+no.Error(), nil
	}
	if err != nil {
		return Message{}, err
	}
	content := show(a.name, call["name"].(string), output)
	return Message{Role: "tool", CallID: call["callId"].(string), Content: content}, nil
}

func (a *agent) toolOutput(call object) (string, error) {
	tool, err := a.permitted(call)
	if err != nil {
		return "", err
	}
	done := tried(func() (string, error) {
		if tool["name"] == "Task" && a.parent == nil {
			return a.task(tool)
		}
		return use(tool)
	})
	for member, value := range tool {
		done[member] = value
	}
	event := "PostToolUse"
	if done["error"] != nil {
		event = "PostToolUseFailure"
	}
	moment, err := a.fire(event, object{"tool": done})
	if err != nil {
		return "", err
	}
	return fmt.Sprint(moment.data["tool"].(object)["output"]), nil
}

func (a *agent) permitted(call object) (object, error) {
	moment, err := a.fire("PreToolUse", object{"tool": call})
	if err != nil {
		return nil, err
	}
	tool := moment.data["tool"].(object)
	// An allow is a permission only if a hook decided it; otherwise no hook had an opinion.
	if isOneOf(fmt.Sprint(tool["name"]), allowed) || moment.DecidedBy != "" {
		return tool, nil
	}
	moment, err = a.fire("PermissionRequest", object{"tool": tool})
	if err != nil {
		if _, failed := a.fire("PermissionDenied", object{"tool": tool, "reason": err.Error()}); failed != nil {
			return nil, failed
		}
		return nil, err
	}
	return moment.data["tool"].(object), nil
}

func (a *agent) task(tool object) (string, error) {
	run := fmt.Sprintf("%s.%s", a.runID, tool["callId"])
	input := tool["input"].(object)
	child := &agent{newHooked(a.hooks, fmt.Sprint(input["agent"]), run, &a.hooked)}
	return child.run(fmt.Sprint(input["prompt"]))
}

// compact replaces the conversation by a summary, if that isn't refused.
func (a *agent) compact() error {
	old := a.Messages
	moment, err := a.fire("PreCompact", object{"compaction": summarise, "messages": old, "budget": budget})
	var reply Response
	if err == nil {
		asked := Message{Role: "user", Content: moment.text("compaction")}
		reply, err = a.ask(append(old[:len(old):len(old)], asked), "large", 1)
	}
	var no *refused
	if errors.As(err, &no) {
		return nil
	}
	if err != nil {
		return err
	}
	a.Messages = []Message{{Role: "user", Content: reply.Content}}
	_, err = a.fire("PostCompact", object{"removedCount": len(old), "summary": reply.Content})
	return err
}

// A run that a hook has ended starts none of these.
var acts = []string{"StepStart", "PreCompact", "PreModelCall", "PreToolUse", "PermissionRequest", "SubagentStop", "Stop"}

// These events only inform hooks; they can't be refused.
var informing = []string{"PermissionDenied", "PostCompact", "Checkpoint", "Notification", "SessionEnd"}

// refused is a hook's refusal. It is an answer, so nothing here treats it as a failure.
type refused struct{ reason string }

func (no *refused) Error() string { return no.reason }

// Message is a message of the conversation.
type Message struct {
	Role    string   `json:"role"`
	CallID  string   `json:"callId,omitempty"`
	Content string   `json:"content"`
	Calls   []object `json:"calls,omitempty"`
}

// hooked is an agent's state that hooks see and may change.
type hooked struct {
	Metadata     object    `json:"metadata"`
	SystemPrompt string    `json:"systemPrompt"`
	Messages     []Message `json:"messages"`

	hooks  *hookwire.Hooks
	name   string
	runID  string
	parent *hooked
	step   int
	ending string         // why the run is over
	notes  []string       // messages of hooks to the model
	tokens int            // read by the model in its last call
	usage  map[string]int // of the run
}

// moment is a verdict, and the event's data as hooks changed it.
type moment struct {
	*hookwire.Verdict
	data object
}

func (m moment) text(member string) string {
	text, _ := m.data[member].(string)
	return text
}

// problem is why there was once no verdict.
var problem string

func newHooked(hooks *hookwire.Hooks, name, run string, parent *hooked) hooked {
	h := hooked{Metadata: object{}, SystemPrompt: "You are " + name + ".", Messages: []Message{}, hooks: hooks, name: name, parent: parent}
	h.begin(run)
	return h
}

func (h *hooked) begin(run string) {
	h.runID, h.step, h.ending, h.usage = run, 0, "", map[string]int{"inputTokens": 0, "outputTokens": 0}
}

func (h *hooked) either(ofChild, ofParent string) string {
	if h.parent != nil {
		return ofChild
	}
	return ofParent
}

func (h *hooked) addNotes() {
	for _, note := range h.notes {
		h.Messages = append(h.Messages, Message{Role: "user", Content: note})
	}
	h.notes = nil
}

func (h *hooked) count(usage map[string]int) {
	h.tokens = usage["inputTokens"]
	for kind, tokens := range usage {
		h.usage[kind] += tokens
	}
}

// fire sends an event; it returns the verdict, and the data as hooks changed it. A refusal is a *refused.
func (h *hooked) fire(name string, data object) (moment, error) {
	if h.ending != "" && isOneOf(name, acts) {
		return moment{}, &refused{h.ending}
	}
	about := object{"name": h.name}
	event := hookwire.Event{"event": name, "session": "s" + strconv.Itoa(os.Getpid()), "agent": about, "metadata": h.Metadata}
	if h.runID != "" {
		event["run"] = h.runID
	}
	if h.parent != nil {
		about["parent"], event["parentRun"] = h.parent.name, h.parent.runID
	}
	if name == "StepStart" {
		h.step++
	}
	if h.step > 0 {
		event["step"] = h.step
	}
	for member, value := range data {
		event[member] = value
	}
	verdict, err := h.hooks.Dispatch(context.Background(), event)
	if err != nil {
		return moment{}, err
	}
	if problem == "" {
		problem = verdict.Failure
	}
	for _, text := range verdict.UserMessages {
		fmt.Println("[hook]", text)
	}
	h.notes = append(h.notes, verdict.AdditionalContext...)
	left, err := h.patch(verdict, data)
	if err != nil {
		return moment{}, err
	}
	if verdict.Stop != nil { // refuses this act and whatever the run would do next
		h.ending = *verdict.Stop
	}
	if !verdict.Allowed() && !isOneOf(name, informing) {
		return moment{}, &refused{(&hookwire.Denied{Verdict: verdict}).Error()}
	}
	if name == "PermissionRequest" && verdict.DecidedBy == "" {
		return moment{}, &refused{"nobody has allowed it"} // where your agent would ask its user
	}
	if verdict.Subject != nil {
		var value any
		if err := json.Unmarshal(verdict.Subject, &value); err != nil {
			return moment{}, err
		}
		place, last := left, strings.Split(hookwire.Subjects[name], "/")[1:]
		for ; len(last) > 1; last = last[1:] {
			place = place[last[0]].(object)
		}
		place[last[0]] = value
	}
	return moment{verdict, left}, nil
}

// patch changes the agent's state as the verdict says, and returns the data as it says.
func (h *hooked) patch(verdict *hookwire.Verdict, data object) (object, error) {
	state := object{}
	if err := convert(h, &state); err != nil {
		return nil, err
	}
	if err := convert(data, &state); err != nil {
		return nil, err
	}
	patched, err := verdict.Patched(state)
	if err != nil {
		return nil, err
	}
	h.Metadata, h.SystemPrompt, h.Messages = nil, "", nil
	if err := convert(patched, h); err != nil {
		return nil, err
	}
	left := object{}
	for member := range data {
		left[member] = patched[member]
	}
	return left, nil
}

// What follows is the loop's surroundings: a scripted model, tools that change real files, a terminal.

var allowed = []string{"Read", "Write", "Task"} // other tools need a permission

const (
	budget    = 1000 // tokens that the model may read before its context is compacted
	summarise = "Summarise this conversation so that the work can go on from your summary alone."
	attempts  = 5 // at one model call, whatever hooks say
)

// Response is what the model says.
type Response struct {
	Content string   `json:"content"`
	Calls   []object `json:"calls"`
}

type scripted struct {
	Response
	Usage        map[string]int
	FinishReason string
	Error        *modelError
}

type modelError struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func (e *modelError) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Message) }

//go:embed session.json
var session []byte

var script struct {
	Prompts []string
	Replies []scripted
}

// callModel returns the script's next reply; yours would call a provider.
func callModel(object) (scripted, error) {
	if len(script.Replies) == 0 {
		return scripted{}, &modelError{500, "the script is over"}
	}
	said := script.Replies[0]
	script.Replies = script.Replies[1:]
	if said.Error != nil {
		return scripted{}, said.Error
	}
	if said.Calls == nil {
		said.Calls = []object{}
	}
	if said.FinishReason == "" {
		said.FinishReason = "stop"
	}
	return said, nil
}

// waited waits as long as hooks ask for; it tells whether to try again.
func waited(retry *hookwire.Retry, attempt int) bool {
	if retry == nil || retry.Action == "fail" || attempt == attempts {
		return false
	}
	time.Sleep(time.Duration(retry.AfterMs) * time.Millisecond)
	return true
}

func use(tool object) (string, error) {
	input, _ := tool["input"].(object)
	path, _ := input["path"].(string)
	switch tool["name"] {
	case "Read":
		text, err := os.ReadFile(path)
		return string(text), err
	case "Write":
		content, _ := input["content"].(string)
		return "written", os.WriteFile(path, []byte(content), 0o666)
	case "Delete":
		return "deleted", os.Remove(path)
	}
	return "", fmt.Errorf("no such tool: %v", tool["name"])
}

// tried runs an act; it returns its output or error, and how long it took.
func tried(act func() (string, error)) object {
	started := time.Now()
	output, err := act()
	outcome := object{"output": output, "durationMs": time.Since(started).Seconds() * 1000}
	var no *refused
	if errors.As(err, &no) {
		outcome["error"], outcome["output"] = no.Error(), "refused: "+no.Error()
	} else if err != nil {
		outcome["error"], outcome["output"] = err.Error(), "failed: "+err.Error()
	}
	return outcome
}

func save(a *agent) string {
	path := "checkpoint-" + a.name + ".json"
	text, err := json.Marshal(struct {
		Run  string `json:"run"`
		Step int    `json:"step"`
		*hooked
	}{a.runID, a.step, &a.hooked})
	check(err)
	check(os.WriteFile(path, text, 0o666))
	return path
}

// show prints a line and returns its last part.
func show(words ...string) string {
	trimmed := []string{}
	for _, word := range words {
		trimmed = append(trimmed, strings.TrimSpace(word))
	}
	fmt.Println(strings.Join(trimmed, ": "))
	return words[len(words)-1]
}

func isOneOf(name string, names []string) bool {
	for _, one := range names {
		if one == name {
			return true
		}
	}
	return false
}

func convert(from, into any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	check(json.Unmarshal(session, &script))
	seconds, err := strconv.ParseFloat(os.Getenv("PATIENCE"), 64) // for a verdict
	if err != nil {
		seconds = 5
	}
	patience := time.Duration(seconds * float64(time.Second))
	hooks, err := hookwire.New(hookwire.Options{Arguments: os.Args[1:], Deadline: patience, Patience: patience / 2,
		Log: log.New(io.Discard, "", 0)})
	check(err)
	coder := &agent{newHooked(hooks, "coder", "", nil)}
	err = coder.session()
	hooks.Close()
	var no *refused
	if errors.As(err, &no) {
		show("refused: " + no.Error())
	} else {
		check(err)
	}
	if problem != "" {
		log.Fatal("hookwire gave no verdict: " + problem)
	}
}
