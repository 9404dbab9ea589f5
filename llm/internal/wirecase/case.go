// Package wirecase replays recorded exchanges with providers against an
// adapter and compares what it makes of them with what is expected. A case is
// a folder with case.json, and request.json, response.json and response.body
// for each exchange.
//
//	cases, err := wirecase.Load(dir, "anthropic")
//	for _, c := range cases {
//		for _, fault := range c.Run(ctx, open) {
//			t.Error(fault)
//		}
//	}
package wirecase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// Case is one recorded case.
type Case struct {
	Name      string
	Dir       string
	Exchanges []Exchange
}

// Exchange is one request and its answer.
type Exchange struct {
	Dir      string `json:"dir"`
	Provider string `json:"provider"`
	Wire     string `json:"wire"`
	Expect   Expect `json:"expect"`

	request struct {
		Path string          `json:"path"`
		Body json.RawMessage `json:"body"`
	}
	response struct {
		Status  int                 `json:"status"`
		Headers map[string][]string `json:"headers"`
	}
	body   []byte
	chunks []int
}

// Expect is what an adapter should make of an answer.
type Expect struct {
	Text      string  `json:"text"`
	Thinking  string  `json:"thinking"`
	ToolCalls []Call  `json:"tool_calls"`
	Stop      *string `json:"stop"`
	StopRaw   any     `json:"stop_raw"` // a number where a provider sends one
	Usage     *struct {
		Input      int64 `json:"input"`
		Output     int64 `json:"output"`
		CacheRead  int64 `json:"cache_read"`
		CacheWrite int64 `json:"cache_write"`
		Reasoning  int64 `json:"reasoning"`
		ToolPrompt int64 `json:"tool_use_prompt"`
	} `json:"usage"`
	UsageNorm *struct {
		InputTotal  int64 `json:"input_total"`
		OutputTotal int64 `json:"output_total"`
	} `json:"usage_norm"`
	ErrorKind   *string  `json:"error_kind"`
	RetryAfter  *float64 `json:"retry_after_s"`
	Retryable   *bool    `json:"retryable"`
	LenientKind []string `json:"lenient_kind"`
	Refusal     string   `json:"refusal"`
	// ServerBlocks are the kinds of blocks that the provider's own tools made.
	ServerBlocks []string `json:"server_blocks"`
	Opaque       []struct {
		Kind string `json:"kind"`
		Len  int    `json:"len"`
		Sum  string `json:"sha256"`
		Or   string `json:"or_sha256"`
	} `json:"opaque"`
}

// Call is a tool call as it should come out.
type Call struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	ArgsRaw *string         `json:"args_raw"`
	Input   *string         `json:"input"`
}

// calls leaves out ghosts: a call with neither a name nor an id, which some
// servers put beside the real ones. Stored, it would make every later request
// invalid, so an adapter drops it.
func (e *Expect) calls() []Call {
	return slices.DeleteFunc(slices.Clone(e.ToolCalls), func(c Call) bool { return c.Name == "" && c.ID == "" })
}

func (e *Expect) onlyGhosts() bool { return len(e.ToolCalls) > 0 && len(e.calls()) == 0 }

