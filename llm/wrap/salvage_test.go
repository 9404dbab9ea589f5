package wrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/wrap"
)

func tools() []llm.ToolSpec {
	schema := func(required string, props ...string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + required + `]}`)
	}
	const text = `{"type":"string"}`
	return []llm.ToolSpec{
		{Name: "Read", Input: schema(`"path"`, `"path":`+text, `"offset":{"type":"integer"}`, `"whole":{"type":"boolean"}`)},
		{Name: "Write", Input: schema(`"path","content"`, `"path":`+text, `"content":`+text)},
		{Name: "Bash", Input: schema(`"command"`, `"command":`+text)},
		{Name: "Grep", Input: schema(`"pattern"`, `"pattern":`+text, `"path":`+text)},
		{Name: "Glob", Input: schema(`"pattern"`, `"pattern":`+text)},
		{Name: "TodoWrite", Input: schema(`"todos"`, `"todos":{"type":"array"}`)},
		{Name: "ListFiles", Input: schema(``)},
	}
}

// salvaged is what becomes of a text: the calls in words, and what is left. It
// holds the stream to its contract.
func salvaged(t testing.TB, reply llmtest.Reply) (calls []string, resp *llm.Response) {
	t.Helper()
	req := hello()
	req.Tools = tools()
	var text strings.Builder
	notices, deltas := 0, 0
	for ev, err := range wrap.Salvage(llmtest.New(nil, reply)).Stream(context.Background(), req) {
		switch ev := ev.(type) {
		case nil:
			t.Fatal(err)
		case llm.TextDelta:
			text.WriteString(ev.Text)
		case llm.CallDelta:
			deltas++
		case llm.Notice:
			notices++
			if ev.Kind != "salvage" || !json.Valid(ev.Data) {
				t.Errorf("notice %+v", ev)
			}
		case llm.Done:
			resp = ev.Response
		}
	}
	if got := resp.Message.Text(); got != text.String() {
		t.Errorf("deltas say %q, the response %q", text.String(), got)
	}
	ids := map[string]bool{}
	for _, c := range resp.Message.Parts.Calls() {
		ids[c.ID] = true
		if !json.Valid(c.Input) || c.Input[0] != '{' {
			t.Errorf("input %s", c.Input)
		}
		what := string(c.Input)
		if c.Malformed != "" {
			what = "broken " + strings.TrimSpace(c.Malformed)
		}
		calls = append(calls, c.Name+" "+what)
	}
	if notices != len(calls) || deltas != len(calls) || len(ids) != len(calls) {
		t.Errorf("%d calls, %d ids, %d notices, %d deltas", len(calls), len(ids), notices, deltas)
	}
	if stop := map[bool]llm.StopReason{true: llm.StopToolUse, false: llm.StopEnd}[len(calls) > 0]; resp.Stop != stop {
		t.Errorf("stop %s", resp.Stop)
	}
	return calls, resp
}

