package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// plainLoop talks line by line. A line that ends in a backslash goes on in the
// next.
func plainLoop(ctx context.Context, e Env, f *flags) error {
	out := &textOut{e: e, live: true, chatty: true}
	sc := bufio.NewScanner(e.In)
	sc.Buffer(nil, maxLine)
	asker := newAsker(e, out)
	lines := make(chan string)
	go func() {
		defer close(lines)
		for sc.Scan() {
			lines <- sc.Text()
		}
	}()
	asker.lines = lines
	a, err := f.open(ctx, e, asker.ask)
	if err != nil {
		return err
	}
	defer a.Close()
	for _, n := range a.Notes {
		out.note(n)
	}
	fmt.Fprintf(e.Err, "Cantle, with %s. /help says what can be typed; /exit ends.\n", a.Info.Ref())
	if a.Info.Traits.StandIn {
		fmt.Fprintln(e.Err, "This is a stand-in, not a language model.")
	}
	say := func(in ...llm.Part) error {
		runCtx, stop, _ := withSignals(ctx)
		defer stop()
		if len(in) == 0 {
			if err := settle(runCtx, a.Session, asker.ask); err != nil {
				return err
			}
		}
		st := a.Agent.Stream(runCtx, a.Session, in...)
		var failed error
		for ev, err := range st.Events() {
			if err != nil {
				failed = err
				break
			}
			out.event(ev)
		}
		res := st.Result()
		if err := out.close(res, failed, codeOf(res, nil)); err != nil {
			return err
		}
		out.shown.Reset()
		if errors.Is(failed, io.EOF) {
			return failed
		}
		return nil
	}
	if len(a.Session.Pending()) > 0 { // an earlier run ended on questions
		if err := say(); err != nil {
			return err
		}
	}
	h := history{}
	if home, err := e.home(); err == nil {
		h.file = filepath.Join(home, "history")
	}
	for {
		fmt.Fprint(e.Err, "> ")
		text, ok := readPrompt(lines)
		if !ok {
			fmt.Fprintln(e.Err)
			return nil
		}
		h.add(text)
		switch t := strings.TrimSpace(text); t {
		case "":
			continue
		case "/exit", "/quit":
			return nil
		case "/help":
			fmt.Fprintln(e.Err, "Type what is to be done; end a line with \\ to go on in the next.\n/session says the session's id; /exit ends; Ctrl-C stops what runs.")
			continue
		case "/session":
			fmt.Fprintln(e.Err, a.Session.ID())
			continue
		default:
			if strings.HasPrefix(t, "/") && !strings.Contains(t, " ") && !strings.Contains(t[1:], "/") {
				fmt.Fprintf(e.Err, "There is no command %s: see /help.\n", clean(t))
				continue
			}
		}
		if err := say(llm.Text{Text: text}); err != nil {
			return err
		}
	}
}

func readPrompt(lines <-chan string) (string, bool) {
	var b strings.Builder
	for {
		l, ok := <-lines
		if !ok {
			return b.String(), b.Len() > 0
		}
		rest, more := strings.CutSuffix(l, "\\")
		b.WriteString(rest)
		if !more {
			return b.String(), true
		}
		b.WriteByte('\n')
	}
}

// history keeps what was typed, for other front ends too.
type history struct{ file, last string }

// add appends a line, unless it is blank, begins with a blank, or repeats the
// one before. A file that cannot be written keeps the history of this session
// out of it, and nothing else.
func (h *history) add(text string) {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") || text == h.last || h.file == "" {
		return
	}
	h.last = text
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(strings.ReplaceAll(text, "\n", "\\\n") + "\n")
	_ = f.Close()
}