// Load reads the cases under dir of which some exchange is on one of the wires.
func Load(dir string, wires ...string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, f := range files {
		c, err := load(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if slices.ContainsFunc(c.Exchanges, func(x Exchange) bool { return slices.Contains(wires, x.Wire) }) {
			out = append(out, c)
		}
	}
	return out, nil
}

func load(file string) (Case, error) {
	var raw struct {
		Exchange
		Name      string     `json:"name"`
		Exchanges []Exchange `json:"exchanges"`
	}
	if err := readJSON(file, &raw); err != nil {
		return Case{}, err
	}
	c := Case{Name: raw.Name, Dir: filepath.Dir(file), Exchanges: raw.Exchanges}
	if len(c.Exchanges) == 0 {
		raw.Exchange.Dir = "."
		c.Exchanges = []Exchange{raw.Exchange}
	}
	for i := range c.Exchanges {
		x := &c.Exchanges[i]
		if x.Wire == "" {
			x.Wire = raw.Wire
		}
		if x.Provider == "" {
			x.Provider = raw.Provider
		}
		dir := filepath.Join(c.Dir, x.Dir)
		if err := errors.Join(readJSON(filepath.Join(dir, "request.json"), &x.request),
			readJSON(filepath.Join(dir, "response.json"), &x.response)); err != nil {
			return Case{}, err
		}
		b, err := os.ReadFile(filepath.Join(dir, "response.body"))
		if err != nil {
			return Case{}, err
		}
		x.body = b
		if err := readJSON(filepath.Join(dir, "response.chunks.json"), &x.chunks); err != nil && !errors.Is(err, os.ErrNotExist) {
			x.chunks = nil // of another form: the sizes are a refinement
		}
	}
	return c, nil
}

func readJSON(file string, v any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// Handler answers every request with the recorded answer.
func (x *Exchange) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // the request is not what is tested here
		for k, vs := range x.response.Headers {
			for _, v := range vs {
				w.Header().Add(k, v)
			}
		}
		w.WriteHeader(x.response.Status)
		rest := x.body
		for _, n := range x.chunks {
			n = min(max(n, 0), len(rest))
			_, _ = w.Write(rest[:n]) // a client that went away shows in its own result
			w.(http.Flusher).Flush()
			rest = rest[n:]
		}
		_, _ = w.Write(rest)
	})
}

// Open makes the adapter of a wire for a server.
type Open func(wire, provider, model, baseURL string) llm.Model

// Encode returns the body of the request that a model would send.
func Encode(ctx context.Context, open Open, x *Exchange, model string, req *llm.Request) ([]byte, error) {
	var sent []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer srv.Close()
	_, err := llm.Generate(ctx, open(x.Wire, x.Provider, model, srv.URL), req)
	if sent == nil {
		return nil, err
	}
	return sent, nil
}

// Run replays the case and returns what differs from what is expected; nothing
// is a pass. Exchanges on other wires are left out.
func (c *Case) Run(ctx context.Context, wires []string, open Open) []string {
	var faults []string
	for i := range c.Exchanges {
		x := &c.Exchanges[i]
		if !slices.Contains(wires, x.Wire) {
			continue
		}
		model := x.model()
		srv := httptest.NewServer(x.Handler())
		resp, deltas, err := drain(open(x.Wire, x.Provider, model, srv.URL).Stream(ctx, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}))
		srv.Close()
		fs := x.check(resp, deltas, err)
		if err == nil && resp != nil {
			fs = append(fs, x.checkOpaque(ctx, open, model, resp)...)
		}
		for _, f := range fs {
			faults = append(faults, fmt.Sprintf("%s %s: %s", c.Name, x.Dir, f))
		}
	}
	return faults
}

func (x *Exchange) model() string {
	var b struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(x.request.Body, &b) // a stub of a request has none
	if b.Model == "" {
		return "model"
	}
	return b.Model
}

func drain(seq func(func(llm.Event, error) bool)) (resp *llm.Response, deltas [2]string, err error) {
	for ev, e := range seq {
		if e != nil {
			return nil, deltas, e
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			deltas[0] += ev.Text
		case llm.ThinkingDelta:
			deltas[1] += ev.Text
		case llm.Done:
			resp = ev.Response
		}
	}
	return resp, deltas, nil
}

