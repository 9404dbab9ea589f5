package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// strict is an error for what a strict wire refuses.
func strict(ms []llm.Message) error {
	if len(ms) > 0 && ms[0].Role != llm.RoleUser {
		return fmt.Errorf("the first message is of %q", ms[0].Role)
	}
	var calls []llm.ToolCall
	seen := map[string]bool{} // on some wires ids are unique in the whole request
	for i, m := range ms {
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		want := calls
		calls = nil
		thinks := 0
		for k, p := range m.Parts {
			r, isResult := p.(llm.ToolResult)
			if (k < len(want)) != isResult {
				return fmt.Errorf("message %d, part %d: result: %v, but %d calls came before", i, k, isResult, len(want))
			}
			switch p := p.(type) {
			case llm.Text:
				if strings.TrimSpace(p.Text) == "" && p.Raw == nil {
					return fmt.Errorf("message %d: empty text", i)
				}
			case llm.Thinking:
				thinks++
				if m.Role != llm.RoleAssistant || p.Text+p.Signature == "" && p.Raw == nil {
					return fmt.Errorf("message %d: thinking", i)
				}
			case llm.Blob:
				if len(p.Data) == 0 && p.URL == "" {
					return fmt.Errorf("message %d: empty blob", i)
				}
			case llm.ToolCall:
				if m.Role != llm.RoleAssistant || p.ID == "" || p.Name == "" || seen[p.ID] {
					return fmt.Errorf("message %d: call %q", i, p.ID)
				}
				if in := strings.TrimSpace(string(p.Input)); !json.Valid(p.Input) || !p.Custom && in[0] != '{' || p.Custom && in[0] != '"' {
					return fmt.Errorf("message %d: call %q has the input %s", i, p.ID, in)
				}
				seen[p.ID] = true
				calls = append(calls, p)
			case llm.ToolResult:
				if m.Role != llm.RoleUser || want[k].ID != r.CallID {
					return fmt.Errorf("message %d, part %d: result of %q, want %q", i, k, r.CallID, want[k].ID)
				}
				for _, q := range p.Parts {
					if t, ok := q.(llm.Text); ok && t.Text == "" {
						return fmt.Errorf("message %d: a result has empty text", i)
					}
				}
			case llm.Native:
			default:
				return fmt.Errorf("message %d: part %T", i, p)
			}
		}
		if m.Role != llm.RoleUser && m.Role != llm.RoleAssistant {
			return fmt.Errorf("message %d is of %q", i, m.Role)
		}
		if thinks == len(m.Parts) {
			return fmt.Errorf("message %d is nothing but thinking", i)
		}
		if len(want) > 0 && m.Role != llm.RoleUser {
			return fmt.Errorf("message %d answers no call", i)
		}
	}
	if len(calls) > 0 {
		return fmt.Errorf("the last message has %d calls without results", len(calls))
	}
	return nil
}

// chaos makes entries that a sound program would not write.
type chaos struct {
	*rand.Rand
	ids []string
	n   int
}

func (c *chaos) pick(s ...string) string { return s[c.IntN(len(s))] }

func (c *chaos) known() string {
	if len(c.ids) == 0 || c.IntN(12) == 0 {
		return c.pick("", "nowhere", "e0", fmt.Sprint("e", c.n+1), fmt.Sprint("e", c.n))
	}
	return c.ids[len(c.ids)-1-min(c.IntN(len(c.ids)), c.IntN(len(c.ids)))]
}

func (c *chaos) parts(depth int, heavy bool) llm.Parts {
	var ps llm.Parts
	for range c.IntN(5) {
		id := c.pick("a", "b", "c", "call_0", "call_0", "")
		switch c.IntN(11) {
		case 0, 1:
			ps = append(ps, llm.Text{Text: c.pick("hello", "", " \n", "ü")})
		case 2:
			ps = append(ps, llm.Thinking{Text: c.pick("hm", ""), Signature: c.pick("", "sig")})
		case 3:
			ps = append(ps, llm.Blob{MIME: "image/png", Data: []byte(c.pick("", "png")), URL: c.pick("", "http://x")})
		case 4, 5, 6:
			if heavy {
				ps = append(ps, llm.ToolCall{ID: id, Name: c.pick("Read", "Read", "Read", ""), Input: json.RawMessage(c.pick(`{}`, `{"a":1}`, `[]`, `"s"`, `null`)), Custom: c.IntN(8) == 0, Malformed: c.pick("", "", "{half")})
			}
		case 7, 8, 9:
			if depth == 0 && (!heavy || c.IntN(6) == 0) {
				ps = append(ps, llm.ToolResult{CallID: id, Name: "Read", Parts: c.parts(1, false), IsError: c.IntN(2) == 0})
			}
		case 10:
			ps = append(ps, llm.Unknown{Kind: "odd", Raw: json.RawMessage(`{"type":"odd"}`)}, llm.Native{Wire: "w", Kind: "k", Raw: json.RawMessage(`{}`)})
		}
	}
	return ps
}

