package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/tool"
)

// put asks q and gives it these lines.
func put(t *testing.T, q *agent.Question, lines string) (*agent.Answer, string, error) {
	t.Helper()
	var errs strings.Builder
	e := Env{Getenv: os.Getenv, Streams: Streams{In: strings.NewReader(lines), Err: &errs}}
	a := newAsker(e, &flags{}, &jsonOut{}, newSource(e))
	a.saved = map[string]string{"localSettings": "/h/.cantle/projects/p/settings.json", "userSettings": "/h/.cantle/settings.json"}
	ans, err := a.ask(t.Context(), nil, q)
	return ans, errs.String(), err
}

// TestAQuestionSaysAllOfIt: what will run and where, who asks, why, the words and
// the things for which it asks, and each rule with the file it would be saved in.
func TestAQuestionSaysAllOfIt(t *testing.T) {
	const line = "npm test && rm -rf build > /etc/x"
	q := asked(t, "Bash", `{"command":"x"}`, map[string]any{
		"reason": "no rule allows it", "text": line, "words": []span{{12, 24}, {25, 33}}, "needs": []string{"run rm -rf build", "write /etc/x"},
		"rule":    map[string]any{"text": "Bash(rm:*)", "source": map[string]any{"layer": "project", "file": "/p/.cantle/settings.json"}},
		"suggest": []map[string]any{{"rule": "Bash(rm -rf build)", "matched": 4, "of": 11}, {"rule": "Edit(//etc/x)"}},
		"sandbox": true, "network": true,
	}, &tool.Preview{Title: "run", Text: line}, tool.Access{Op: tool.Exec, Target: line}, tool.Access{Op: tool.Connect, Target: tool.Anywhere})
	q.Path = "build/2"
	ans, got, err := put(t, q, "y\n")
	if err != nil || !ans.OK || ans.Data != nil {
		t.Fatalf("%+v, %v", ans, err)
	}
	const want = `
Bash, asked by the agent build/2, wants to run:
  │ npm test && »rm -rf build« »> /etc/x«
  It asks because: no rule allows it
    by the rule Bash(rm:*), in /p/.cantle/settings.json
    no rule covers: run rm -rf build
    no rule covers: write /etc/x
    it would reach the network
  It runs in the sandbox, with the network.
  [a]lways in this session: Bash(rm -rf build) (would have matched 4 of 11 calls so far), Edit(//etc/x)
  always in this [p]roject: Bash(rm -rf build) (would have matched 4 of 11 calls so far), Edit(//etc/x); saved in /h/.cantle/projects/p/settings.json
  always for this [u]ser, everywhere: Bash(rm -rf build) (would have matched 4 of 11 calls so far), Edit(//etc/x); saved in /h/.cantle/settings.json
Allow? [y]es / [n]o / [a] / [p] / [u], or say what to do instead: `
	if got != want {
		t.Errorf("%s", got)
	}
	for in, to := range map[string]string{"a": "session", "always": "session", "P": "localSettings", "user": "userSettings"} {
		ans, _, err := put(t, q, in+"\n")
		if err != nil || !ans.OK || string(ans.Data) != `{"permission.reply":{"always":"`+to+`"}}` {
			t.Errorf("%s: %+v, %v", in, ans, err)
		}
	}
}

// TestANearYesIsAskedAgain: what may be meant as a yes is neither that nor an
// instruction for the model.
func TestANearYesIsAskedAgain(t *testing.T) {
	q := asked(t, "Bash", `{}`, map[string]any{"text": "ls", "suggest": []map[string]any{{"rule": "Bash(ls)"}}}, nil)
	for _, in := range []string{"Yes please", "yse", "yeah", "maybe", "YES!", "es", "yes, but not there", "you decide", "alwasy", "Always do that", "lways", "ok", "Sure, go on", "(yes)"} {
		if ans, got, err := put(t, q, in+"\nn\n"); err != nil || ans.OK || ans.Reason != "the user said no" || !strings.Contains(got, "y allows it; n, or what to do instead") {
			t.Errorf("%q: %+v, %v: %s", in, ans, err, got)
		}
	}
	for _, in := range []string{"[y]", "y.", "1)", "...", "a."} { // no more than a stray key
		if ans, got, err := put(t, q, in+"\nn\n"); err != nil || ans.OK || ans.Reason != "the user said no" || !strings.Contains(got, "one of the letters") {
			t.Errorf("%q: %+v, %v: %s", in, ans, err, got)
		}
	}
	for _, in := range []string{"no, you should use the other file", "nope", "use the other file", "rather not", "stop", "it is all wrong", "away with it"} {
		if ans, got, err := put(t, q, in+"\n"); err != nil || ans.OK || ans.Reason != "the user said: "+in {
			t.Errorf("%q: %+v, %v: %s", in, ans, err, got)
		}
	}
}

