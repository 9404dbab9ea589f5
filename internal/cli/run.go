package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

type runFlags struct {
	flags
	output, input string
	json, verbose bool
	prompt        string
	files, images []string
}

func newRun(e Env) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run [prompt]",
		Short: "Do one task and exit",
		Long: "Do one task and exit. The prompt is the argument, standard input, or both.\n" +
			"With --resume ID and no prompt it goes on where the session stands.\n\n" +
			"With --input stream-json the lines of standard input are JSON objects, also while it works:\n" +
			"  {\"type\":\"user\",\"text\":\"…\"}      the prompt, and later a further one\n" +
			"  {\"type\":\"steer\",\"text\":\"…\"}     taken in at the next step\n" +
			"  {\"type\":\"followup\",\"text\":\"…\"}  taken in when the rest is done\n" +
			"  {\"type\":\"answer\",\"id\":\"…\",\"ok\":true,\"reason\":\"…\"}  to the question of that id, in an event of the type asked\n" +
			"      with \"always\":\"session\", \"localSettings\" or \"userSettings\", a yes is also to the rules that it suggests\n" +
			"  {\"type\":\"interrupt\"}            ends the run\n" +
			"A question that no line answers leaves the run waiting: exit code 4.\n\n" +
			"Exit codes: 0 finished; 1 error, refusal, blocked; 2 bad usage or settings; 3 a limit;\n" +
			"4 waiting for an answer; 130 interrupted; 143 terminated.",
		Example: "  cantle run -m demo:offline \"what does this project do?\"\n  git diff | cantle run -m anthropic:claude-opus-4-8 \"review this\"",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), e, args) },
	}
	f.add(c)
	fs := c.Flags()
	form := &form{to: &f.output}
	fs.VarP(form, "output", "o", "text, json or stream-json (default text)")
	fs.Var(form, "output-format", "the same as --output")
	fs.BoolVar(&f.json, "json", false, "the same as --output json")
	fs.Var(&oneOf{to: &f.input, of: []string{"text", "stream-json"}}, "input", "text or stream-json (default text)")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "say on standard error what is done")
	fs.VarP((*given)(&f.prompt), "prompt", "p", "the prompt, as other agents have it")
	fs.Var((*many)(&f.files), "file", "add this file to the prompt (again for more)")
	fs.Var((*many)(&f.images), "image", "add this image to the prompt (again for more)")
	return c
}

func (f *runFlags) run(ctx context.Context, e Env, args []string) error {
	var clash error
	if f.json {
		if f.output != "" && f.output != "json" {
			clash = app.Usage("--json and --output %s contradict each other", f.output)
		}
		f.output = "json"
	}
	out := newOutput(e, f.output, f.verbose)
	text, isText := out.(*textOut)
	// From here on json and stream-json get their closing document, always.
	ctx, stop, ended := e.take(ctx, func(code int) { leave(out, code) })
	defer stop()
	if isText {
		text.unkept = f.noSession
		text.follow(ended)
	}
	res, code, err := (*agent.Result)(nil), ExitUsage, clash
	if clash == nil {
		res, code, err = f.perform(ctx, e, args, out, ended)
	}
	if err != nil {
		code = ExitError
		switch {
		case ended() != nil && ctx.Err() != nil && res == nil: // before there was a run
			code, err = signalCode(ended()), fmt.Errorf("%w: %w", errInterrupted, context.Cause(ctx))
		case errors.Is(err, app.ErrUsage) || isConfig(err):
			code = ExitUsage
		}
	}
	if err := out.close(res, err, code); err != nil {
		return err
	}
	if code != ExitOK {
		return exit(code)
	}
	return nil
}

// errInterrupted is that a signal ended the program.
var errInterrupted = errors.New("interrupted")

// leave closes the output of a program that ends at once, in the moment that a
// reader who does not read is given.
func leave(out output, code int) {
	soon(func() {
		_ = out.close(nil, fmt.Errorf("%w: a second signal ended the program at once", errInterrupted), code)
	})
}

