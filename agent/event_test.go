package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

func TestEventsHaveAJSONForm(t *testing.T) {
	tokens, cost := int64(5), llm.Dollars(0.01)
	for kind, d := range map[string]agent.EventData{
		"run_started":    agent.RunStarted{Run: "r", Session: "s", Model: "p:m", Tools: []string{"Echo"}, Left: &agent.Left{Turns: 3, Tokens: &tokens, Money: &cost}},
		"repaired":       agent.Repaired{Kind: string(session.RepairNoResult), EntryID: "e", CallID: "c", Text: "t"},
		"input":          agent.Input{Kind: "steer", Parts: llm.Texts("x")},
		"turn_started":   agent.TurnStarted{},
		"text_delta":     agent.TextDelta{Text: "x"},
		"thinking_delta": agent.ThinkingDelta{Text: "x"},
		"call_delta":     agent.CallDelta{Index: 1, ID: "c", Name: "Echo", Input: "{"},
		"partial":        agent.Partial{Value: json.RawMessage(`{"a":1}`)},
		"retrying":       agent.Retrying{Attempt: 1, Wait: time.Second, Error: "x"},
		"switched":       agent.Switched{From: "a:b", To: "c:d", Error: "x"},
		"notice":         agent.Notice{Kind: "route", Text: "x", Data: json.RawMessage(`{"to":"b"}`)},
		"continued":      agent.Continued{Attempt: 1, Of: 3},
		"message":        agent.Message{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{call("1", "Echo", `{}`)}}, Stop: llm.StopToolUse},
		"asked":          agent.Asked{Question: &agent.Question{ID: "q", Kind: "limit", Data: json.RawMessage(`{"stop":"max_turns","text":"t"}`)}},
		"answered":       agent.Answered{ID: "q", OK: true, Reason: "x", By: agent.ByReviewer},
		"tool_started":   agent.ToolStarted{Call: call("1", "Echo", `{}`), Decision: &agent.Decision{By: agent.ByRule, Reason: "Echo"}},
		"tool_progress":  agent.ToolProgress{CallID: "1", Parts: llm.Texts("x")},
		"tool_finished":  agent.ToolFinished{Call: call("1", "Echo", `{}`), Outcome: agent.OutcomeRan, Parts: llm.Texts("x"), Detail: json.RawMessage(`{}`), Duration: 3, Decision: &agent.Decision{By: agent.ByUser}},
		"turn_ended":     agent.TurnEnded{Usage: &llm.Usage{Input: 1}, Cost: &cost, Calls: 1},
		"compacted":      agent.Compacted{Reason: "x", Before: 2, After: 1},
		"warning":        agent.Warning{Text: "x"},
		"run_ended":      agent.RunEnded{Result: &agent.Result{Run: "r", Stop: agent.StopFinished, Cost: &cost}},
		"custom":         agent.Custom{Kind: "k", Data: json.RawMessage(`[1]`)},
	} {
		b, err := json.Marshal(agent.Event{Seq: 1, Time: time.Unix(0, 0).UTC(), Path: "child-1", Turn: 2, Data: d})
		if err != nil {
			t.Fatal(err)
		}
		if want := `"path":"child-1","turn":2,"type":"` + kind + `"`; !strings.Contains(string(b), want) {
			t.Errorf("%s has no %s", b, want)
		}
		var back agent.Event
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if _, unknown := back.Data.(agent.Unknown); unknown || err != nil || string(again) != string(b) {
			t.Errorf("%s became %s (%v)", b, again, err)
		}
	}
	const later = `{"seq":1,"time":"2026-01-02T03:04:05Z","turn":0,"type":"from_the_future","data":{"x":[1]}}`
	var e agent.Event
	if err := json.Unmarshal([]byte(later), &e); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(e); err != nil || string(b) != later {
		t.Errorf("%s, %v", b, err)
	}
}
