package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
	"github.com/cantle-dev/cantle/tool"
)

// BenchmarkLongRun is one run of many turns, for a profile.
func BenchmarkLongRun(b *testing.B) {
	look := tool.New(tool.Spec{Name: "Look", ReadOnly: true, Access: tool.NoAccess}, func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		return fmt.Sprint(in.N, " one line of text, of no great length"), nil
	})
	for b.Loop() {
		s := &server{n: 1000, deltas: 1, tool: func(i int) string { return fmt.Sprintf(`"name":"Look","input":{"n":%d}}`, i) }}
		srv := httptest.NewServer(s)
		m := anthropic.New("m", anthropic.Options{BaseURL: srv.URL, APIKey: "benchmark"})
		a, err := agent.New(m, agent.Options{Tools: []tool.Tool{look}, Budget: agent.Budget{Turns: -1}})
		if err != nil {
			b.Fatal(err)
		}
		st, err := jsonl.Open(b.TempDir(), jsonl.Options{})
		if err != nil {
			b.Fatal(err)
		}
		ses, err := session.Open(b.Context(), st, "s", session.OpenOptions{Create: true})
		if err != nil {
			b.Fatal(err)
		}
		if res, err := a.Run(b.Context(), ses, llm.Text{Text: "go"}); err != nil || res.Turns != 1001 {
			b.Fatal(res, err)
		}
		srv.Close()
	}
}
