package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
)

func history() []llm.Message {
	result := func(id string, ps ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: id, Name: "Bash", Parts: ps}}}
	}
	text := func(n int) llm.Part { return llm.Text{Text: strings.Repeat("x", n)} }
	return []llm.Message{
		{Role: llm.RoleUser, Parts: llm.Parts{text(90_000), llm.Blob{MIME: "image/png", Data: make([]byte, 500)}}}, // the user's words stay
		result("a", text(5000)),
		result("b", text(900)),
		result("c", text(20_000)),
		result("d", text(10), llm.Blob{MIME: "image/jpeg", Data: make([]byte, 3000)}),
		result("e", text(50_000)),
	}
}

func TestShrink(t *testing.T) {
	for name, c := range map[string]struct {
		o    llm.ShrinkOptions
		want string
	}{
		"half":              {llm.ShrinkOptions{}, "5/e"},
		"the largest":       {llm.ShrinkOptions{Least: 1}, "5/e"},
		"the two largest":   {llm.ShrinkOptions{Least: 50_001}, "3/c 5/e"},
		"all that there is": {llm.ShrinkOptions{Least: 1 << 30}, "0/ 1/a 3/c 4/d 5/e"},
		"but the last":      {llm.ShrinkOptions{Least: 1 << 30, Keep: 1}, "0/ 1/a 3/c 4/d"},
		"small ones, too":   {llm.ShrinkOptions{Least: 1 << 30, Min: 1}, "0/ 1/a 2/b 3/c 4/d 5/e"},
		"the most tokens":   {llm.ShrinkOptions{Tokens: true, Least: 13_000}, "5/e"},
		"images by tokens":  {llm.ShrinkOptions{Tokens: true, Least: 21_000}, "3/c 4/d 5/e"},
		"but one":           {llm.ShrinkOptions{Skip: func(c llm.Cut) bool { return c.CallID == "e" }}, "3/c"},
		"media":             {llm.ShrinkOptions{Media: true}, "0/ 4/d"},
		"keep them all":     {llm.ShrinkOptions{Keep: 99}, ""},
	} {
		var got []string
		for _, c := range llm.Shrink(history(), c.o) {
			got = append(got, fmt.Sprintf("%d/%s", c.Message, c.CallID))
			if len(c.Stub()) > 200 || c.Bytes == 0 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func ExampleShrink() {
	big := llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "1", Name: "Read", Parts: llm.Texts(strings.Repeat("line\n", 1000))}}}
	for _, c := range llm.Shrink([]llm.Message{llm.UserText("read it"), big}, llm.ShrinkOptions{}) {
		fmt.Println(c.Message, c.CallID, c.What, c.Bytes)
	}
	// Output: 1 1 result of Read 5000
}
