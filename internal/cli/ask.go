package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/agent"
)

// asker puts questions to the person at the terminal.
type asker struct {
	e     Env
	out   output
	mu    sync.Mutex
	lines chan string
}

func newAsker(e Env, out output) *asker { return &asker{e: e, out: out} }

// read returns the next line, or "" with false when ctx ends.
func (a *asker) read(ctx context.Context) (string, bool) {
	if a.lines == nil {
		a.lines = make(chan string)
		go func() {
			defer close(a.lines)
			sc := bufio.NewScanner(a.e.In)
			for sc.Scan() {
				a.lines <- sc.Text()
			}
		}()
	}
	select {
	case l, ok := <-a.lines:
		return l, ok
	case <-ctx.Done():
		return "", false
	}
}

func (a *asker) ask(ctx context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.out.(*textOut); ok {
		t.mu.Lock()
		t.spin.stop()
		t.endLine()
		t.mu.Unlock()
	}
	a.show(q)
	for {
		fmt.Fprint(a.e.Err, "Allow? [y]es / [n]o / [a]lways this tool: ")
		line, ok := a.read(ctx)
		if !ok {
			fmt.Fprintln(a.e.Err)
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			return &agent.Answer{Reason: "the terminal was closed"}, nil
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return &agent.Answer{OK: true}, nil
		case "a", "always":
			return &agent.Answer{OK: true, Data: []byte(`"always"`)}, nil
		case "n", "no", "":
			return &agent.Answer{Reason: "the user said no"}, nil
		default:
			return &agent.Answer{Reason: "the user said: " + strings.TrimSpace(line)}, nil
		}
	}
}

// maxPreview bounds the lines of a diff that a question shows; a command is
// always shown whole.
const maxPreview = 60

func (a *asker) show(q *agent.Question) {
	c := q.Call
	if c == nil {
		fmt.Fprintf(a.e.Err, "%s: %s\n", q.Kind, clean(string(q.Data)))
		return
	}
	who := ""
	if q.Path != "" {
		who = " (" + q.Path + ")"
	}
	fmt.Fprintf(a.e.Err, "\n%s%s wants to run:\n", clean(c.Name), who)
	switch p := c.Preview; {
	case p == nil:
		fmt.Fprintf(a.e.Err, "%s\n", clean(string(c.Input)))
	case p.Text != "":
		fmt.Fprintf(a.e.Err, "%s\n", clean(p.Text))
	default:
		fmt.Fprintln(a.e.Err, oneLine(p.Title))
		lines := strings.Split(strings.TrimRight(clean(p.Diff), "\n"), "\n")
		fmt.Fprintln(a.e.Err, strings.Join(lines[:min(len(lines), maxPreview)], "\n"))
		if n := len(lines) - maxPreview; n > 0 {
			fmt.Fprintf(a.e.Err, "… %d more lines\n", n)
		}
	}
	for _, acc := range c.Access {
		fmt.Fprintf(a.e.Err, "  %s %s\n", acc.Op, oneLine(acc.Target))
	}
}

// oneLine shows all of s in one line, so that the name of a file cannot look
// like a line of the question.
func oneLine(s string) string { return strings.ReplaceAll(clean(s), "\n", "⏎") }
