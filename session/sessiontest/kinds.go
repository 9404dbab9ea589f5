package sessiontest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Kinds has an entry of every kind, among them what a later version wrote.
func Kinds() []session.Entry {
	usage, cost := llm.Usage{Input: 10, Output: 5, CacheRead: 3}, llm.Money(12345)
	datas := []session.Data{
		session.Setup{Model: "p:m", System: "abc", Tools: []session.ToolHash{{Name: "Read", Hash: "def"}}},
		session.RunStarted{RunID: "r1", Model: "p:m", Dir: "/home/someone/project"},
		session.Message{
			Message: llm.UserText("Grüße, 世界 \u2028 \x00 <&> \U0001F600"), Kind: session.KindInput,
			Typed: llm.Texts("typed"),
		},
		session.Queued{Kind: session.KindSteer, Parts: llm.Texts("hurry")},
		session.Message{
			Message: llm.Message{
				Role: llm.RoleAssistant, Origin: &llm.Origin{Provider: "p", Model: "m", Wire: "w"},
				Parts: llm.Parts{
					llm.Thinking{Text: "hm", Signature: "sig"},
					llm.Text{Text: "I read"},
					llm.ToolCall{ID: "c1", Name: "Read", Input: json.RawMessage(`{"path":"a"}`)},
					llm.Native{Wire: "w", Kind: "search", Raw: json.RawMessage(`{"a":1}`)},
				},
			},
			Usage: &usage, Cost: &cost, Model: "p:m-1", Stop: llm.StopToolUse, Duration: 3 * time.Second,
		},
		session.Pending{CallID: "c1", State: session.PendingAsked, Question: json.RawMessage(`{"q":"may I?"}`)},
		session.Pending{CallID: "c1", State: session.PendingAnswered, Answer: json.RawMessage(`{"ok":true}`)},
		session.Pending{CallID: "c1", State: session.PendingTaken},
		session.Message{
			Message: llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "c1", Name: "Read", Parts: llm.Texts("content")}}},
			Kind:    session.KindResults, Pins: map[string]string{"c1": "skill:x"}, Details: map[string]json.RawMessage{"c1": json.RawMessage(`{"bytes":7}`)},
			Decisions: map[string]session.Decision{"c1": {By: "reviewer", Reason: "it only reads"}},
		},
		session.Compaction{Summary: "what was", Keep: "k4", Clear: []string{"k8/c1"}, Stub: "(cleared)", Reason: "window"},
		session.Note{Kind: "builtin.file", Data: json.RawMessage(`{"path":"a", "hash" : "x"}`)},
		session.Label{Name: "A title"},
		session.Label{Target: "k2", Name: "here"},
		session.Head{Name: "branch"},
		session.Queued{ID: "k3", Kind: session.KindSteer, Done: true},
		session.RunEnded{RunID: "r1", Stop: "end", Reason: "because", Turns: 2, Usage: usage, Cost: &cost},
		session.Unknown{Kind: "from_the_future", Raw: json.RawMessage(`{"z":1,"a":[1.50,"\u00e9"],  "s":"x"}`)},
		session.Compaction{Undo: "k9"},
	}
	es := make([]session.Entry, len(datas))
	parent := ""
	for i, d := range datas {
		es[i] = session.Entry{ID: fmt.Sprint("k", i), Parent: parent, Time: epoch.Add(time.Duration(i) * time.Second), Data: d}
		parent = es[i].ID
	}
	es[13].Parent = "k4" // the branch
	return es
}
