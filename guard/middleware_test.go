package guard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/guard"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

const (
	key   = `sk-ant-"quoted"/Zq8Rw2LmX7cVb1NpT5yHgK4sD9fJ0aUe`
	plain = "sk-ant-api03-Zq8Rw2LmX7cVb1NpT5yHgK4sD9fJ0aUe"
)

type in struct {
	N int `json:"n"`
}

// leaky is a tool that tells the key wherever a tool can.
func leaky(name string, fail func() error) tool.Tool {
	return tool.New(tool.Spec{Name: name, Access: tool.NoAccess}, func(ctx context.Context, _ in) (*tool.Result, error) {
		c := tool.FromContext(ctx)
		for i := range len(plain) {
			c.Show(llm.Text{Text: plain[i : i+1]})
		}
		c.Show(llm.Text{Text: " and "})
		c.Show(llm.Blob{MIME: "text/plain", Data: []byte(plain)})
		c.Show(llm.Text{Text: plain[:20]})
		if err := fail(); err != nil {
			return nil, err
		}
		detail, _ := json.Marshal(map[string]any{"out": "x=" + key, key: 1, "deep": []any{map[string]string{"a": fmt.Sprintf("%q", key)}}, "n": 837162940551})
		return &tool.Result{
			Parts: llm.Parts{
				llm.Text{Text: "+ TOKEN=" + key + ";", Raw: json.RawMessage(`{"text":"` + plain + `"}`)},
				llm.Blob{MIME: "application/json", Data: detail},
				llm.Blob{MIME: "image/png", Data: []byte("\x89PNG" + plain + "end"), Name: plain},
				llm.Blob{MIME: "text/html", URL: "https://x.test/?key=" + plain},
				llm.Thinking{Text: plain},
				llm.ToolResult{CallID: "x", Parts: llm.Texts("in", plain)},
				llm.ToolCall{ID: "y", Name: "z", Input: json.RawMessage(`{"k":"` + plain + `"}`), Malformed: plain},
				llm.Native{Wire: "w", Kind: "k", Raw: json.RawMessage(`{"k":"` + plain + `"}`)},
				llm.Unknown{Kind: "new", Raw: json.RawMessage(`{"type":"new","k":"` + plain + `"}`)},
			},
			Pin: "pin:" + plain, Detail: detail,
		}, nil
	})
}