// perform makes all ready and carries the run out. What makes ready may wait for
// something that no context ends, as a pipe that nobody writes to: when the
// context ends, it is left to itself, and the program ends around it.
func (f *runFlags) perform(ctx context.Context, e Env, args []string, out output, ended func() os.Signal) (*agent.Result, int, error) {
	begin := make(chan *beginning, 1)
	var failed error
	go func() {
		defer close(begin)
		b, err := f.begin(ctx, e, args, out)
		if err != nil {
			failed = err
			return
		}
		begin <- b
	}()
	var b *beginning
	select {
	case b = <-begin:
	case <-ctx.Done():
		select {
		case b = <-begin:
		case <-time.After(patience):
			return nil, 0, context.Cause(ctx)
		}
	}
	if b == nil {
		return nil, 0, failed
	}
	defer b.app.Close()
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	return f.carryOut(ctx, b, out, ended)
}

// patience is how long what makes ready may go on when the program is to end.
const patience = time.Second

// beginning is what a run begins with.
type beginning struct {
	app  *app.App
	in   llm.Parts
	ask  agent.AskFunc
	conv *conversation
}

func (f *runFlags) begin(ctx context.Context, e Env, args []string, out output) (*beginning, error) {
	b := &beginning{}
	if f.input == "stream-json" {
		b.conv = newConversation(newSource(e).until(ctx))
	}
	prompt, err := f.read(ctx, e, args, b.conv, out)
	if err != nil {
		return nil, err
	}
	switch {
	case b.conv != nil:
		b.ask = b.conv.ask
	case e.InTTY && e.ErrTTY:
		b.ask = newAsker(e, &f.flags, out, newSource(e)).ask
	}
	if b.app, err = f.open(ctx, e, b.ask); err != nil {
		return nil, err
	}
	for _, n := range b.app.Notes {
		out.note(n)
	}
	if b.in, err = f.attach(prompt, b.app.Info); err != nil {
		return nil, errors.Join(err, b.app.Close())
	}
	return b, nil
}