func (x *Exchange) check(resp *llm.Response, deltas [2]string, err error) []string {
	var fs []string
	fault := func(format string, args ...any) { fs = append(fs, fmt.Sprintf(format, args...)) }
	want := x.Expect
	var e *llm.Error
	switch {
	case want.ErrorKind == nil && err != nil:
		return append(fs, fmt.Sprintf("error %v", err))
	case want.ErrorKind != nil:
		if !errors.As(err, &e) {
			return append(fs, fmt.Sprintf("error %v, want kind %s", err, *want.ErrorKind))
		}
		if k := string(e.Kind); k != *want.ErrorKind && !slices.Contains(want.LenientKind, k) {
			fault("error kind %s (%v), want %s", k, e, *want.ErrorKind)
		}
		if want.Retryable != nil && e.Retryable() != *want.Retryable && len(want.LenientKind) == 0 {
			fault("retryable %v, want %v (%v)", e.Retryable(), *want.Retryable, e)
		}
		if want.RetryAfter != nil && e.RetryAfter.Seconds() != *want.RetryAfter {
			fault("retry after %v, want %v s", e.RetryAfter, *want.RetryAfter)
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
		fault("text %q, want %q", text, want.Text)
	}
	if deltas[0] != text && err == nil {
		fault("text deltas %q, text %q", deltas[0], text)
	}
	if loose(thinking) != loose(want.Thinking) {
		fault("thinking %q, want %q", thinking, want.Thinking)
	}
	if err != nil {
		return fs // calls, stop and usage of a failed answer are provisional
	}
	fs = append(fs, x.checkCalls(resp)...)
	if want.Stop != nil && string(resp.Stop) != *want.Stop && !(want.onlyGhosts() && resp.Stop == llm.StopEnd) {
		fault("stop %s (%s), want %s", resp.Stop, resp.StopRaw, *want.Stop)
	}
	if want.StopRaw != nil && resp.StopRaw != fmt.Sprint(want.StopRaw) {
		fault("stop word %q, want %v", resp.StopRaw, want.StopRaw)
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
			fault("no block of the kind %s", k)
		}
	}
	if u, got := want.Usage, resp.Reported; u != nil {
		if got == nil {
			got = &llm.Usage{}
		}
		w := [...]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, u.ToolPrompt}
		g := [...]int64{got.Input, got.Output, got.CacheRead, got.CacheWrite, got.Reasoning, got.ToolPrompt}
		if w != g {
			fault("reported usage %v, want %v", g, w)
		}
	}
	if n := want.UsageNorm; n != nil && resp.Usage != nil {
		if resp.Usage.Prompt() != n.InputTotal || resp.Usage.Output != n.OutputTotal {
			fault("usage %d in and %d out, want %d and %d", resp.Usage.Prompt(), resp.Usage.Output, n.InputTotal, n.OutputTotal)
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

// checkOpaque builds the next request and looks for every opaque blob in it.
func (x *Exchange) checkOpaque(ctx context.Context, open Open, model string, resp *llm.Response) []string {
	if len(x.Expect.Opaque) == 0 {
		return nil
	}
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hi"), resp.Message}}
	next := llm.Message{Role: llm.RoleUser}
	for _, c := range resp.Message.Parts.Calls() {
		next.Parts = append(next.Parts, llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts("ok")})
	}
	if len(next.Parts) == 0 {
		next = llm.UserText("go on")
	}
	req.Messages = append(req.Messages, next)
	sent, err := Encode(ctx, open, x, model, req)
	if err != nil {
		return []string{fmt.Sprintf("next request: %v", err)}
	}
	have := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			sum := sha256.Sum256([]byte(v))
			have[hex.EncodeToString(sum[:])[:16]] = true
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	var tree any
	if err := json.Unmarshal(sent, &tree); err != nil {
		return []string{fmt.Sprintf("next request is not JSON: %v", err)}
	}
	walk(tree)
	var fs []string
	for _, o := range x.Expect.Opaque {
		if !have[o.Sum] && !have[o.Or] {
			fs = append(fs, fmt.Sprintf("the %s of %d bytes is not in the next request", o.Kind, o.Len))
		}
	}
	return fs
}

func loose(s string) string { return strings.Join(strings.Fields(s), "") }