// TestRun: what a tool tells of a key is in nothing that the model gets, that
// events show, or that is kept.
func TestRun(t *testing.T) {
	t.Parallel()
	r := redactor(guard.Key{Name: "acme", Value: plain}, guard.Key{Name: "other", Value: key}, guard.Key{Name: "number", Value: "837162940551"})
	tools := []tool.Tool{
		leaky("Leak", func() error { return nil }),
		leaky("Fail", func() error { return &fs.PathError{Op: "open", Path: "/x/" + plain, Err: fs.ErrNotExist} }),
		leaky("Panic", func() error { panic("no " + plain) }),
		leaky("Refused", func() error { return nil }),
		leaky("Asked", func() error { return nil }),
		leaky("Fatal", func() error { return tool.Fatal(errors.New("fatal: " + plain)) }),
	}
	gate := agent.Middleware{Name: "gate", Gate: func(next agent.GateFunc) agent.GateFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			switch c.Name {
			case "Refused":
				return nil, errors.New("no: " + plain)
			case "Asked":
				q := &agent.Question{
					Kind: "approve", Data: json.RawMessage(`{"why":"` + plain + `"}`),
					Call: &agent.QuestionCall{ID: c.ID, Name: c.Name, Input: c.Input, Preview: &tool.Preview{Title: plain, Diff: "-KEY=" + plain + "\n+KEY=", Text: plain}},
				}
				a, err := tn.Ask(ctx, q)
				if err != nil || !a.OK {
					return tool.Error("no: " + a.Reason + plain), err
				}
			}
			return next(ctx, tn, c)
		}
	}}
	var events bytes.Buffer
	var asked *agent.Question
	m := llmtest.New(t,
		llmtest.Call("Leak", in{1}), llmtest.Call("Fail", in{2}), llmtest.Call("Panic", in{3}), llmtest.Call("Refused", in{4}), llmtest.Call("Leak", in{5}), llmtest.Call("Asked", in{6}), llmtest.Call("Fatal", in{7}))
	a, err := agent.New(m, agent.Options{
		Tools: tools, Middleware: []agent.Middleware{gate, r.Middleware()},
		Ask: func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			asked = q
			return &agent.Answer{OK: false, Reason: "since " + plain}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), &session.Memory{}, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), s, llm.Text{Text: "go"})
	shown := ""
	for e, err := range st.Events() {
		if err != nil {
			fmt.Fprintf(&events, "error %v\n", err)
			continue
		}
		if p, ok := e.Data.(agent.ToolProgress); ok && shown == "" || ok && !strings.HasSuffix(shown, plain[:20]) {
			shown += p.Parts.Text()
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		events.Write(append(b, '\n'))
	}
	requests, err := json.Marshal(m.Requests())
	if err != nil {
		t.Fatal(err)
	}
	var journal bytes.Buffer
	for e, err := range s.Path(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		journal.Write(append(b, '\n'))
	}
	for what, b := range map[string][]byte{"events": events.Bytes(), "requests": requests, "journal": journal.Bytes()} {
		for _, bad := range []string{plain[10:30], plain[len(plain)-20:], "quoted", "837162940551", "YWktbmFt"} {
			if i := bytes.Index(b, []byte(bad)); i >= 0 {
				t.Errorf("%s: …%s", what, b[max(0, i-300):min(len(b), i+100)])
			}
		}
		if what != "requests" && !bytes.Contains(b, []byte(`"out":"x=[key of other]"`)) {
			t.Errorf("%s: no Detail", what)
		}
		if !bytes.Contains(b, []byte("+ TOKEN=[key of other];")) || !bytes.Contains(b, []byte("open /x/[key of acme]")) {
			t.Errorf("%s: the text around is gone too", what)
		}
	}
	if asked == nil || asked.Call.Preview.Diff != "-KEY=[key of acme]\n+KEY=" || string(asked.Data) != `{"why":"[key of acme]"}` || string(asked.Call.Input) != `{"n":6}` {
		t.Errorf("%+v", asked)
	}
	if want := "[key of acme] and " + plain[:20]; !strings.HasPrefix(shown, want) {
		t.Errorf("shown %q", shown)
	}
	if !bytes.Contains(events.Bytes(), []byte("error fatal: [key of acme]")) && !bytes.Contains(events.Bytes(), []byte("fatal: [key of acme]")) {
		t.Errorf("%s", events.Bytes()[max(0, events.Len()-600):])
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	r := redactor(guard.Key{Name: "acme", Value: plain})
	in := &fs.PathError{Op: "open", Path: plain, Err: fs.ErrNotExist}
	err := r.Error(in)
	var pe *fs.PathError
	if err.Error() != "open [key of acme]: file does not exist" || !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &pe) || errors.Unwrap(err) != nil {
		t.Errorf("%v", err)
	}
	for _, s := range []string{fmt.Sprintf("%v", err), fmt.Sprintf("%s", err), fmt.Sprint(fmt.Errorf("so: %w", err)), errors.Join(err, nil).Error()} {
		if strings.Contains(s, plain) {
			t.Error(s)
		}
	}
	if other := errors.New("x"); r.Error(other) != other || r.Error(nil) != nil {
		t.Error("an error without a key is another one")
	}
	if !tool.IsFatal(r.Error(tool.Fatal(in))) {
		t.Error("it is fatal no more")
	}
}