func (f *runFlags) carryOut(ctx context.Context, b *beginning, out output, ended func() os.Signal) (*agent.Result, int, error) {
	s, in, conv := b.app.Session, b.in, b.conv
	if f.retry {
		var err error
		if in, err = again(ctx, s, in); err != nil {
			return nil, 0, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := conv.unasked(s); err != nil {
		return nil, 0, err
	}
	if waiting := f.waiting(b.ask, conv, out, len(in) > 0); waiting != nil {
		if err := settle(ctx, s, waiting); err != nil {
			return nil, 0, err
		}
	}
	st := b.app.Agent.Stream(ctx, s, in...)
	if conv != nil {
		go conv.follow(ctx, st, stop, out)
	}
	for ev, err := range st.Events() {
		if err != nil {
			return st.Result(), codeOf(st.Result(), ended()), err
		}
		out.event(ev)
	}
	return st.Result(), codeOf(st.Result(), ended()), nil
}

// again goes back to before the session's last run, and returns what that run was
// given, unless there is other input.
func again(ctx context.Context, s *session.Session, in llm.Parts) (llm.Parts, error) {
	was, err := s.Retry(ctx, rand.Text(), time.Now(), "")
	if errors.Is(err, session.ErrNotFound) {
		return nil, app.Usage("--retry: %w", err)
	}
	if len(in) == 0 {
		in = was
	}
	return in, err
}

// codeOf is the exit code for a result.
func codeOf(r *agent.Result, sig os.Signal) int {
	if r == nil {
		return ExitError
	}
	switch r.Stop.Status() {
	case agent.StatusCompleted:
		return ExitOK
	case agent.StatusLimited:
		return ExitLimit
	case agent.StatusPending:
		return ExitPending
	case agent.StatusCancelled:
		switch {
		case r.Stop == agent.StopCancelled:
			return ExitError
		case sig != nil:
			return signalCode(sig)
		}
		return ExitInterrupted
	}
	return ExitError
}

// read puts the prompt together.
func (f *runFlags) read(ctx context.Context, e Env, args []string, conv *conversation, out output) (string, error) {
	var parts []string
	if t := strings.TrimSpace(strings.Join(args, " ")); t != "" {
		parts = append(parts, t)
	}
	if f.prompt != "" {
		parts = append(parts, f.prompt)
	}
	if conv != nil {
		if len(parts) > 0 {
			return strings.Join(parts, "\n\n"), nil
		}
		return conv.first(ctx, f.cont || f.resume != "")
	}
	if !e.InTTY && e.In != nil {
		text, err := readInput(newSource(e).until(ctx), len(parts) > 0 || f.cont || f.resume != "")
		switch {
		case errors.Is(err, errSilent):
			out.note(err.Error())
		case err != nil:
			return "", fmt.Errorf("standard input: %w", err)
		}
		if t := strings.TrimRight(text, "\n"); strings.TrimSpace(t) != "" {
			parts = append(parts, t)
		}
	}
	if len(parts) == 0 && !f.cont && f.resume == "" {
		return "", app.Usage("there is no prompt: give it as an argument or on standard input")
	}
	return strings.Join(parts, "\n\n"), nil
}

// errSilent is that standard input said nothing, and was left.
var errSilent = fmt.Errorf("standard input said nothing for %v and is left out: put < /dev/null behind the command where there is none", moment)

// maxInput bounds what is read from standard input.
const maxInput = 10 << 20

// readInput reads standard input to its end. When the run can do without,
// a pipe that says nothing is not waited for.
func readInput(r io.Reader, optional bool) (string, error) {
	br := bufio.NewReader(io.LimitReader(r, maxInput+1))
	if optional {
		first := make(chan struct{})
		go func() {
			_, _ = br.Peek(1) // what it is, the reading says
			close(first)
		}()
		if !arrives(first) {
			return "", errSilent
		}
	}
	b, err := io.ReadAll(br)
	if len(b) > maxInput {
		return "", fmt.Errorf("more than %d MiB: put it into a file and name that", maxInput>>20)
	}
	return string(b), err
}

// readBounded reads a file, or a pipe such as <(command), of maxInput at most:
// what has no end, as a device, is not read into memory.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxInput>>20)
	}
	return b, err
}

// attach adds files and images to the prompt.
func (f *runFlags) attach(prompt string, info llm.Info) (llm.Parts, error) {
	var in llm.Parts
	if prompt != "" {
		in = append(in, llm.Text{Text: prompt})
	}
	for _, name := range f.files {
		b, err := readBounded(name)
		if err != nil {
			return nil, app.Usage("--file: %w", err)
		}
		if strings.ContainsRune(string(b[:min(len(b), 8192)]), 0) {
			return nil, app.Usage("--file %s: it is not text", name)
		}
		in = append(in, llm.Text{Text: fmt.Sprintf("<file path=%q>\n%s\n</file>", name, strings.ToValidUTF8(string(b), "\uFFFD"))})
	}
	for _, name := range f.images {
		b, err := readBounded(name)
		if err != nil {
			return nil, app.Usage("--image: %w", err)
		}
		mime := http.DetectContentType(b)
		if !strings.HasPrefix(mime, "image/") && mime != "application/pdf" {
			return nil, app.Usage("--image %s: it is %s, not an image", name, mime)
		}
		if strings.HasPrefix(mime, "image/") && !info.Traits.Images {
			return nil, app.Usage("--image: %s takes no images: set models.%q.images in the settings if it does", info.Ref(), info.Ref())
		}
		in = append(in, llm.Blob{MIME: mime, Data: b, Name: filepath.Base(name)})
	}
	return in, nil
}

// jsonLine writes v as one line.
func jsonLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(quiet(b), '\n'))
	return err
}

// quiet is JSON with the characters in its texts escaped that would drive a
// terminal, as encoding/json does with some: it says the same.
func quiet(b []byte) []byte {
	drives := func(r rune) bool {
		return r >= 0x7F && r < 0xA0 || r == utf8.RuneError || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
	}
	if bytes.IndexFunc(b, drives) < 0 {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if drives(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}
