package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// start makes a session in which each entry has its place as its id.
func start(t *testing.T, datas ...session.Data) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, datas...)
	return s
}

func add(t *testing.T, s *session.Session, datas ...session.Data) {
	t.Helper()
	n := 0
	for range s.Store().Headers(t.Context(), s.ID()) {
		n++
	}
	if s.Leaf() == "" {
		n = 0
	}
	for i, d := range datas {
		if err := s.Append(t.Context(), session.Entry{ID: fmt.Sprint("e", n+i), Time: time.Unix(int64(n+i), 0), Data: d}); err != nil {
			t.Fatal(err)
		}
	}
}

func user(text string) session.Message {
	return session.Message{Message: llm.UserText(text), Kind: session.KindInput}
}

func model(ps ...llm.Part) session.Message {
	return session.Message{Message: llm.Message{Role: llm.RoleAssistant, Parts: ps}}
}

func calls(ids ...string) session.Message {
	m := model()
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "T", Input: json.RawMessage(`{}`)})
	}
	return m
}

func results(idText ...string) session.Message {
	m := session.Message{Message: llm.Message{Role: llm.RoleUser}, Kind: session.KindResults}
	for i := 0; i < len(idText); i += 2 {
		m.Parts = append(m.Parts, llm.ToolResult{CallID: idText[i], Name: "T", Parts: llm.Texts(idText[i+1])})
	}
	return m
}

