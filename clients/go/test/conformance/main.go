// This client as `hookwire-conformance --client` tries it: each line says what to do, and what came of it is printed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"hookwire"
)

type line struct {
	Settings *settings
	Dispatch hookwire.Event
	As       string
	Cancel   string
}

type settings struct {
	Fail       string
	DeadlineMs int
	Approve    *bool
	Complete   *string
	Hooks      []struct {
		Name, On, If, Fails string
		Answer              hookwire.Answer
	}
}

func client(given settings) *hookwire.Hooks {
	options := hookwire.Options{FailOpen: given.Fail == "open", Log: log.New(io.Discard, "", 0)}
	options.Deadline = time.Duration(given.DeadlineMs) * time.Millisecond
	if given.Approve != nil {
		options.Approve = func(context.Context, hookwire.Event) (any, error) { return *given.Approve, nil }
	}
	if given.Complete != nil {
		options.Complete = func(context.Context, hookwire.Event) (any, error) {
			return map[string]any{"text": *given.Complete}, nil
		}
	}
	hooks, err := hookwire.New(options)
	check(err)
	for _, hook := range given.Hooks {
		hook := hook
		definition := map[string]any{"name": hook.Name, "on": hook.On, "if": hook.If}
		check(hooks.On(definition, func(context.Context, hookwire.Event) (hookwire.Answer, error) {
			if hook.Fails != "" {
				return nil, errors.New(hook.Fails)
			}
			return hook.Answer, nil
		}))
	}
	return hooks
}

func obey(ctx context.Context, hooks *hookwire.Hooks, event hookwire.Event) map[string]any {
	verdict, err := hooks.Dispatch(ctx, event)
	var value json.RawMessage
	if err == nil {
		err = verdict.Enforce(&value)
	}
	var stopped *hookwire.Stopped
	var denied *hookwire.Denied
	var refused *hookwire.RequestFailed
	switch {
	case err == nil:
		return map[string]any{"run": value}
	case errors.As(err, &stopped):
		return map[string]any{"stop": err.Error()}
	case errors.As(err, &denied):
		return map[string]any{"deny": err.Error()}
	case errors.As(err, &refused):
		return map[string]any{"refused": err.Error()}
	case errors.Is(err, context.Canceled):
		return map[string]any{"cancelled": true}
	}
	panic(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	var hooks *hookwire.Hooks
	var printing sync.Mutex
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	cancels := map[string]context.CancelFunc{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var it line
		check(json.Unmarshal(lines.Bytes(), &it))
		switch {
		case it.Settings != nil:
			hooks = client(*it.Settings)
		case it.Cancel != "":
			cancels[it.Cancel]()
		default:
			ctx, cancel := context.WithCancel(context.Background())
			cancels[it.As] = cancel
			go func() {
				did := obey(ctx, hooks, it.Dispatch)
				did["as"] = it.As
				printing.Lock()
				defer printing.Unlock()
				check(out.Encode(did))
			}()
		}
	}
	check(hooks.Close())
}
