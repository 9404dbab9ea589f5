package wirecase

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// check compares what came out of an answer with what is expected.
func (x *Exchange) check(resp *llm.Response, deltas [2]string, err error) []string {
	var fs []string
	want := x.Expect
	fault := func(field, format string, args ...any) {
		if !want.Lenient.has(field) {
			fs = append(fs, fmt.Sprintf(format, args...))
		}
	}
	var e *llm.Error
	switch {
	case want.ErrorKind == nil && err != nil:
		if errors.As(err, &e) && slices.Contains(want.LenientKind, string(e.Kind)) {
			return nil
		}
		return append(fs, fmt.Sprintf("error %v", err))
	case want.ErrorKind != nil:
		if !errors.As(err, &e) {
			return append(fs, fmt.Sprintf("error %v, want kind %s", err, *want.ErrorKind))
		}
		if k := string(e.Kind); k != *want.ErrorKind && !slices.Contains(want.LenientKind, k) {
			fault("error_kind", "error kind %s (%v), want %s", k, e, *want.ErrorKind)
		}
		if want.Retryable != nil && e.Retryable() != *want.Retryable && len(want.LenientKind) == 0 {
			fault("retryable", "retryable %v, want %v (%v)", e.Retryable(), *want.Retryable, e)
		}
		if want.RetryAfter != nil && e.RetryAfter.Seconds() != *want.RetryAfter {
			fault("retry_after_s", "retry after %v, want %v s", e.RetryAfter, *want.RetryAfter)
		}
		resp = e.Partial
		if resp == nil {
			resp = &llm.Response{}
		}
	case resp == nil:
		return append(fs, "neither a response nor an error")
	}
	text, thinking := resp.Message.Text(), ""
	for _, p := range resp.Message.Parts {
		if t, ok := p.(llm.Thinking); ok {
			thinking += t.Text
		}
	}
	if text != want.Text && (want.Refusal == "" || text != want.Refusal && text != want.Text+want.Refusal) {
		fault("text", "text %q, want %q", text, want.Text)
	}
	if deltas[0] != text && err == nil {
		fault("text", "text deltas %q, text %q", deltas[0], text)
	}
	if loose(thinking) != loose(want.Thinking) {
		fault("thinking", "thinking %q, want %q", thinking, want.Thinking)
	}
	if err != nil {
		return fs // calls, stop and usage of a failed answer are provisional
	}
	for _, f := range x.checkCalls(resp) {
		fault("tool_calls", "%s", f)
	}
	if want.Stop != nil && string(resp.Stop) != *want.Stop && !(want.onlyGhosts() && resp.Stop == llm.StopEnd) {
		fault("stop", "stop %s (%s), want %s", resp.Stop, resp.StopRaw, *want.Stop)
	}
	if want.StopRaw != nil && resp.StopRaw != fmt.Sprint(want.StopRaw) {
		fault("stop_raw", "stop word %q, want %v", resp.StopRaw, want.StopRaw)
	}
	kinds := map[string]bool{}
	for _, p := range resp.Message.Parts {
		if n, ok := p.(llm.Native); ok {
			kinds[n.Kind] = true
		}
	}
	for _, k := range want.ServerBlocks {
		kind, _, _ := strings.Cut(k, ":") // a name may follow
		if !kinds[kind] {
			fault("server_blocks", "no block of the kind %s", k)
		}
	}
	if u, got := want.Usage, resp.Reported; u != nil {
		if got == nil {
			got = &llm.Usage{}
		}
		w := [...]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, u.ToolPrompt}
		g := [...]int64{got.Input, got.Output, got.CacheRead, got.CacheWrite, got.Reasoning, got.ToolPrompt}
		if w != g {
			fault("usage", "reported usage %v, want %v", g, w)
		}
	}
	if n := want.UsageNorm; n != nil && resp.Usage != nil {
		if resp.Usage.Prompt() != n.InputTotal || resp.Usage.Output != n.OutputTotal {
			fault("usage_norm", "usage %d in and %d out, want %d and %d", resp.Usage.Prompt(), resp.Usage.Output, n.InputTotal, n.OutputTotal)
		}
	}
	return fs
}

func (x *Exchange) checkCalls(resp *llm.Response) []string {
	var fs []string
	calls := resp.Message.Parts.Calls()
	want := x.Expect.calls()
	if len(calls) != len(want) {
		return []string{fmt.Sprintf("%d calls, want %d", len(calls), len(want))}
	}
	for i, w := range want {
		c := calls[i]
		if c.Name != w.Name || w.ID != "" && c.ID != w.ID {
			fs = append(fs, fmt.Sprintf("call %s %s, want %s %s", c.ID, c.Name, w.ID, w.Name))
		}
		free := w.Input
		if c.Custom && free == nil {
			free = w.ArgsRaw
		}
		switch {
		case free != nil && c.Custom:
			var s string
			if json.Unmarshal(c.Input, &s) != nil || s != *free {
				fs = append(fs, fmt.Sprintf("custom input %s, want %q", c.Input, *free))
			}
		case w.ArgsRaw != nil && string(w.Args) == "null":
			if c.Malformed != *w.ArgsRaw {
				fs = append(fs, fmt.Sprintf("malformed %q, want %q", c.Malformed, *w.ArgsRaw))
			}
		default:
			var a, b any
			if json.Unmarshal(c.Input, &a) != nil || json.Unmarshal(w.Args, &b) != nil || !reflect.DeepEqual(a, b) {
				fs = append(fs, fmt.Sprintf("input %s, want %s", c.Input, w.Args))
			}
		}
	}
	return fs
}

func loose(s string) string { return strings.Join(strings.Fields(s), "") }