// A result that a tool keeps is not changed, and one without a key is not copied.
func TestResult(t *testing.T) {
	t.Parallel()
	r := redactor(guard.Key{Name: "acme", Value: plain})
	kept := &tool.Result{Parts: llm.Texts("a", plain, "b"), Detail: json.RawMessage(`{"a":"` + plain + `"}`)}
	got := r.Result(kept)
	if kept.Parts[1].(llm.Text).Text != plain || !strings.Contains(string(kept.Detail), plain) {
		t.Error("the tool's result was changed")
	}
	if got.Parts.Text() != "a[key of acme]b" || string(got.Detail) != `{"a":"[key of acme]"}` {
		t.Errorf("%+v", got)
	}
	clean := llm.Texts("a", "b")
	if out := r.Parts(clean); &out[0] != &clean[0] {
		t.Error("copied for nothing")
	}
	if r.Result(nil) != nil || r.Parts(nil) != nil {
		t.Error("nothing became something")
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for v, name := range map[string]string{key: "k", plain: "p", `a\b"c/d<e>`: "m", "837162940551": "n", "line\u00e9-key-1": "u"} {
		r := redactor(guard.Key{Name: name, Value: v})
		q, _ := json.Marshal(v)
		inner, _ := json.Marshal(string(q))
		slashes := strings.ReplaceAll(string(q), "/", `\/`)
		for _, s := range []string{string(q), slashes, string(inner), `"` + each(`x`, `\u%04x`) + string(q)[1:], `"a` + string(q)[1:]} {
			raw := `{ "b" : [1.50, ` + s + `,null ],` + "\n" + s + `:{"a":"` + "\\ud83d\\ude00 \\n\xc3\xa9" + `"}, "n":-1e5}`
			if !json.Valid([]byte(raw)) {
				t.Fatal(raw)
			}
			got := string(r.JSON(json.RawMessage(raw)))
			if !json.Valid([]byte(got)) || strings.Count(got, "[key of "+name+"]") != 2 || !strings.HasPrefix(got, `{ "b" : [1.50, `) || !strings.HasSuffix(got, `:{"a":"`+"\\ud83d\\ude00 \\n\xc3\xa9"+`"}, "n":-1e5}`) {
				t.Errorf("%s became %s", raw, got)
			}
		}
	}
	r := redactor(guard.Key{Name: "n", Value: "837162940551"})
	for in, want := range map[string]string{
		``: ``, `{}`: `{}`, `{"a":1`: `{"a":1`, `{"a":"837162940551`: `{"a":"[key of n]`, `[837162940551]`: `["[key of n]"]`, `[8371629405510]`: `["[key of n]0"]`, `"<&>"`: `"<&>"`,
	} {
		if got := string(r.JSON(json.RawMessage(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	if got := string(guard.New(guard.Options{Shapes: true}).JSON(json.RawMessage(`{"a":"x ghp_0123456789abcdefghijABCDEFGHIJ012345","b":"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"}`))); got != `{"a":"x [token of GitHub]","b":"[private key]\n"}` {
		t.Error(got)
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	var k guard.Known
	r := guard.New(guard.Options{Keys: k.Keys})
	k.Add("short", "1234567")
	if k.Keys() != nil {
		t.Error(k.Keys())
	}
	k.Add("a", "12345678")
	before := k.Keys()
	k.Add("b", "12345678")
	k.Add("a", "abcdefgh")
	if got := r.Text("12345678 abcdefgh"); got != "[key of a] [key of a]" || len(before) != 1 || len(k.Keys()) != 2 {
		t.Errorf("%s, %v, %v", got, before, k.Keys())
	}
	var none *guard.Known
	none.Add("a", "12345678")
	if none.Keys() != nil {
		t.Error("a key is in nothing")
	}
}

// TestKeep: what stands in the place of a key is not written over the key. To
// a file without the key, and where it is a text like any other, it is.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"env": "A=1\nKEY=" + plain + "\n", "other": "A=1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type file struct{ Path, Text string }
	var wrote []string
	write := tool.New(tool.Spec{Name: "Write", Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, in file) ([]tool.Access, error) {
		return []tool.Access{{Op: tool.Write, Target: filepath.Join(dir, in.Path)}}, nil
	})}, func(_ context.Context, in file) (string, error) {
		wrote = append(wrote, in.Path+": "+in.Text)
		return "ok", nil
	})
	r := redactor(guard.Key{Name: "acme", Value: plain})
	m := llmtest.New(t,
		llmtest.Call("Write", file{"env", "A=2\nKEY=[key of acme]\n"}), llmtest.Call("Write", file{"env", "[part of the key of acme]"}),
		llmtest.Call("Write", file{"env", "KEY=[key of other]"}), llmtest.Call("Write", file{"other", "[key of acme]"}), llmtest.Call("Write", file{"new", "[key of acme]"}), llmtest.Say("done"))
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{write}, Middleware: []agent.Middleware{r.Middleware()}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), &session.Memory{}, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), s, llm.Text{Text: "go"})
	if err != nil || len(res.Denied) != 2 || !strings.Contains(res.Denied[0].Reason, "env has the key of acme in it") || !strings.Contains(res.Denied[0].Reason, "Change the lines around it") {
		t.Errorf("%+v, %v", res, err)
	}
	if want := []string{"env: KEY=[key of other]", "other: [key of acme]", "new: [key of acme]"}; !slices.Equal(wrote, want) {
		t.Errorf("%q", wrote)
	}
}