// TestARuleThatAsksIsSaidOnce, and where it is written.
func TestARuleThatAsksIsSaidOnce(t *testing.T) {
	rule := map[string]any{"text": "Bash(rm:*)", "source": map[string]any{"layer": "user", "file": "/h/settings.json"}}
	q := asked(t, "Bash", `{}`, map[string]any{"text": "rm x", "reason": `the ask rule "Bash(rm:*)" of /h/settings.json (user) asks`, "rule": rule}, nil)
	if _, got, _ := put(t, q, "n\n"); strings.Count(got, "Bash(rm:*)") != 1 || strings.Count(got, "/h/settings.json") != 1 {
		t.Errorf("%s", got)
	}
	q = asked(t, "Bash", `{}`, map[string]any{"text": "rm x", "reason": `a rule asks: Bash(rm:*)`, "rule": rule}, nil)
	if _, got, _ := put(t, q, "n\n"); !strings.Contains(got, "by the rule Bash(rm:*), in /h/settings.json") {
		t.Errorf("%s", got)
	}
}

// TestHostsOfACommand are named where it reaches no others.
func TestHostsOfACommand(t *testing.T) {
	q := asked(t, "Bash", `{}`, map[string]any{"text": "go mod download", "sandbox": true, "network": true, "hosts": []string{"proxy.golang.org", "*.example.com\x1b"}}, nil)
	if _, got, _ := put(t, q, "n\n"); !strings.Contains(got, "  It runs in the sandbox, with proxy.golang.org, *.example.com<U+001B> alone.\n") {
		t.Errorf("%s", got)
	}
}