func (c *chaos) entry() session.Entry {
	e := session.Entry{ID: fmt.Sprint("e", c.n)}
	c.n++
	switch k := c.IntN(20); {
	case k < 7:
		e.Data = session.Message{Message: llm.Message{Role: llm.RoleAssistant, Parts: c.parts(0, true)}, Partial: c.IntN(6) == 0}
	case k < 14:
		e.Data = session.Message{Message: llm.Message{Role: llm.Role(c.pick("user", "user", "user", "tool")), Parts: c.parts(0, false)}, Kind: session.KindResults}
	case k == 14:
		e.Data = session.Compaction{
			Summary: c.pick("", "so far", "earlier"), Keep: c.known(), Stub: c.pick("gone", ""), Undo: c.pick("", "", c.known()),
			Clear: []string{c.known() + "/call_0", c.known() + "/a", c.known()},
		}
	case k == 15:
		e.Data, e.Parent = session.Head{Root: c.IntN(10) == 0}, c.known()
	case k == 16:
		e.Data = session.Pending{CallID: c.pick("a", "b", "call_0"), State: session.PendingState(c.pick("asked", "answered", "taken"))}
	case k == 17:
		e.Data = session.Queued{Kind: session.KindSteer, Parts: llm.Texts("q"), ID: c.known(), Done: c.IntN(2) == 0}
	case k == 18:
		e.Data = session.Note{Kind: "k", Data: json.RawMessage(`1`)}
	default:
		e.Data = session.Unknown{Kind: "odd", Raw: json.RawMessage(`{}`)}
	}
	return e
}

func plain(t *testing.T, ms []llm.Message) string {
	t.Helper()
	b, err := json.Marshal(ms)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestViewIsValid appends thousands of odd sequences. Whatever the journal
// holds, what the model sees is valid, each request extends the last one, and
// the session that is opened again has the same view; and the journal is what
// was appended.
func TestViewIsValid(t *testing.T) {
	runs := 1000
	if os.Getenv("CANTLE_SOAK") != "" {
		runs = 50_000
	}
	kinds := map[session.RepairKind]int{}
	for seed := range runs {
		c := &chaos{Rand: rand.New(rand.NewPCG(uint64(seed), 7))}
		st := new(session.Memory)
		s, err := session.Open(t.Context(), st, "s", session.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		var log []string
		var last []llm.Message
		open := false // the last message stands for calls without results
		for range 1 + c.IntN(40) {
			e := c.entry()
			if h, ok := e.Data.(session.Head); ok && !h.Root && !slices.Contains(c.ids, e.Parent) {
				continue // refused: there is nowhere to branch
			}
			if err := s.Append(t.Context(), e); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			c.ids = append(c.ids, e.ID)
			ms := s.Messages()
			if err := strict(ms); err != nil {
				t.Fatalf("seed %d, entry %s: %v\n%s", seed, e.ID, err, plain(t, ms))
			}
			// What stands for open calls may be exchanged for their results, and
			// everything else stays.
			switch e.Data.(type) {
			case session.Compaction, session.Head:
			default:
				keep := len(last)
				if open {
					keep--
				}
				if keep > len(ms) || keep > 0 && plain(t, ms[:keep]) != plain(t, last[:keep]) {
					t.Fatalf("seed %d, entry %s: the view was rewritten", seed, e.ID)
				}
			}
			open = len(s.Dangling()) > 0
			last = ms
			again, err := session.Open(t.Context(), st, "s", session.OpenOptions{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if a, b := plain(t, again.Messages()), plain(t, ms); a != b {
				t.Fatalf("seed %d, entry %s: opened again the view is\n%s\nand was\n%s", seed, e.ID, a, b)
			}
			if a, b := again.Pending(), s.Pending(); !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d: pending %v and %v", seed, a, b)
			}
			if a, b := again.Queue(), s.Queue(); len(a)+len(b) > 0 && !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d: queue %v and %v", seed, a, b)
			}
		}
		for e, err := range st.Read(t.Context(), "s") {
			if errors.Is(err, session.ErrNotFound) && len(c.ids) == 0 {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			log = append(log, e.ID)
		}
		if !slices.Equal(log, c.ids) {
			t.Fatalf("seed %d: the journal is %v, want %v", seed, log, c.ids)
		}
		seen := map[session.Repair]bool{}
		for _, r := range s.Repairs() {
			kinds[r.Kind]++
			if seen[r] || r.Text == "" {
				t.Fatalf("seed %d: told twice, or of nothing: %v", seed, r)
			}
			seen[r] = true
		}
		if again := s.Repairs(); len(again) > 0 {
			t.Fatalf("seed %d: repairs told again: %v", seed, again)
		}
	}
	for _, k := range []session.RepairKind{session.RepairNoResult, session.RepairNoCall, session.RepairCall, session.RepairMessage, session.RepairView} {
		if kinds[k] == 0 {
			t.Errorf("no repair of the kind %s in %d runs", k, runs)
		}
	}
}