// sketch writes messages in short: "U:text A:[a b] U:(a=text)".
func sketch(ms []llm.Message) string {
	var out []string
	for _, m := range ms {
		s := strings.ToUpper(string(m.Role[:1])) + ":"
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				s += p.Text
			case llm.ToolCall:
				s += "[" + p.ID + "]"
			case llm.ToolResult:
				text := p.Parts.Text()
				if p.IsError && strings.HasPrefix(text, "Interrupted") {
					text = "?"
				}
				s += "(" + p.CallID + "=" + text + ")"
			case llm.Blob:
				s += "<" + p.MIME + ">"
			default:
				s += fmt.Sprintf("%T", p)
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestView(t *testing.T) {
	type list = []session.Data
	partial := model(llm.Text{Text: "half"}, calls("a").Parts[0])
	partial.Partial = true
	steered := results("a", "1")
	steered.Parts = append(steered.Parts, llm.Text{Text: "stop"})
	image := user("see")
	image.Parts = append(image.Parts, llm.Blob{MIME: "image/png", Data: []byte("x")})
	for name, c := range map[string]struct {
		in      list
		want    string
		repairs int
	}{
		"sound":              {list{user("u"), calls("a", "b"), results("a", "1", "b", "2"), model(llm.Text{Text: "done"})}, "U:u A:[a][b] U:(a=1)(b=2) A:done", 0},
		"open at the end":    {list{user("u"), calls("a", "b")}, "U:u A:[a][b] U:(a=?)(b=?)", 0},
		"interrupted":        {list{user("u"), calls("a", "b"), user("v")}, "U:u A:[a][b] U:(a=?)(b=?)v", 2},
		"one of two":         {list{user("u"), calls("a", "b"), results("b", "2"), user("v")}, "U:u A:[a][b] U:(a=?)(b=2)v", 1},
		"one by one":         {list{user("u"), calls("a", "b"), results("b", "2"), results("a", "1"), user("v")}, "U:u A:[a][b] U:(a=1)(b=2) U:v", 0},
		"twice":              {list{user("u"), calls("a"), results("a", "1", "a", "2"), results("a", "3")}, "U:u A:[a] U:(a=1)", 2},
		"no call":            {list{user("u"), results("a", "1"), model(llm.Text{Text: "x"})}, "U:u A:x", 1},
		"wrong order":        {list{user("u"), calls("a", "b"), results("b", "2", "a", "1")}, "U:u A:[a][b] U:(a=1)(b=2)", 0},
		"too late":           {list{user("u"), calls("a"), user("v"), results("a", "1")}, "U:u A:[a] U:(a=?)v", 2},
		"id again":           {list{user("u"), calls("a"), results("a", "1"), calls("a"), results("a", "2"), calls("a")}, "U:u A:[a] U:(a=1) A:[a_2] U:(a_2=2) A:[a_3] U:(a_3=?)", 0},
		"id twice":           {list{user("u"), calls("a", "a"), results("a", "1")}, "U:u A:[a] U:(a=1)", 1},
		"cut off":            {list{user("u"), partial, user("v")}, "U:u A:half U:v", 1},
		"empty text":         {list{user("u"), model(llm.Text{Text: " "}, llm.Text{Text: "x"}), user("")}, "U:u A:x", 0},
		"empty message":      {list{user("u"), model(llm.Text{}), user("v")}, "U:u U:v", 1},
		"nothing but though": {list{user("u"), model(llm.Thinking{Text: "hm"}), user("v")}, "U:u U:v", 1},
		"model first":        {list{model(llm.Text{Text: "hi"})}, "U:(The beginning of this conversation is not in view.) A:hi", 1},
		"steer with results": {list{user("u"), calls("a"), steered}, "U:u A:[a] U:(a=1)stop", 0},

		"summary":           {list{user("u"), user("v"), user("w"), session.Compaction{Summary: "S", Keep: "e2"}, user("x")}, "U:S U:w U:x", 0},
		"no keep":           {list{user("u"), session.Compaction{Summary: "S"}, user("x")}, "U:S U:x", 0},
		"keep is unknown":   {list{user("u"), session.Compaction{Summary: "S", Keep: "zz"}, user("x")}, "U:S U:x", 1},
		"keep is elsewhere": {list{user("u"), user("v"), session.Head{Root: true}, user("w"), session.Compaction{Summary: "S", Keep: "e1"}, user("x")}, "U:S U:x", 1},
		"cut in a pair":     {list{user("u"), calls("a"), results("a", "1"), session.Compaction{Summary: "S", Keep: "e2"}, user("x")}, "U:S U:x", 1},
		"the last summary":  {list{user("u"), user("v"), session.Compaction{Summary: "S", Keep: "e1"}, user("w"), session.Compaction{Summary: "T", Keep: "e3"}}, "U:T U:w", 0},
		"clear":             {list{user("u"), calls("a"), results("a", "1"), calls("a"), results("a", "2"), session.Compaction{Clear: []string{"e2/a"}, Stub: "-"}}, "U:u A:[a] U:(a=-) A:[a_2] U:(a_2=2)", 0},
		"clear, then summary": {list{
			user("u"), calls("a"), results("a", "1"),
			session.Compaction{Clear: []string{"e2/a"}, Stub: "-"},
			user("v"),
			session.Compaction{Summary: "S", Keep: "e1"},
		}, "U:S A:[a] U:(a=-) U:v", 0},
		"cleared twice":  {list{user("u"), calls("a"), results("a", "1"), session.Compaction{Clear: []string{"e2/a"}, Stub: "-"}, session.Compaction{Clear: []string{"e2/a"}, Stub: "+"}}, "U:u A:[a] U:(a=+)", 0},
		"clear an image": {list{image, session.Compaction{Clear: []string{"e0"}, Stub: "(image)"}}, "U:see(image)", 0},
		"clear ahead":    {list{session.Compaction{Clear: []string{"e1"}, Stub: "(image)"}, image}, "U:see<image/png>", 1},
		"undo":           {list{user("u"), session.Compaction{Summary: "S"}, user("v"), session.Compaction{Undo: "e1"}, user("w")}, "U:u U:v U:w", 0},
		"undo of undo":   {list{user("u"), session.Compaction{Summary: "S"}, user("v"), session.Compaction{Undo: "e1"}, session.Compaction{Undo: "e3"}}, "U:S U:v", 0},
		"undo, older":    {list{user("u"), session.Compaction{Summary: "S"}, user("v"), session.Compaction{Summary: "T"}, session.Compaction{Undo: "e3"}}, "U:S U:v", 0},
		"anew":           {list{user("u"), session.Head{Root: true}, user("v")}, "U:v", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.in...)
			if got := sketch(s.Messages()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if err := strict(s.Messages()); err != nil {
				t.Error(err)
			}
			if r := s.Repairs(); len(r) != c.repairs {
				t.Errorf("%d repairs, want %d: %v", len(r), c.repairs, r)
			}
		})
	}
}

func TestMessagesAreTheSameValues(t *testing.T) {
	s := start(t, user("u"), calls("a"), results("a", "1"))
	made := 0
	encode := func() {
		for _, m := range s.Messages() {
			_, err := m.Encoded("w", func() ([]byte, error) { made++; return []byte("x"), nil })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	encode()
	add(t, s, model(llm.Text{Text: "x"}), session.Note{Kind: "k", Data: json.RawMessage("1")})
	encode()
	if made != 4 {
		t.Errorf("4 messages were encoded %d times", made)
	}
}

// raw is a store of entries as they stand.
type raw struct{ entries []session.Entry }

func (r *raw) Append(_ context.Context, _, _ string, es ...session.Entry) error {
	r.entries = append(r.entries, es...)
	return nil
}

func (r *raw) Headers(context.Context, string) iter.Seq2[session.Header, error] {
	return func(yield func(session.Header, error) bool) {
		for _, e := range r.entries {
			if !yield(session.Header{ID: e.ID, Parent: e.Parent, Kind: e.Kind()}, nil) {
				return
			}
		}
	}
}

func (r *raw) Read(_ context.Context, _ string, ids ...string) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for _, id := range ids {
			i := slices.IndexFunc(r.entries, func(e session.Entry) bool { return e.ID == id })
			if !yield(r.entries[i], nil) {
				return
			}
		}
	}
}

// TestTreeIsSound has journals with parents that go nowhere, or in a circle.
func TestTreeIsSound(t *testing.T) {
	for name, c := range map[string]struct {
		ids  string // id and parent by turns
		want string
		odd  int
	}{
		"sound":        {"a- ba cb", "U:a U:b U:c", 0},
		"branch":       {"a- ba ca", "U:a U:c", 0},
		"own parent":   {"aa bb cb", "U:a U:b U:c", 2},
		"circle":       {"a- bc cb", "U:a U:b U:c", 1},
		"first in it":  {"ac ba cb", "U:a U:b U:c", 1},
		"no parent":    {"a- b- cb", "U:a U:b U:c", 1},
		"gone":         {"a- bx cb", "U:a U:b U:c", 1},
		"id twice":     {"a- ba cb bc db", "U:a U:b U:d", 1},
		"id twice end": {"a- ba cb bc", "U:a U:b U:c", 1},
	} {
		t.Run(name, func(t *testing.T) {
			st := new(raw)
			for _, f := range strings.Fields(c.ids) {
				st.entries = append(st.entries, session.Entry{ID: f[:1], Parent: strings.Trim(f[1:], "-"), Data: user(f[:1])})
			}
			s, err := session.Open(t.Context(), st, "s", session.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := sketch(s.Messages()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if r := s.Repairs(); len(r) != c.odd {
				t.Errorf("%d repairs, want %d: %v", len(r), c.odd, r)
			}
		})
	}
}

func TestQuestions(t *testing.T) {
	asked := func(id string) session.Pending {
		return session.Pending{CallID: id, State: session.PendingAsked, Question: json.RawMessage(`{"q":1}`)}
	}
	taken := session.Pending{CallID: "a", State: session.PendingTaken}
	// An earlier call with the same id was taken up.
	s := start(t, user("u"), calls("a"), asked("a"), taken, results("a", "1"), calls("a", "b", "c"), asked("a"), asked("b"))
	answer := func(call, with string) error {
		return s.Answer(t.Context(), "ans-"+call, time.Unix(1, 0), call, json.RawMessage(with))
	}
	if p := s.Pending(); len(p) != 2 || p[0].State != session.PendingAsked {
		t.Fatalf("pending: %v", p)
	}
	if d := s.Dangling(); len(d) != 3 {
		t.Errorf("dangling: %v", d)
	}
	if err := answer("c", `{}`); err == nil || !strings.Contains(err.Error(), "a, b") {
		t.Errorf("an answer to no question: %v", err)
	}
	if err := answer("a", `{half`); err == nil {
		t.Error("an answer that is not JSON")
	}
	if err := answer("a", `{"ok":true}`); err != nil {
		t.Fatal(err)
	}
	if err := answer("a", `{"ok":false}`); err == nil || !strings.Contains(err.Error(), "answered already") {
		t.Errorf("a second answer: %v", err)
	}
	again, err := session.Open(t.Context(), s.Store(), "s", session.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	p := again.Pending()
	if len(p) != 2 || string(p[0].Answer) != `{"ok":true}` || string(p[0].Question) != `{"q":1}` || p[1].State != session.PendingAsked {
		t.Errorf("opened again: %v", p)
	}
	add(t, s, user("never mind"))
	if err := answer("b", `{}`); err == nil || len(s.Pending()) > 0 {
		t.Errorf("an answer when the conversation went on: %v, %v", err, s.Pending())
	}
}

// TestQuestionsAreOfOneCall: what is known of a call is not taken for what is
// known of a later one with the same id.
func TestQuestionsAreOfOneCall(t *testing.T) {
	s := start(t, user("u"), calls("a"), session.Pending{CallID: "a", State: session.PendingTaken}, results("a", "1"), calls("a"))
	if p, d := s.Pending(), s.Dangling(); len(p) != 0 || len(d) != 1 {
		t.Errorf("pending %v, dangling %v", p, d)
	}
}

func TestQueueSurvives(t *testing.T) {
	s := start(t, user("u"), session.Queued{Kind: session.KindSteer, Parts: llm.Texts("one")}, session.Queued{Kind: session.KindFollowUp, Parts: llm.Texts("two")},
		session.Queued{ID: "e1", Kind: session.KindSteer, Done: true}, session.Compaction{Summary: "S"})
	q := s.Queue()
	if len(q) != 1 || q[0].ID != "e2" || q[0].Parts.Text() != "two" {
		t.Errorf("queue: %v", q)
	}
}

func TestBranchAndFork(t *testing.T) {
	s := start(t, user("u"), user("v"), user("w"))
	if err := s.Branch(t.Context(), "b", time.Unix(9, 0), "nowhere", ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a branch at no entry: %v", err)
	}
	if err := s.Branch(t.Context(), "b", time.Unix(9, 0), "e0", "other"); err != nil {
		t.Fatal(err)
	}
	add(t, s, user("x"))
	if got := sketch(s.Messages()); got != "U:u U:x" {
		t.Errorf("branch: %s", got)
	}
	var ends []string
	for e, err := range s.Branches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, e.ID)
	}
	if !slices.Equal(ends, []string{"e2", "e4"}) {
		t.Errorf("ends of branches: %v", ends)
	}
	other := new(session.Memory)
	f, err := s.Fork(t.Context(), other, "f", "e1")
	if err != nil {
		t.Fatal(err)
	}
	if got := sketch(f.Messages()); got != "U:u U:v" || f.Leaf() != "e1" {
		t.Errorf("fork: %s at %s", got, f.Leaf())
	}
	if _, err := s.Fork(t.Context(), other, "g", "nowhere"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a fork at no entry: %v", err)
	}
	if _, err := s.Fork(t.Context(), other, "f", ""); !errors.Is(err, session.ErrExists) {
		t.Errorf("a fork onto another session: %v", err)
	}
	add(t, f, user("mine"))
	if got := sketch(s.Messages()); got != "U:u U:x" {
		t.Errorf("the fork changed the original: %s", got)
	}
}

// TestTurnCostsTheSame counts what a turn allocates in a short conversation
// and in a long one.
func TestTurnCostsTheSame(t *testing.T) {
	s := start(t, user("u"))
	n := 0
	turn := func() {
		for _, d := range []session.Data{calls(fmt.Sprint("c", n)), session.Note{Kind: "k", Data: json.RawMessage(`1`)}, results(fmt.Sprint("c", n), "r")} {
			n++
			if err := s.Append(t.Context(), session.Entry{ID: fmt.Sprint("t", n), Data: d}); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.Messages()) == 0 || len(s.Dangling()) > 0 {
			t.Fatal("there is no view")
		}
	}
	for range 50 {
		turn()
	}
	early := testing.AllocsPerRun(200, turn)
	for range 10_000 {
		turn()
	}
	if late := testing.AllocsPerRun(200, turn); late > early+2 {
		t.Errorf("a turn allocates %v times after 50 turns and %v times after 10,000", early, late)
	}
}

// TestRetry goes back to before a run. Its input is handed back, as it was
// typed, and nothing is lost of what it did.
func TestRetry(t *testing.T) {
	second := user("second, and what a hook added")
	second.Typed = llm.Texts("second")
	s := start(t,
		session.RunStarted{RunID: "1"}, user("first"), model(llm.Text{Text: "A"}), session.RunEnded{RunID: "1"},
		session.RunStarted{RunID: "2"}, second, calls("a"))
	if _, err := s.Retry(t.Context(), "x", time.Unix(9, 0), "3"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
	release, err := s.Use()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retry(t.Context(), "x", time.Unix(9, 0), ""); !errors.Is(err, session.ErrBusy) {
		t.Errorf("while it goes on: %v", err)
	}
	release()
	in, err := s.Retry(t.Context(), "r2", time.Unix(9, 0), "")
	if err != nil || in.Text() != "second" {
		t.Errorf("the last run: %q, %v", in.Text(), err)
	}
	if got := sketch(s.Messages()); got != "U:first A:A" || len(s.Dangling()) > 0 {
		t.Errorf("before the last run: %s", got)
	}
	in, err = s.Retry(t.Context(), "r1", time.Unix(9, 0), "1")
	if err != nil || in.Text() != "first" || len(s.Messages()) > 0 {
		t.Errorf("the first run: %q, %v, %s", in.Text(), err, sketch(s.Messages()))
	}
	if _, err := s.Retry(t.Context(), "x", time.Unix(9, 0), ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("before all runs: %v", err)
	}
	if err := s.Branch(t.Context(), "back", time.Unix(9, 0), "e6", ""); err != nil || sketch(s.Messages()) != "U:first A:A U:second, and what a hook added A:[a] U:(a=?)" {
		t.Errorf("what was done is lost: %v, %s", err, sketch(s.Messages()))
	}
	add(t, s, session.RunStarted{RunID: "3"}, model(llm.Text{Text: "on"}), user("steer"))
	if in, err := s.Retry(t.Context(), "r3", time.Unix(9, 0), "3"); err != nil || in != nil {
		t.Errorf("a run without input: %q, %v", in.Text(), err)
	}
}

func TestUse(t *testing.T) {
	s := start(t, user("u"))
	release, err := s.Use()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Use(); !errors.Is(err, session.ErrBusy) {
		t.Errorf("a second run: %v", err)
	}
	release()
	release()
	if release, err = s.Use(); err != nil {
		t.Errorf("after the first: %v", err)
	}
	release()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Use(); !errors.Is(err, session.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	ro, err := session.Open(t.Context(), s.Store(), "s", session.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := ro.Append(t.Context(), session.Entry{ID: "x", Data: user("x")}); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("appending to what is read only: %v", err)
	}
}

func TestTitleAndSpent(t *testing.T) {
	usage, cost := llm.Usage{Input: 10, Output: 2}, llm.Money(7)
	spent := func() session.Message {
		m := model(llm.Text{Text: "x"})
		m.Usage, m.Cost = &usage, &cost
		return m
	}
	s := start(t, session.RunStarted{RunID: "1"}, user("  First line\nsecond"), spent(),
		session.RunEnded{RunID: "1", Usage: llm.Usage{Input: 100}, Cost: &cost}, // with a child's
		session.RunStarted{RunID: "2"}, spent(),                                 // and then it crashed
		session.RunStarted{RunID: "3"}, spent())
	title := func() string {
		got, err := s.Title(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := title(); got != "First line" {
		t.Errorf("title %q", got)
	}
	u, c, err := s.Spent(t.Context())
	if err != nil || u != (llm.Usage{Input: 120, Output: 4}) || c == nil || *c != 21 {
		t.Errorf("spent %v, %v, %v", u, c, err)
	}
	if err := s.SetTitle(t.Context(), "t1", time.Unix(1, 0), "Mine\nalone"); err != nil {
		t.Fatal(err)
	}
	add(t, s, session.Label{Target: "e1", Name: "here"})
	if got := title(); got != "Mine alone" {
		t.Errorf("title %q", got)
	}
	m := spent()
	m.Cost = nil
	add(t, s, m)
	if _, c, _ := s.Spent(t.Context()); c != nil {
		t.Errorf("the cost is unknown and not %v", *c)
	}
}