func read(t testing.TB, file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSalvageLeaks holds that all calls of the corpus are found, and nothing
// but them.
func TestSalvageLeaks(t *testing.T) {
	leaks := strings.Split(strings.TrimPrefix(read(t, "testdata/leaks.txt"), "=== "), "\n=== ")
	if len(leaks) < 60 {
		t.Fatalf("only %d leaks", len(leaks))
	}
	for _, leak := range leaks {
		name, rest, _ := strings.Cut(leak, "\n")
		text, want, _ := strings.Cut(rest, "\n--- want\n")
		want, left, _ := strings.Cut(want, "\n--- text\n")
		t.Run(name, func(t *testing.T) {
			calls, resp := salvaged(t, llmtest.Say(text))
			if got := strings.Join(calls, "\n"); got != strings.TrimSpace(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if got := resp.Message.Text(); got != strings.TrimSpace(left) {
				t.Errorf("left %q, want %q", got, left)
			}
		})
	}
}

// ordinary is answers that make no call.
func ordinary(t testing.TB) []string {
	texts := strings.Split(strings.TrimSpace(read(t, "testdata/ordinary.txt")), "\n===\n")
	bodies := []string{
		`{"name": %q, "arguments": {"path": "x"}}`,
		`{"tool": %q, "args": {"path": "x"}}`,
		`{"name": %q, "parameters": {"path": "x"}, "result": "ok"}`,
		`[{"name": %q, "arguments": {"path": "x"}, "ok": true}]`,
		"<tool_call>\n{\"name\": %q, \"arguments\": {\"path\": \"x\"}}\n</tool_call>",
		`[TOOL_CALLS] [{"name": %q, "arguments": {"path": "x"}}]`,
	}
	frames := []string{
		"Such a call looks like this:\n\n```json\n%s\n```",
		"An example of what the model sends:\n\n```\n%s\n```\n\nThe server then runs it.",
		"The format is `%s`, and nothing else.",
		"```json\n%s\n```\n\nThis is the shape that the parser expects.",
		"You would write it as\n\n%s\n\nin the body of the request.",
		"%s\n\nis the syntax that you asked for.",
		"In the documentation:\n\n> %s\n",
		"The test has a table:\n\n```go\n{`%s`, true},\n```",
	}
	for i, body := range bodies {
		for j, frame := range frames {
			for k, name := range []string{"Read", "get_weather", "Alice"} {
				text := fmt.Sprintf(frame, fmt.Sprintf(body, name))
				if (i+j+k)%2 == 0 {
					text = "Here is what I found.\n\n" + text
				}
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// TestSalvageOrdinary holds that no answer that shows JSON is taken for a call,
// and that each is shown as it is.
func TestSalvageOrdinary(t *testing.T) {
	texts := ordinary(t)
	if len(texts) < 200 {
		t.Fatalf("only %d answers", len(texts))
	}
	for _, text := range texts {
		calls, resp := salvaged(t, llmtest.Say(text))
		if len(calls) > 0 || resp.Message.Text() != text {
			t.Errorf("calls %q of\n%s\nas\n%s", calls, text, resp.Message.Text())
		}
	}
}

// TestSalvageHoldsBackLittle holds that ordinary text is shown as it comes, and
// nothing of a call before it is clear what it is.
func TestSalvageHoldsBackLittle(t *testing.T) {
	for _, text := range ordinary(t) {
		late := 0
		in := 0
		for shown, n := range deltasOf(t, text) {
			in = n
			late = max(late, in-shown)
		}
		// Answers that may be a call in whole are held to their end.
		if held := strings.Contains(text, `"Read"`) || strings.Contains(text, "<t") || strings.Contains(text, "<f") || strings.Contains(text, "[TOOL") ||
			strings.Contains(text, `"arguments"`) || strings.Contains(text, `"parameters"`) || strings.Contains(text, "Read(") || strings.Contains(text, `"args"`) || strings.Contains(text, `"input"`); !held && late > 80 {
			t.Errorf("%d bytes were held back of\n%s", late, text)
		}
	}
	for shown, n := range deltasOf(t, "I'll read it. <tool_call>"+`{"name": "Read", "arguments": {"path": "main.go"}}</tool_call>`) {
		if shown > len("I'll read it.") {
			t.Fatalf("%d of %d bytes were shown", shown, n)
		}
	}
}

// deltasOf goes through a text that comes byte by byte: how much was shown when
// how much had come.
func deltasOf(t testing.TB, text string) func(yield func(shown, come int) bool) {
	return func(yield func(shown, come int) bool) {
		come := 0
		src := stream(func(y func(llm.Event, error) bool) {
			for come < len(text) {
				come++
				if !y(llm.TextDelta{Text: text[come-1 : come]}, nil) {
					return
				}
			}
			y(llm.Done{Response: &llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Texts(text)}}}, nil)
		})
		req := hello()
		req.Tools = tools()
		shown := 0
		for ev, err := range wrap.Salvage(src).Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := ev.(llm.TextDelta); ok && come < len(text) {
				shown += len(d.Text)
				if !yield(shown, come) {
					return
				}
			}
		}
	}
}

// stream is a model that streams what it says.
type stream func(yield func(llm.Event, error) bool)

func (s stream) Info() llm.Info { return llm.Info{Provider: "p", Name: "stream"} }

func (s stream) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return iter.Seq2[llm.Event, error](s)
}

// TestSalvageLeaves holds what is not touched.
func TestSalvageLeaves(t *testing.T) {
	const leak = `<tool_call>{"name": "Read", "arguments": {"path": "a"}}</tool_call>`
	for name, reply := range map[string]llmtest.Reply{
		"a call of its own": llmtest.Say(leak).Call("Read", map[string]string{"path": "b"}),
		"a refusal":         llmtest.Say(leak).Stop(llm.StopRefusal),
		"a thought":         llmtest.Think(leak).Say("done"),
	} {
		t.Run(name, func(t *testing.T) {
			req := hello()
			req.Tools = tools()
			var text strings.Builder
			var resp *llm.Response
			for ev, err := range wrap.Salvage(llmtest.New(t, reply)).Stream(t.Context(), req) {
				switch ev := ev.(type) {
				case nil:
					t.Fatal(err)
				case llm.TextDelta:
					text.WriteString(ev.Text)
				case llm.Notice:
					t.Errorf("%+v", ev)
				case llm.Done:
					resp = ev.Response
				}
			}
			want := reply.Message()
			if resp.Message.Text() != want.Text() || text.String() != want.Text() || len(resp.Message.Parts) != len(want.Parts) {
				t.Errorf("%q, %+v", text.String(), resp.Message.Parts)
			}
		})
	}
	for name, req := range map[string]*llm.Request{
		"no tools":      hello(),
		"none asked of": {Messages: hello().Messages, Tools: tools(), ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}},
	} {
		if resp, err := llm.Generate(t.Context(), wrap.Salvage(llmtest.New(t, llmtest.Say(leak))), req); err != nil || resp.Message.Text() != leak {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

// TestSalvageCut holds that a response cut at its output cap keeps its stop
// reason, so that nobody runs its last call, and that one that breaks off is
// tried again.
func TestSalvageCut(t *testing.T) {
	const whole = `<tool_call>{"name": "Read", "arguments": {"path": "a"}}</tool_call>`
	req := hello()
	req.Tools = tools()
	m := wrap.Salvage(llmtest.New(t, llmtest.Say(whole+"\n"+`<tool_call>{"name": "Write", "arguments": {"pa`).Stop(llm.StopMaxTokens)))
	resp, err := llm.Generate(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.Message.Parts.Calls()
	if resp.Stop != llm.StopMaxTokens || len(calls) != 2 || calls[0].Malformed != "" || calls[1].Malformed == "" || string(calls[1].Input) != "{}" {
		t.Errorf("%s, %+v", resp.Stop, calls)
	}
	synctest.Test(t, func(t *testing.T) {
		m := wrap.Retry(wrap.Salvage(llmtest.New(t, llmtest.Say(whole).Fail(&llm.Error{Kind: llm.KindServer}), llmtest.Say(whole))), wrap.RetryOptions{})
		if resp, err := llm.Generate(t.Context(), m, req); err != nil || len(resp.Message.Parts.Calls()) != 1 {
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

// hostile are texts that make a careless parser start again and again.
func hostile(n int) []string {
	var out []string
	for _, piece := range []string{
		"{", "[", "[{", `{"name":`, `{"name":"x"} `, "{\"name\":\"x\"}\n", `{"name":"Read","arguments":{`, "```json\n{\"name\":\"Read\"\n", "```\n", "`",
		"<tool_call>", "<tool_call>{", `<tool_call>{"name":"Read","arguments":`, "<function=Read>", "<function=Read><parameter=a>", "<function=Read><parameter=a>x</parameter>",
		"[TOOL_CALLS]", "[TOOL_CALLS][", "[Read(", "Read(path=", "\nAction: Read\n", "\nAction: Read\nAction Input: {", "<tool_call>Read<arg_key>a</arg_key>",
		"\n{\"name\":\"Read\",\"arguments\":{\"path\":\"", "\n[Read(path='", "<|channel|>commentary to=Read<|message|>{", "“", "\\\"", "\n~~~\n", "<tool_call>{\"name\":\"Read\",\"arguments\":{}}}",
	} {
		out = append(out, strings.Repeat(piece, n/len(piece)))
	}
	return out
}

// TestSalvageIsLinear holds that twice the text takes some twice the time.
func TestSalvageIsLinear(t *testing.T) {
	took := func(text string) time.Duration {
		best := time.Hour
		for range 3 {
			began := time.Now()
			salvagedQuick(t, text)
			best = min(best, time.Since(began))
		}
		return best
	}
	const n = 1 << 13
	for i, long := range hostile(16 * n) {
		short := hostile(n)[i]
		a, b := took(short), took(long)
		if b > 16*8*a && b > 500*time.Millisecond {
			t.Errorf("%.40q: %v for %d bytes, %v for %d", long, a, len(short), b, len(long))
		}
	}
}

// salvagedQuick is the calls of a text that comes in pieces of 64 bytes.
func salvagedQuick(t testing.TB, text string) []llm.ToolCall {
	src := stream(func(y func(llm.Event, error) bool) {
		for rest := text; rest != ""; {
			n := min(64, len(rest))
			if !y(llm.TextDelta{Text: rest[:n]}, nil) {
				return
			}
			rest = rest[n:]
		}
		y(llm.Done{Response: &llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Texts(text)}}}, nil)
	})
	req := hello()
	req.Tools = tools()
	var shown strings.Builder
	var resp *llm.Response
	for ev, err := range wrap.Salvage(src).Stream(t.Context(), req) {
		switch ev := ev.(type) {
		case nil:
			t.Fatal(err)
		case llm.TextDelta:
			shown.WriteString(ev.Text)
		case llm.Done:
			resp = ev.Response
		}
	}
	if got := resp.Message.Text(); got != shown.String() && strings.TrimSpace(got) != strings.TrimSpace(shown.String()) {
		t.Errorf("shown %q, recorded %q", shown.String(), got)
	}
	calls := resp.Message.Parts.Calls()
	for _, c := range calls {
		var o map[string]json.RawMessage
		if json.Unmarshal(c.Input, &o) != nil || o == nil {
			t.Errorf("input %q of %q", c.Input, text)
		}
		if c.Name == "" || c.ID == "" {
			t.Errorf("%+v", c)
		}
	}
	if len(calls) == 0 && resp.Message.Text() != text {
		t.Errorf("%q became %q", text, resp.Message.Text())
	}
	return calls
}

func FuzzSalvage(f *testing.F) {
	for _, s := range ordinary(f) {
		f.Add(s)
	}
	for _, s := range strings.Split(read(f, "testdata/leaks.txt"), "\n=== ") {
		f.Add(s)
	}
	for _, s := range hostile(200) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		salvagedQuick(t, text)
	})
}

func ExampleSalvage() {
	local := llmtest.New(nil, llmtest.Say("I'll read it.\n\n```json\n"+`{"name": "read", "arguments": {'path': 'main.go',}}`+"\n```"))
	req := hello()
	req.Tools = []llm.ToolSpec{{Name: "Read", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
	resp, err := llm.Generate(context.Background(), wrap.Salvage(local), req)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range resp.Message.Parts.Calls() {
		fmt.Printf("%s %s (%s)\n", c.Name, c.Input, resp.Message.Text())
	}
	// Output: Read {"path":"main.go"} (I'll read it.)
}
