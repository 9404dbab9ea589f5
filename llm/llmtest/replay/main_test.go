package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// TestRecorded replays the recorded cases, where they are beside the
// repository, that are on wires of which there is an adapter.
func TestRecorded(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "wire")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the recorded exchanges are not there: ", err)
	}
	dirs, err := wirecase.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, d := range dirs {
		c, err := wirecase.Load(d)
		if err != nil {
			t.Error(err)
			continue
		}
		if slices.ContainsFunc(c.Exchanges, func(x wirecase.Exchange) bool { return adapters[x.Wire] == nil }) {
			continue
		}
		faults := c.Run(t.Context(), open)
		for _, f := range faults {
			t.Error(f)
		}
		if len(faults) == 0 {
			passed++
		}
	}
	t.Logf("%d of %d cases pass", passed, len(dirs))
}

const (
	request  = `{"path":"/v1/messages","body":{"model":"claude-x"}}`
	response = `{"status":200,"headers":{"content-type":["application/json"]}}`
	body     = `{"id":"m","type":"message","role":"assistant","model":"claude-x","stop_reason":"tool_use",
		"usage":{"input_tokens":3,"output_tokens":5},"content":[
		{"type":"thinking","thinking":"hm","signature":"SIGNATURE"},{"type":"text","text":"a"},
		{"type":"tool_use","id":"toolu_1","name":"Read","input":{"p":1}}]}`
	expect = `{"text":"a","thinking":"hm","tool_calls":[{"id":"toolu_1","name":"Read","args":{"p":1}}],"stop":"tool_use","stop_raw":"tool_use",
		"usage":{"input":3,"output":5},"usage_norm":{"input_total":3,"output_total":5},"error_kind":null,
		"opaque":[{"kind":"signature","len":9,"sha256":"45a7c54c84f0cbde"}]}`
)

// write makes a case of files.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func one(expect string) map[string]string {
	return map[string]string{
		"case.json":    `{"name":"one","wire":"anthropic","provider":"anthropic","expect":` + expect + `}`,
		"request.json": request, "response.json": response, "response.body": body,
	}
}

func two(wire string) map[string]string {
	return map[string]string{
		"case.json": `{"name":"two","exchanges":[{"dir":"1","wire":"anthropic","provider":"anthropic","expect":` + expect + `},
			{"dir":"2","wire":"` + wire + `","provider":"other","expect":{"text":"b","stop":"end","error_kind":null}}]}`,
		"1/request.json": request, "1/response.json": response, "1/response.body": body,
		"2/request.json": request, "2/response.json": response,
		"2/response.body": `{"choices":[{"message":{"content":"b"},"finish_reason":"stop"}]}`,
	}
}

// TestFaults breaks each thing that is compared: a comparison that finds
// nothing compares nothing.
func TestFaults(t *testing.T) {
	changed := func(old, with string) map[string]string {
		e := strings.Replace(expect, old, with, 1)
		if e == expect {
			t.Fatalf("%s is not in the case", old)
		}
		return one(e)
	}
	without := func(name string) map[string]string {
		f := one(expect)
		delete(f, name)
		return f
	}
	tests := []struct {
		name  string
		files map[string]string
		want  string // "": it passes
	}{
		{"right", one(expect), ""},
		{"over wires", two("openai-chat"), ""},
		{"no adapter", two("telepathy"), "two 2: no adapter for wire telepathy"},
		{"text", changed(`"text":"a"`, `"text":"b"`), `text "a", want "b"`},
		{"thinking", changed(`"hm"`, `"ha"`), `thinking "hm", want "ha"`},
		{"name", changed(`"Read"`, `"Write"`), "call toolu_1 Read, want toolu_1 Write"},
		{"arguments", changed(`"p":1`, `"p":2`), `input {"p":1}, want {"p":2}`},
		{"number of calls", changed(`"tool_calls":[`, `"tool_calls":[{"name":"x","args":{}},`), "1 calls, want 2"},
		{"stop", changed(`"stop":"tool_use"`, `"stop":"end"`), "stop tool_use (tool_use), want end"},
		{"usage", changed(`"input":3`, `"input":4`), "reported usage"},
		{"sums", changed(`"input_total":3`, `"input_total":4`), "usage 3 in and 5 out, want 4 and 5"},
		{"error", changed(`"error_kind":null`, `"error_kind":"auth"`), "error <nil>, want kind auth"},
		{"signature", changed(`45a7c54c84f0cbde`, `0000000000000000`), "the signature of 9 bytes is not in the request"},
		{"lenient", changed(`"text":"a"`, `"lenient":["text"],"text":"b"`), ""},
		{"lenient in all", changed(`"text":"a"`, `"lenient":true,"text":"b"`), ""},
		{"lenient elsewhere", changed(`"text":"a"`, `"lenient":"usage","text":"b"`), `text "a", want "b"`},
		{"no body", without("response.body"), "response.body"},
		{"no JSON", map[string]string{"case.json": "{"}, "unexpected end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "001"), tt.files)
			var out, errs bytes.Buffer
			code := run([]string{dir}, &out, &errs)
			last := "0 passed, 1 failed, 0 skipped\n"
			if tt.want == "" {
				last = "1 passed, 0 failed, 0 skipped\n"
			}
			if (code == 0) != (tt.want == "") || !strings.Contains(out.String(), tt.want) || !strings.HasSuffix(out.String(), last) || errs.Len() > 0 {
				t.Errorf("exit %d, want %q:\n%s%s", code, tt.want, &out, &errs)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "001"), one(expect))
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "usage: replay"},
		{[]string{t.TempDir()}, 2, "no case.json"},
		{[]string{"-wire", "gemini", dir}, 0, "0 passed, 0 failed, 1 skipped"},
		{[]string{"-run", "on", dir}, 0, "1 passed, 0 failed, 0 skipped"},
	} {
		var out bytes.Buffer
		if code := run(tt.args, &out, &out); code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: exit %d, %s", tt.args, code, &out)
		}
	}
}
