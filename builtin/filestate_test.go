package builtin_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// tools are those of the bench, in order.
func (b *bench) tools() []tool.Tool { return builtin.Tools(b.o) }

// run lets a model make one call in a session, with tools of its own as in
// another process, and returns the text of its result.
func (b *bench) run(s *session.Session, name string, in any) string {
	b.t.Helper()
	return b.runWith(b.tools(), s, name, in)
}

func (b *bench) runWith(tools []tool.Tool, s *session.Session, name string, in any) string {
	b.t.Helper()
	m := llmtest.New(b.t, llmtest.Call(name, in), llmtest.Say("done"))
	a, err := agent.New(m, agent.Options{Tools: tools, Dir: b.dir})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := a.Run(b.t.Context(), s, llm.Text{Text: "go on"}); err != nil {
		b.t.Fatal(err)
	}
	ms := s.Messages()
	for i := len(ms) - 1; i >= 0; i-- {
		for _, p := range ms[i].Parts {
			if r, ok := p.(llm.ToolResult); ok {
				return r.Parts.Text()
			}
		}
	}
	b.t.Fatal("no result")
	return ""
}

func open(t *testing.T, st session.Store, id string) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), st, id, session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What was read is known in the session and its forks, on the branch where it
// was read, and nowhere else.
func TestMemoryOfFilesFollowsTheSession(t *testing.T) {
	b := newBench(t)
	b.write("f", "one\n")
	st := &session.Memory{}
	edit := func(old, repl string) m { return m{"file_path": "f", "old_string": old, "new_string": repl} }
	refused := func(s string) {
		t.Helper()
		if !strings.Contains(s, "not read yet") {
			t.Errorf("it was not refused: %s", s)
		}
	}
	updated := func(s string) {
		t.Helper()
		if !strings.HasPrefix(s, "Updated f") {
			t.Errorf("it was refused: %s", s)
		}
	}
	s := open(t, st, "s")
	tools := b.tools()
	refused(b.runWith(tools, s, "Edit", edit("one", "1")))
	before := s.Leaf()
	b.runWith(tools, s, "Read", m{"file_path": "f"})
	updated(b.runWith(tools, s, "Edit", edit("one", "two")))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, st, "s")
	updated(b.run(s, "Edit", edit("two", "three"))) // resumed
	fork, err := s.Fork(t.Context(), st, "fork", "")
	if err != nil {
		t.Fatal(err)
	}
	updated(b.run(fork, "Edit", edit("three", "four")))
	if got := b.run(s, "Edit", edit("four", "five")); !strings.Contains(got, "was changed since") {
		t.Errorf("the change of another session went unnoticed: %s", got)
	}
	refused(b.run(open(t, st, "other"), "Edit", edit("four", "five")))

	// Back to where it was not read yet, in the same process.
	tools = b.tools()
	b.runWith(tools, s, "Read", m{"file_path": "f"})
	if err := s.Branch(t.Context(), "back", time.Now(), before, ""); err != nil {
		t.Fatal(err)
	}
	refused(b.runWith(tools, s, "Edit", edit("four", "five")))
}

// A child does not know what its parent has read, nor the parent what it has.
func TestMemoryOfFilesOfAChild(t *testing.T) {
	b := newBench(t)
	b.write("f", "one\n")
	tools := b.tools()
	var got []string
	child := tool.New(tool.Spec{Name: "Child", Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
		turn := agent.FromContext(ctx)
		m := llmtest.New(t, llmtest.Call("Edit", m{"file_path": "f", "old_string": "one", "new_string": "1"}), llmtest.Say("done"))
		a, err := agent.New(m, agent.Options{Tools: tools, Dir: b.dir})
		if err != nil {
			return "", err
		}
		s := open(t, &session.Memory{}, "child")
		if _, err := turn.Run(ctx, "child", a, s, llm.Text{Text: "go"}); err != nil {
			return "", err
		}
		for _, msg := range s.Messages() {
			for _, p := range msg.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					got = append(got, r.Parts.Text())
				}
			}
		}
		return "ok", nil
	})
	s := open(t, &session.Memory{}, "s")
	b.runWith(tools, s, "Read", m{"file_path": "f"})
	b.runWith(append(tools, child), s, "Child", m{})
	if len(got) != 1 || !strings.Contains(got[0], "not read yet") {
		t.Errorf("%q", got)
	}
}

// A read that tells nothing new is not recorded again.
func TestNotesAreFew(t *testing.T) {
	b := newBench(t)
	b.write("f", strings.Repeat("line\n", 50))
	s := open(t, &session.Memory{}, "s")
	for range 5 {
		b.run(s, "Read", m{"file_path": "f"})
	}
	b.run(s, "Read", m{"file_path": "f", "offset": 7})
	n := 0
	for _, err := range s.Notes(t.Context(), "builtin.file") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d notes", n)
	}
}

// The documentation's program works.
func Example() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	m := llmtest.Func(llm.Info{Name: "scripted"}, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		if len(req.Messages) == 1 {
			return &llm.Response{Message: llmtest.CallID("1", "Write", map[string]string{"file_path": "hello.txt", "content": "Hello.\n"}).Message()}, nil
		}
		last := req.Messages[len(req.Messages)-1].Parts[0].(llm.ToolResult)
		return &llm.Response{Message: llmtest.Say(last.Parts.Text()).Message()}, nil
	})
	a, err := agent.New(m, agent.Options{Tools: builtin.Tools(builtin.Options{Root: dir}), Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := session.Open(context.Background(), &session.Memory{}, "s", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), s, llm.Text{Text: "Say hello in a file."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output: Created hello.txt (1 lines).
}
