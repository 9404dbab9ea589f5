// Package demo is a stand-in for a language model, for trying everything else
// with no key and no network. It understands nothing: it is a fixed procedure
// that calls the real tools, one step after another, and reports what they
// found.
//
//	m := demo.New("offline")
//	fmt.Println(m.Info().Traits.StandIn) // true: every surface says so
//
// What it does depends on the request alone, so that the same request always
// gets the same answer.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cantle-dev/cantle/llm"
)

// New makes the stand-in. It is free, and says that it is a stand-in.
func New(name string) llm.Model {
	return model{llm.Info{
		Provider: "demo", Name: name, Wire: "demo", Context: 200_000, Output: 8_192,
		Price: &llm.Price{}, Traits: llm.Traits{StandIn: true},
	}}
}

type model struct{ info llm.Info }

func (m model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		msg := llm.Message{Role: llm.RoleAssistant, Parts: next(req)}
		msg.Origin = &llm.Origin{Provider: m.info.Provider, Model: m.info.Name, Wire: m.info.Wire}
		resp := &llm.Response{Model: m.info.Name, Message: msg, Stop: llm.StopEnd}
		for i, p := range msg.Parts {
			if err := ctx.Err(); err != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			switch p := p.(type) {
			case llm.Text:
				for line := range strings.Lines(p.Text) {
					if !yield(llm.TextDelta{Text: line}, nil) {
						return
					}
				}
			case llm.ToolCall:
				resp.Stop = llm.StopToolUse
				if !yield(llm.CallDelta{Index: i, ID: p.ID, Name: p.Name, Input: string(p.Input)}, nil) {
					return
				}
			}
		}
		u := llm.Usage{Input: int64(llm.Estimate(req)), Output: int64(msg.Estimate())}
		resp.Usage, resp.Reported = &u, &u
		yield(llm.Done{Response: resp}, nil)
	}
}

// step is what the procedure knows of one of its calls.
type step struct {
	call   llm.ToolCall
	result llm.ToolResult
}

// next decides on the next message by what was called since the last message
// of the user.
func next(req *llm.Request) llm.Parts {
	prompt, steps := read(req.Messages)
	tools := map[string]bool{}
	for _, t := range req.Tools {
		tools[t.Name] = true
	}
	var calls []llm.ToolCall
	call := func(name string, args map[string]any) {
		if tools[name] {
			b, _ := json.Marshal(args) // strings and numbers marshal
			id := fmt.Sprintf("demo_%d_%d", len(req.Messages), len(calls))
			calls = append(calls, llm.ToolCall{ID: id, Name: name, Input: b})
		}
	}
	switch round := rounds(steps); {
	case round == 0:
		call("Glob", map[string]any{"pattern": "**/*"})
		for _, w := range words(prompt) {
			call("Grep", map[string]any{"pattern": w, "output_mode": "content"})
		}
		if len(calls) == 0 {
			call("Read", map[string]any{"file_path": "."})
		}
	case round == 1:
		for _, f := range telling(steps) {
			call("Read", map[string]any{"file_path": f, "limit": 60})
		}
		call("Bash", map[string]any{"command": "ls", "description": "List the working directory"})
	}
	if len(calls) > 0 {
		parts := llm.Parts{}
		for _, c := range calls {
			parts = append(parts, c)
		}
		return parts
	}
	if v, ok := structured(req, tools); ok {
		return v
	}
	return llm.Texts(report(prompt, steps, tools))
}

// read returns what the user last wrote, and the calls since then.
func read(ms []llm.Message) (prompt string, steps []step) {
	open := map[string]llm.ToolCall{}
	for _, m := range ms {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				open[p.ID] = p
			case llm.ToolResult:
				steps = append(steps, step{open[p.CallID], p})
			case llm.Text:
				if m.Role == llm.RoleUser && !strings.HasPrefix(p.Text, "[") {
					prompt, steps = p.Text, nil
				}
			}
		}
	}
	return prompt, steps
}

// rounds counts how far the procedure has come.
func rounds(steps []step) int {
	n := 0
	for _, s := range steps {
		switch s.call.Name {
		case "Glob", "Grep":
			n = max(n, 1)
		case "Bash":
			n = max(n, 2)
		case "Read":
			n = max(n, 2)
		}
	}
	return n
}

// words are the rarest-looking words of the prompt: the longest two.
func words(prompt string) []string {
	fs := strings.FieldsFunc(prompt, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
	})
	fs = slices.DeleteFunc(fs, func(w string) bool {
		return len(w) < 5 || slices.Contains([]string{"about", "there", "which", "where", "project", "please", "should", "would", "could"}, strings.ToLower(w))
	})
	slices.SortStableFunc(fs, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(fs)[:min(len(slices.Compact(fs)), 2)]
}

// files are the paths that Glob listed.
func files(steps []step) []string {
	var out []string
	for _, s := range steps {
		if s.call.Name != "Glob" || s.result.IsError {
			continue
		}
		for line := range strings.Lines(s.result.Parts.Text()) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "(") {
				out = append(out, line)
			}
		}
	}
	return out
}

// telling picks the three files that say most about a project.
func telling(steps []step) []string {
	rank := func(f string) int {
		name := strings.ToLower(path.Base(f))
		depth := strings.Count(f, "/")
		for i, p := range []string{"readme", "go.mod", "package.json", "pyproject.toml", "cargo.toml", "pom.xml", "makefile", "main."} {
			if strings.HasPrefix(name, p) {
				return i*10 + depth*3
			}
		}
		switch path.Ext(name) {
		case ".go", ".py", ".js", ".ts", ".rs", ".c", ".java", ".md", ".txt":
			return 200 + depth
		}
		return 1000 + depth
	}
	fs := files(steps)
	slices.SortStableFunc(fs, func(a, b string) int { return rank(a) - rank(b) })
	return fs[:min(len(fs), 3)]
}

// structured answers with a value of the schema that was asked for.
func structured(req *llm.Request, tools map[string]bool) (llm.Parts, bool) {
	const answer = "final_answer"
	if tools[answer] {
		for _, t := range req.Tools {
			if t.Name == answer {
				return llm.Parts{llm.ToolCall{ID: fmt.Sprintf("demo_%d_answer", len(req.Messages)), Name: answer, Input: example(t.Input)}}, true
			}
		}
	}
	if req.Schema != nil {
		return llm.Texts(string(example(req.Schema.JSON))), true
	}
	return nil, false
}
