package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
)

// plain is a conversation line by line.
type plain struct {
	e    Env
	f    *flags
	out  *textOut
	ask  *asker
	line prompter
	a    *app.App
	// ended tells the signal that ends the talk.
	ended func() os.Signal
	// between has the Ctrl-C that came while there was neither a run nor a
	// prompt to take it.
	between chan os.Signal
}

// plainLoop talks until the input ends. A line that ends in a backslash goes
// on in the next.
func plainLoop(ctx context.Context, e Env, f *flags) error {
	out := &textOut{e: e, live: true, chatty: true, talk: true, unkept: f.noSession}
	src := newSource(e)
	p := &plain{e: e, f: f, out: out, ask: newAsker(e, f, out, src)}
	if e.InTTY && e.ErrTTY {
		ctx, stop, ended := p.e.notify(ctx, nil, interrupts...)
		err := p.ask.askTrust(ctx, f)
		stop()
		switch {
		case ended() != nil:
			return exit(signalCode(ended()))
		case err != nil:
			return err
		}
	}
	var err error
	if p.a, err = f.open(ctx, e, p.ask.ask); err != nil {
		return err
	}
	defer p.a.Close()
	for _, n := range p.a.Notes {
		out.note(n)
	}
	h := &history{}
	if home, err := e.home(); err == nil {
		h = openHistory(filepath.Join(home, "history"))
	}
	p.line = newPrompter(e, src, h)
	defer p.line.close()
	// The terminal must not stay as the editor has it.
	ctx, stop, ended := p.e.notify(ctx, p.leave, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p.ended = ended
	// Ctrl-C is for the run or the prompt, also in the moments between them.
	if !signal.Ignored(os.Interrupt) {
		p.between = make(chan os.Signal, 1)
		signal.Notify(p.between, os.Interrupt)
		defer signal.Stop(p.between)
	}
	e.tell(fmt.Sprintf("Cantle, with %s. /help says what can be typed; /exit ends.", clean(p.a.Info.Ref())))
	if p.a.Info.Traits.StandIn {
		e.tell(standIn)
	}
	if f.retry {
		in, err := again(ctx, p.a.Session, nil)
		if err == nil {
			err = p.say(ctx, in...)
		}
		if err != nil {
			return err
		}
	} else if len(p.a.Session.Pending()) > 0 { // an earlier run ended on questions
		if err := p.say(ctx); err != nil {
			return err
		}
	}
	for {
		text, err := p.read(ctx)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errQuit):
			return p.unanswered()
		case err != nil:
			return err
		}
		h.add(text)
		in, done := p.command(text)
		if done {
			return p.unanswered()
		}
		if len(in) == 0 && len(p.a.Session.Pending()) == 0 {
			continue
		}
		if err := p.say(ctx, in...); err != nil {
			return err
		}
	}
}

// unanswered is how a talk ends in which questions may wait: without a terminal, nobody
// has seen them.
func (p *plain) unanswered() error {
	n := len(p.a.Session.Pending())
	if n > 0 && !p.f.noSession {
		p.e.tell(fmt.Sprintf("cantle: %d question(s) wait for an answer: %s", n, toAnswer(p.a.Session.ID())))
	}
	if n == 0 || p.e.InTTY {
		return nil
	}
	return exit(ExitPending)
}

// missed takes the Ctrl-C that nothing has taken, and reports whether there was
// one. What has taken its own calls it before it gives the signal back.
func (p *plain) missed() bool {
	select {
	case <-p.between: // nil has none
		return true
	default:
		return false
	}
}

// leave gives the terminal back where the program ends at once.
func (p *plain) leave(int) { p.line.close() }