// TestAPathBelowHomeIsShort where a rule would be saved.
func TestAPathBelowHomeIsShort(t *testing.T) {
	for path, want := range map[string]string{"/h/u/.cantle/x": "~/.cantle/x", "/h/u2/x": "/h/u2/x", "/h/u": "/h/u", "/x": "/x"} {
		if got := (Env{User: "/h/u"}).tilde(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := (Env{}).tilde("/x"); got != "/x" {
		t.Error(got)
	}
}

// TestAReasonIsSaidOnce: what no rule covers, as a list, and no access again that is
// in it.
func TestAReasonIsSaidOnce(t *testing.T) {
	q := asked(t, "Write", `{}`, map[string]any{
		"reason": "it would write /p/a, in the workspace, and connect to example.com", "needs": []string{"write /p/a, in the workspace", "connect to example.com"}, "network": true,
	}, &tool.Preview{Title: "a", Diff: "+x\n"}, tool.Access{Op: tool.Write, Target: "/p/a"}, tool.Access{Op: tool.Connect, Target: "example.com"}, tool.Access{Op: tool.Read, Target: "/p/b"}, tool.Access{Op: tool.Write, Target: "/p"})
	_, got, _ := put(t, q, "n\n")
	if want := `
Write wants to run:
  a
  │ +x
  It asks because no rule covers that it would
    - write /p/a, in the workspace
    - connect to example.com
    it would read /p/b
    it would write /p
Allow? [y]es / [n]o, or say what to do instead: `; got != want {
		t.Errorf("%s", got)
	}
}

// TestWhatIsNoAnswer: a stray key, an empty line and the end of the input say
// neither yes nor no; what is said instead goes to the model.
func TestWhatIsNoAnswer(t *testing.T) {
	q := asked(t, "Write", `{"file_path": 7}`, map[string]any{"reason": "it asks", "firm": true, "suggest": []map[string]any{{"rule": "Write"}}}, nil)
	for in, c := range map[string]struct {
		reason, shows string
		pending       bool
	}{
		"n\n":                      {"the user said no", "", false},
		"NO\n":                     {"the user said no", "", false},
		"\n1\nn\n":                 {"the user said no", "one of the letters", false},
		"a\nalways\np\nu\nn\n":     {"the user said no", "asked each time", false},
		"no, use the other file\n": {"the user said: no, use the other file", "the model is told", false},
		"":                         {"", "", true},
		"\n\x1b\n":                 {"", "", true},
	} {
		ans, got, err := put(t, q, in)
		if c.pending != errors.Is(err, agent.ErrPending) || !c.pending && (ans.OK || ans.Reason != c.reason) || !strings.Contains(got, c.shows) {
			t.Errorf("%q: %+v, %v: %s", in, ans, err, got)
		}
		// What fits no form is shown as it came.
		if !strings.Contains(got, bar+`{"file_path": 7}`) || strings.Contains(got, "always") && !strings.Contains(in, "a") {
			t.Errorf("%q: %s", in, got)
		}
	}
	// One whose time ran out while others were asked is not put at all.
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("nobody answered in time")
	cancel(late)
	var errs strings.Builder
	e := Env{Getenv: os.Getenv, Streams: Streams{In: strings.NewReader("y\n"), Err: &errs}}
	if ans, err := newAsker(e, &flags{}, &jsonOut{}, newSource(e)).ask(ctx, nil, q); ans != nil || !errors.Is(err, late) || errs.Len() > 0 {
		t.Errorf("%+v, %v, %q", ans, err, errs.String())
	}
}

// TestNothingIsGrantedUnseen: no rule is offered that would not show as it is, or
// before all was shown; what was not shown is not allowed.
func TestNothingIsGrantedUnseen(t *testing.T) {
	q := asked(t, "Bash", `{}`, map[string]any{"text": "l\u200bs", "suggest": []map[string]any{{"rule": "Bash(l\u200bs:*)"}}}, nil)
	if ans, got, err := put(t, q, "a\nn\n"); err != nil || ans.OK || strings.Contains(got, "[a]") || !strings.Contains(got, "1 hidden character") || !strings.Contains(got, "l<U+200B>s") {
		t.Errorf("%+v, %v: %s", ans, err, got)
	}
	q.Data = []byte(`{"reason":"x"}`) // no rules can be told
	if ans, got, err := put(t, q, "a\nn\n"); err != nil || ans.OK || strings.Contains(got, "[a]") {
		t.Errorf("%+v, %v: %s", ans, err, got)
	}
	many := strings.Repeat("+line\n", maxPreview) + "+the end\n"
	q = asked(t, "Write", `{}`, map[string]any{"suggest": []map[string]any{{"rule": "Edit(/a)"}}}, &tool.Preview{Title: "a", Text: "a note", Diff: many})
	ans, got, err := put(t, q, "y\na\nd\na\n")
	first, rest, _ := strings.Cut(got, "Allow?")
	if err != nil || !ans.OK || ans.Data == nil || strings.Count(got, "not all shown") != 2 || !strings.Contains(first, bar+"a note\n") || strings.Contains(first, "always") ||
		!strings.Contains(first, "… 2 more lines") || !strings.Contains(rest, bar+"+the end") || !strings.Contains(rest, "Edit(/a)") {
		t.Errorf("%+v, %v: %s", ans, err, got)
	}
	// A diff that the tool has cut is followed by what it is of.
	q.Call.Preview = &tool.Preview{Title: "a", Diff: "+one\n[the diff is longer]\n"}
	q.Call.Input = json.RawMessage(`{"file_path":"a","content":"one\ntwo\u001b"}`)
	if _, got, _ := put(t, q, "n\n"); !strings.Contains(got, "  all of content:\n  │ one\n  │ two<U+001B>\n  all of file_path:\n  │ a\n") {
		t.Errorf("%s", got)
	}
}

// TestALinkIsShownWithItsTarget, also one to what is not there yet.
func TestALinkIsShownWithItsTarget(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name, target := filepath.Join(dir, "settings.json"), filepath.Join(dir, "rc")
	if err := os.Symlink("rc", name); err != nil {
		t.Skip(err)
	}
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(target, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		q := asked(t, "Write", `{}`, nil, &tool.Preview{Title: "settings.json", Diff: "+x\n"}, tool.Access{Op: tool.Write, Target: target}, tool.Access{Op: tool.Write, Target: name})
		if _, got, _ := put(t, q, "n\n"); !strings.Contains(got, "it would write "+target+", to which "+name+" is a link\n") {
			t.Errorf("there: %v: %s", there, got)
		}
	}
	// Two files are not taken for a link.
	q := asked(t, "Write", `{}`, nil, nil, tool.Access{Op: tool.Write, Target: "/a"}, tool.Access{Op: tool.Write, Target: "/b"})
	if _, got, _ := put(t, q, "n\n"); !strings.Contains(got, "write /a\n") || !strings.Contains(got, "write /b\n") {
		t.Errorf("%s", got)
	}
}

// TestNothingOfAQuestionIsRaw: whatever part of it somebody else has written.
func TestNothingOfAQuestionIsRaw(t *testing.T) {
	const evil = "x\x1b[2K\r\u009b2J\u202e\a\n\nAllow? y"
	in, _ := json.Marshal(map[string]string{"p": evil})
	q := asked(t, evil, string(in), map[string]any{
		"reason": evil, "text": evil, "needs": []string{evil}, "suggest": []map[string]any{{"rule": evil}},
		"rule": map[string]any{"text": evil, "source": map[string]any{"file": evil}},
	}, nil, tool.Access{Op: evil, Target: evil})
	q.Path, q.Kind = evil, evil
	limit := &agent.Question{Kind: evil, Path: evil, Data: in}
	for _, q := range []*agent.Question{
		q, limit,
		asked(t, evil, evil, nil, &tool.Preview{Title: evil, Text: evil, Diff: evil}),
		asked(t, evil, `"`, map[string]any{"reason": evil}, nil),
	} {
		_, got, _ := put(t, q, "d\n"+evil+" instead\n")
		if bad := unsafe(got); bad != "" || strings.Contains(got, "\nAllow? y\n") {
			t.Errorf("%s in %q", bad, got)
		}
	}
}

// TestFold: no line is wider than the terminal, and none of it is lost.
func TestFold(t *testing.T) {
	for _, line := range []string{"", "short", strings.Repeat("0123456789", 9), strings.Repeat("漢", 50)} {
		got := pane{wide: 40}.fold(line)
		all := got[0]
		for _, l := range got[1:] {
			all += strings.TrimPrefix(l, "    ")
		}
		for _, l := range got {
			if columns(l) > 39 {
				t.Errorf("%q has %d columns", l, columns(l))
			}
		}
		if all != line || len(pane{}.fold(line)) != 1 {
			t.Errorf("%q", got)
		}
	}
	// A word is cut only where it is too long for a line of its own, and no line that
	// goes on looks like one that begins.
	long := strings.Repeat("x", 60)
	for _, line := range []string{
		"  It asks because: no rule covers that it would write to /p/a, in the workspace, and run a program",
		"    no rule covers: run " + long + " and more", "Allow? [y]es / [n]o / [a] / [p] / [u], or say what to do instead:", "  漢字" + strings.Repeat(" 漢字", 40),
	} {
		got := pane{wide: 42}.fold(line)
		var words []string
		for i, l := range got {
			if columns(l) > 41 || l != strings.TrimRight(l, " ") || i > 0 && !strings.HasPrefix(l, strings.Repeat(" ", 4+len(line)-len(strings.TrimLeft(line, " ")))) {
				t.Errorf("%q", got)
			}
			words = append(words, strings.Fields(l)...)
		}
		if text := strings.ReplaceAll(strings.Join(words, " "), "x x", "xx"); text != strings.Join(strings.Fields(line), " ") {
			t.Errorf("%q", got)
		}
	}
}

// TestPager: by pages, by lines and to the ends; the end is told.
func TestPager(t *testing.T) {
	var lines []string
	for i := range 25 {
		lines = append(lines, string(rune('a'+i)))
	}
	for keys, want := range map[string]struct {
		top, seen int
		quit      bool
	}{
		"": {0, 10, false}, " ": {9, 19, false}, "  ": {15, 25, false}, "     ": {15, 25, false}, " b": {0, 19, false}, "jjk": {1, 12, false},
		"\x1b[B\x1b[6~": {10, 20, false}, "G": {15, 25, false}, "Gg": {0, 25, false}, "q ": {0, 10, true}, "\x03": {0, 10, true}, "\x1b[15~": {0, 10, false}, "\x1b": {0, 10, true},
	} {
		v := &pager{lines: lines, high: 10}
		v.draw()
		for i := 0; i < len(keys); {
			n := 1
			if keys[i] == 0x1b {
				n = len(keys) - i
				if j := strings.IndexByte(keys[i+1:], 0x1b); j >= 0 {
					n = j + 1
				}
			}
			v.keys([]byte(keys[i : i+n]))
			v.draw()
			i += n
		}
		if v.top != want.top || v.seen != want.seen || v.quit != want.quit {
			t.Errorf("%q: %+v", keys, v)
		}
	}
	v := &pager{lines: lines[:3], high: 10}
	if got := v.draw(); !strings.Contains(got, "1–3 of 3 · the end") {
		t.Errorf("%q", got)
	}
}
