package cli

// These are parts that a command shows only in pieces.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// TestExitCodes has every reason to stop, and the exit code that scripts see.
func TestExitCodes(t *testing.T) {
	for code, stops := range map[int][]agent.Stop{
		ExitOK:    {agent.StopFinished, agent.StopCompleted},
		ExitError: {agent.StopRejected, agent.StopCancelled, agent.StopBlocked, agent.StopRefused, agent.StopFiltered, agent.StopOverflow, agent.StopCompaction, agent.StopError, "of a later version"},
		ExitLimit: {
			agent.StopEmpty, agent.StopMaxTokens, agent.StopTurns, agent.StopTokens, agent.StopMoney, agent.StopTime, agent.StopCalls,
			agent.StopErrors, agent.StopNoFinish, agent.StopRepeated, agent.StopSchema, agent.StopNoUsage,
		},
		ExitPending:     {agent.StopPending},
		ExitInterrupted: {agent.StopInterrupted},
	} {
		for _, s := range stops {
			if got := codeOf(&agent.Result{Stop: s}, nil); got != code {
				t.Errorf("%s: %d, not %d", s, got, code)
			}
		}
	}
	for sig, code := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 143} {
		if got := codeOf(&agent.Result{Stop: agent.StopInterrupted}, sig); got != code {
			t.Errorf("%v: %d", sig, got)
		}
		if got := codeOf(&agent.Result{Stop: agent.StopFinished}, sig); got != ExitOK {
			t.Errorf("%v after the end: %d", sig, got)
		}
	}
	if codeOf(nil, nil) != ExitError {
		t.Error("no result is no success")
	}
}