// command does what a line that is no prompt asks for.
func (p *plain) command(text string) (in llm.Parts, done bool) {
	t := strings.TrimSpace(text)
	switch t {
	case "":
	case "/exit", "/quit":
		done = true
	case "/help":
		p.e.tell("Type what is to be done; end a line with \\ to go on in the next.\n" +
			"/model says which model answers, and /model provider:model has another one answer from now on.\n" +
			"/session says the session's id; /exit or Ctrl-D ends; Ctrl-C stops what runs, or clears the line.")
	case "/session":
		fmt.Fprintln(p.e.Err, p.a.Session.ID())
	default:
		if rest, ok := strings.CutPrefix(t, "/model"); ok && (rest == "" || strings.ContainsAny(rest[:1], " \t")) {
			p.model(strings.TrimSpace(rest))
			break
		}
		if strings.HasPrefix(t, "/") && !strings.ContainsAny(t, " \n") && !strings.Contains(t[1:], "/") {
			near := ""
			if n := catalog.Nearest(t[1:], slashCommands, 1); len(n) > 0 {
				near = "did you mean /" + n[0] + "? Else "
			}
			p.e.tell(fmt.Sprintf("There is no command %s: %ssee /help.", clean(t), near))
			break
		}
		in = llm.Parts{llm.Text{Text: text}}
	}
	return in, done
}

var slashCommands = []string{"exit", "quit", "help", "session", "model"}

// model has another model answer, or says which one does.
func (p *plain) model(ref string) {
	if ref == "" {
		p.e.tell(fmt.Sprintf("%s answers.", clean(p.a.Info.Ref())))
		return
	}
	if err := p.a.SetModel(ref); err != nil {
		p.e.tell(fmt.Sprintf("cantle: %s\n%s goes on to answer.", clean(adviseAlways(err)), clean(p.a.Info.Ref())))
		return
	}
	p.e.tell(fmt.Sprintf("Now with %s.", clean(p.a.Info.Ref())))
	if p.a.Info.Traits.StandIn {
		p.e.tell(standIn)
	}
	for _, n := range append(slices.Clip(p.a.Notes), effortNote(p.f.wanted, p.a.Info)...) {
		p.out.note(n)
	}
}

const standIn = "This is a stand-in, not a language model."

// say runs one prompt, or with none the calls whose questions wait. An error
// of the run is told and the talk goes on; what it returns ends the talk.
func (p *plain) say(ctx context.Context, in ...llm.Part) error {
	ctx, stop, broken := p.e.notify(ctx, p.leave, os.Interrupt)
	p.out.follow(broken)
	defer func() {
		p.missed()
		stop()
	}()
	if len(in) == 0 {
		if err := settle(ctx, p.a.Session, p.ask.ask); err != nil {
			return err
		}
	}
	st := p.a.Agent.Stream(ctx, p.a.Session, in...)
	var failed error
	for ev, err := range st.Events() {
		if err != nil {
			failed = err
			break
		}
		p.out.event(ev)
	}
	res := st.Result()
	var back []string
	if res != nil && res.Stop == agent.StopInterrupted {
		for _, q := range st.Unqueue() {
			if t := strings.TrimSpace(q.Parts.Text()); t != "" {
				back = append(back, t)
			}
		}
	}
	if err := p.out.close(res, failed, codeOf(res, p.ended())); err != nil {
		return err
	}
	p.out.shown.Reset()
	if len(back) > 0 { // what waited and was not sent is the user's again
		p.line.offer(strings.Join(back, "\n"))
	}
	return nil
}

// read reads a prompt.
func (p *plain) read(ctx context.Context) (string, error) {
	p.ask.over()
	var b strings.Builder
	for {
		prompt := "> "
		if b.Len() > 0 {
			prompt = "… "
		}
		rctx, stop, broken := p.e.notify(ctx, p.leave, os.Interrupt)
		l, err := "", context.Canceled
		missed := p.missed()
		if !missed {
			l, err = p.line.read(rctx, prompt)
			p.missed()
		}
		stop()
		broke := missed || broken() != nil
		switch {
		case p.ended() != nil:
			return "", exit(ExitTerminated)
		case err != nil && broke && !p.e.InTTY:
			return "", exit(ExitInterrupted)
		case err != nil && broke && p.line.interrupt():
			return "", errQuit
		case errors.Is(err, errCleared), err != nil && broke:
			p.e.tell("Ctrl-C again ends, as Ctrl-D does.")
			b.Reset()
			continue
		case errors.Is(err, io.EOF) && b.Len() > 0:
			return b.String(), nil
		case errors.Is(err, io.EOF):
			if !p.e.InTTY {
				fmt.Fprintln(p.e.Err)
			}
			return "", err
		case err != nil:
			return "", err
		}
		rest, more := strings.CutSuffix(l, "\\")
		b.WriteString(rest)
		if !more {
			return b.String(), nil
		}
		b.WriteByte('\n')
	}
}
