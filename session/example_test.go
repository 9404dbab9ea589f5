package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// A call whose result was never recorded, as after a crash, is answered in the
// view; the journal stays as it is.
func ExampleSession_Messages() {
	ctx, now := context.Background(), time.Unix(0, 0)
	s, err := session.Open(ctx, new(session.Memory), "s1", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	err = s.Append(ctx,
		session.Entry{ID: "1", Time: now, Data: session.Message{Message: llm.UserText("List the files."), Kind: session.KindInput}},
		session.Entry{ID: "2", Time: now, Data: session.Message{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{
			llm.ToolCall{ID: "c1", Name: "Glob", Input: json.RawMessage(`{"pattern":"*"}`)},
		}}}},
		session.Entry{ID: "3", Time: now, Data: session.Message{Message: llm.UserText("Are you there?"), Kind: session.KindInput}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range s.Messages() {
		b, _ := json.Marshal(m.Parts)
		fmt.Println(m.Role, string(b))
	}
	for _, r := range s.Repairs() {
		fmt.Println(r.Kind, "-", r.Text)
	}
	// Output:
	// user [{"type":"text","text":"List the files."}]
	// assistant [{"type":"tool_call","id":"c1","name":"Glob","input":{"pattern":"*"}}]
	// user [{"type":"tool_result","call_id":"c1","name":"Glob","parts":[{"type":"text","text":"Interrupted: no result of this call was recorded. Its outcome is unknown."}],"is_error":true},{"type":"text","text":"Are you there?"}]
	// no_result - entry 3: the call c1 of Glob before it has no result: its outcome is unknown
}

// A compaction changes what the model sees, and can be undone.
func ExampleCompaction() {
	ctx, now := context.Background(), time.Unix(0, 0)
	s, err := session.Open(ctx, new(session.Memory), "s1", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	say := func(id, text string) session.Entry {
		return session.Entry{ID: id, Time: now, Data: session.Message{Message: llm.UserText(text), Kind: session.KindInput}}
	}
	show := func() {
		var texts []string
		for _, m := range s.Messages() {
			texts = append(texts, m.Text())
		}
		fmt.Println(strings.Join(texts, "; "))
	}
	for _, step := range [][]session.Entry{
		{say("1", "one"), say("2", "two"), say("3", "three")},
		{{ID: "4", Time: now, Data: session.Compaction{Summary: "one and two", Keep: "3"}}},
		{{ID: "5", Time: now, Data: session.Compaction{Undo: "4"}}},
	} {
		if err := s.Append(ctx, step...); err != nil {
			fmt.Println(err)
			return
		}
		show()
	}
	// Output:
	// one; two; three
	// one and two; three
	// one; two; three
}