// TestAdvice: each kind of error says what to do, and keeps what happened.
func TestAdvice(t *testing.T) {
	for kind, want := range map[llm.Kind]string{
		llm.KindAuth: "doctor", llm.KindPermission: "another", llm.KindNotFound: "cantle models", llm.KindContextOverflow: "new session",
		llm.KindTooLarge: "leave files", llm.KindRateLimit: "--continue", llm.KindQuota: "credit", llm.KindOverloaded: "later",
		llm.KindServer: "later", llm.KindNetwork: "proxy", llm.KindStalled: "--continue", llm.KindTruncated: "--continue",
		llm.KindStream: "--continue", llm.KindCorrupt: "--continue", llm.KindContentFilter: "otherwise",
	} {
		err := fmt.Errorf("outer: %w", &llm.Error{Kind: kind, Provider: "prov", Model: "mod", Message: "what happened"})
		if got := advise(err); !strings.HasPrefix(got, err.Error()+"\n  ") || !strings.Contains(got, want) || !strings.Contains(got, "prov:mod") {
			t.Errorf("%s: %q", kind, got)
		}
	}
	of := func(e llm.Error) string {
		e.Provider, e.Model = "prov", "mod"
		return advise(&e)
	}
	if got := of(llm.Error{Kind: llm.KindNotFound, Message: "no such path"}); !strings.Contains(got, "providers.prov.baseUrl") || !strings.Contains(got, "model's name") {
		t.Errorf("%q", got)
	}
	if got := of(llm.Error{Kind: llm.KindNotFound, Message: "answered with a web page: check the base URL"}); !strings.Contains(got, "providers.prov.baseUrl") || strings.Contains(got, "model's name") {
		t.Errorf("%q", got)
	}
	if got := of(llm.Error{Kind: llm.KindAuth, NoKey: true}); !strings.Contains(got, "providers.prov.apiKeyEnv") || !strings.Contains(got, "cantle login prov") {
		t.Errorf("%q", got)
	}
	if got := advise(&session.LockedError{Session: "s"}); !strings.Contains(got, "--fork") {
		t.Errorf("%q", got)
	}
	if got := advise(&session.CorruptError{Session: "s7", Err: io.ErrUnexpectedEOF}); !strings.Contains(got, "cantle sessions salvage s7") {
		t.Errorf("%q", got)
	}
	if err := errors.New("anything"); advise(err) != err.Error() {
		t.Errorf("%q", advise(err))
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä 漢 🙂\n\tx":           "plain ä 漢 🙂\n\tx",
		"a\x1b[2Kb\r\x00\x7f":        "a<U+001B>[2Kb<U+000D><U+0000><U+007F>",
		"\u009b31m":                  "<U+009B>31m",
		"\u202ecba\u2066\u200b":      "<U+202E>cba<U+2066><U+200B>",
		"a\u00a0b\u3000\u2028":       "a<U+00A0>b<U+3000><U+2028>",
		"bad \xff\xc3":               "bad <0xFF><0xC3>",
		"tag \U000e0041\ufe0f\u3164": "tag <U+E0041><U+FE0F><U+3164>",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
	if got := oneLine("a\nb\tc"); got != "a⏎b<U+0009>c" {
		t.Errorf("%q", got)
	}
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	h := openHistory(file)
	for _, l := range []string{"one", "two\nlines \\", "one", "one", " secret", "", "  ", strings.Repeat("x", maxHistoryLine+1)} {
		h.add(l)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	h = openHistory(file)
	if got := fmt.Sprintf("%q", h.lines); got != `["two\nlines \\" "one"]` {
		t.Errorf("%s", got)
	}
	for i := range 3 * maxHistory {
		h.add(fmt.Sprint("line ", i))
	}
	if len(h.lines) != maxHistory {
		t.Errorf("%d lines", len(h.lines))
	}
	if h = openHistory(file); len(h.lines) != maxHistory || h.lines[maxHistory-1] != fmt.Sprint("line ", 3*maxHistory-1) {
		t.Errorf("%d lines, the last %q", len(h.lines), h.lines[len(h.lines)-1])
	}
	if b, err := os.ReadFile(file); err != nil || strings.Count(string(b), "\n") != maxHistory {
		t.Errorf("the file has %d lines, %v", strings.Count(string(b), "\n"), err)
	}
	// What is no history is left alone.
	if h := openHistory(t.TempDir()); h.file != "" {
		t.Error("a folder is no history")
	}
}

// TestKeys: what reaches the editor of what is typed and pasted, however it is
// cut into pieces.
func TestKeys(t *testing.T) {
	nl, tab := string(insideLine), string(insideTab)
	for in, want := range map[string]string{
		"abc\r":                                 "abc\r",
		"a\tb\x1b[A":                            "ab\x1b[A",
		"a\x1b[200~x\r\ny\nz\tä\x03\x1b[201~\r": "a" + pasteStart + "x" + nl + "y" + nl + "z" + tab + "ä" + pasteEnd + "\r",
		"\x1b[200~x\r\x1b[201~":                 pasteStart + "x" + nl + pasteEnd,
		"\x1b[200~\x1b[31mx\x1b[201~":           pasteStart + "[31mx" + pasteEnd,
		"ab\x03cd":                              "ab" + clearKeys + "cd",
	} {
		for size := 1; size <= len(in); size++ {
			k := &keys{src: &source{r: pieces(in, size)}, ctx: t.Context()}
			got, err := io.ReadAll(k)
			if string(got) != want || err != nil {
				t.Errorf("%q by %d: %q, not %q (%v)", in, size, got, want, err)
			}
		}
	}
	for _, in := range []string{"\x03\x03", "ab\x03\x03c"} {
		k := &keys{src: &source{r: strings.NewReader(in)}, ctx: t.Context()}
		if _, err := io.ReadAll(k); !errors.Is(err, errQuit) {
			t.Errorf("%q: %v", in, err)
		}
	}
	if b := []byte("\x03a\x03"); true {
		k := &keys{src: &source{r: strings.NewReader(string(b))}, ctx: t.Context()}
		if _, err := io.ReadAll(k); err != nil {
			t.Errorf("Ctrl-C twice with a key between: %v", err)
		}
	}
}

type piecemeal struct {
	s    string
	size int
}

func pieces(s string, size int) io.Reader { return &piecemeal{s, size} }

func (p *piecemeal) Read(b []byte) (int, error) {
	if p.s == "" {
		return 0, io.EOF
	}
	n := copy(b, p.s[:min(p.size, len(p.s))])
	p.s = p.s[n:]
	return n, nil
}

func TestSourceGivesUpWithoutLoss(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	s := &source{r: r}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := s.line(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	go func() { _, _ = io.WriteString(w, "one\r\ntwo"); _ = w.Close() }()
	for _, want := range []string{"one", "two"} {
		if l, err := s.line(t.Context()); l != want || err != nil {
			t.Errorf("%q, %v", l, err)
		}
	}
	if _, err := s.line(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

func TestTurnLine(t *testing.T) {
	money := llm.Money(12_300_000_000)
	r := &agent.Result{Turns: 3, Calls: 2, Cost: &money, Duration: 8_200_000_000}
	r.Usage.Usage = llm.Usage{Input: 2200, CacheRead: 1900, Output: 612}
	if got, want := turnLine(r), "— 3 steps · 2 tools · 4.1k in / 612 out (1.9k cached) · $0.0123 · 8.2s"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	r.Usage.CacheRead, r.Cost = 0, nil
	if got, want := turnLine(r), "— 3 steps · 2 tools · 2.2k in / 612 out · cost n/a · 8.2s"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestALongDiffIsShownInFullWhenAskedFor(t *testing.T) {
	var diff, errs strings.Builder
	for i := range maxPreview + 50 {
		fmt.Fprintf(&diff, "+line %d.\n", i)
	}
	q := &agent.Question{Kind: "approve", Call: &agent.QuestionCall{Name: "Write", Preview: &tool.Preview{Title: "a.txt", Diff: diff.String()}}}
	e := Env{Getenv: os.Getenv, Streams: Streams{In: strings.NewReader("d\ny\n"), Err: &errs}}
	a := newAsker(e, &flags{}, &jsonOut{}, newSource(e))
	ans, err := a.ask(t.Context(), nil, q)
	if err != nil || !ans.OK {
		t.Fatalf("%v, %v", ans, err)
	}
	first, rest, ok := strings.Cut(errs.String(), "Allow?")
	if !ok || !strings.Contains(first, "… 50 more lines") || strings.Contains(first, "line 89.") || !strings.Contains(rest, "line 89.") {
		t.Errorf("%q … %q", first[max(0, len(first)-200):], rest[max(0, len(rest)-200):])
	}
	// A question of an ask rule has no always.
	q.Data = []byte(`{"reason":"the rule \"Write\" asks","firm":true}`)
	errs.Reset()
	e.In = strings.NewReader("a\nuse the other file\n")
	ans, err = newAsker(e, &flags{}, &jsonOut{}, newSource(e)).ask(t.Context(), nil, q)
	if err != nil || ans.OK || ans.Reason != "the user said: use the other file" || !strings.Contains(errs.String(), "asked each time") || !strings.Contains(errs.String(), `the rule "Write" asks`) {
		t.Errorf("%+v, %v: %s", ans, err, errs.String()[max(0, errs.Len()-300):])
	}
	// The end of the input is no answer.
	e.In = strings.NewReader("")
	if _, err := newAsker(e, &flags{}, &jsonOut{}, newSource(e)).ask(t.Context(), nil, q); !errors.Is(err, agent.ErrPending) {
		t.Errorf("%v", err)
	}
}

func TestWantsDocument(t *testing.T) {
	for args, want := range map[string]bool{
		"--json": true, "-o json": true, "-ojson": true, "-o=json": true, "-yvojson": true, "-yo stream-json": true,
		"--output=json": true, "--output json": true, "--output-format stream-json": true, "--json -o xml": true, "-o xml --json": true,
		"": false, "-o text": false, "-o": false, "--output": false, "-- --json": false, "-m json": false, "json": false, "--nope json": false,
	} {
		if got := wantsDocument(strings.Fields(args)); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}

// TestNothingIsDrawnOverAQuestion: while one is open, what other agents do
// starts no spinner.
func TestNothingIsDrawnOverAQuestion(t *testing.T) {
	o := &textOut{e: Env{Streams: Streams{Out: io.Discard, Err: io.Discard, OutTTY: true, ErrTTY: true}}, live: true, chatty: true}
	defer o.pause()
	for i, c := range []struct {
		data  agent.EventData
		spins bool
	}{
		{agent.TurnStarted{}, true},
		{agent.ThinkingDelta{Text: "hm"}, true},
		{agent.TextDelta{Text: "so"}, false},
		{agent.ToolStarted{}, true},
		{agent.Asked{}, false},
		{agent.ToolProgress{}, false},
		{agent.Asked{}, false},
		{agent.Answered{}, false},
		{agent.Answered{}, true},
		{agent.ToolFinished{}, false},
	} {
		o.event(agent.Event{Data: c.data})
		if (o.spin != nil) != c.spins {
			t.Errorf("%d: after %T it spins: %v", i, c.data, !c.spins)
		}
	}
}

// TestWhatWasAllowedInTheUsersPlaceIsTold: what a reviewer has allowed, and nothing
// of what rules or the user have.
func TestWhatWasAllowedInTheUsersPlaceIsTold(t *testing.T) {
	var errs strings.Builder
	o := &textOut{e: Env{Streams: Streams{Out: io.Discard, Err: &errs}}, chatty: true}
	call := llm.ToolCall{Name: "Bash", Input: []byte(`{"command":"ls"}`)}
	for _, by := range []string{agent.ByRule, agent.ByUser, agent.ByReviewer} {
		o.event(agent.Event{Data: agent.ToolStarted{Call: call, Decision: &agent.Decision{By: by, Reason: "allowed by the " + by + ": it only\x1b[2K reads"}}})
	}
	o.event(agent.Event{Data: agent.ToolStarted{Call: call}})
	if got, want := errs.String(), "… Bash({\"command\":\"ls\"}): allowed by the reviewer: it only[2K reads\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestASignalFromTheFirstMoment: it is not lost that comes before the command is
// known, and the closing document is written.
func TestASignalFromTheFirstMoment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals are those of POSIX")
	}
	for _, args := range []string{"", "sessions list --json", "run go", "run -o text go"} {
		if s := earlySignals(t.Context(), Env{}, strings.Fields(args)); s != nil {
			s.stop()
			t.Errorf("%q needs none", args)
		}
	}
	var out, errs bytes.Buffer
	home := t.TempDir()
	e := Env{
		Streams: Streams{In: strings.NewReader(""), Out: &out, Err: &errs},
		Getenv:  func(k string) string { return map[string]string{"CANTLE_HOME": home}[k] }, Dir: t.TempDir(), User: home,
	}
	args := []string{"run", "-m", "demo:offline", "--json", "go"}
	e.early = earlySignals(t.Context(), e, args)
	defer e.early.stop()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGTERM)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-e.early.ctx.Done()
	code := e.main(t.Context(), args)
	var doc Document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || code != ExitTerminated || doc.Status != "cancelled" || doc.ExitCode != code {
		t.Errorf("exit %d, %v, %s%s", code, err, out.String(), errs.String())
	}
}
