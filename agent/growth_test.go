package agent_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// endless calls Echo with something new n times, and then answers.
type endless struct{ n int }

func (endless) Info() llm.Info {
	return llm.Info{Provider: "test", Name: "endless", Price: llm.PerMillion(1, 1)}
}

func (m endless) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		parts := llm.Texts("done")
		if k := len(req.Messages) / 2; k < m.n {
			parts = llm.Parts{call(fmt.Sprint("c", k), "Echo", fmt.Sprintf(`{"text":"%d"}`, k))}
		}
		yield(llm.Done{Response: &llm.Response{
			Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Usage: &llm.Usage{Input: 1, Output: 1},
		}}, nil)
	}
}

// TestATurnCostsTheSameHoweverLongTheHistory counts what turns allocate, early
// and late in a long run with a budget to forecast.
func TestATurnCostsTheSameHoweverLongTheHistory(t *testing.T) {
	const turns, span = 3000, 500
	a, err := agent.New(endless{turns}, agent.Options{Tools: []tool.Tool{echo()}, Budget: agent.Budget{Turns: -1, Tokens: 1e12}})
	if err != nil {
		t.Fatal(err)
	}
	at := map[int]runtime.MemStats{}
	for e, err := range a.Stream(t.Context(), open(t), llm.Text{Text: "go"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(agent.TurnStarted); ok && e.Turn%span == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			at[e.Turn] = m
		}
	}
	grew := func(from int) (objects, bytes uint64) {
		a, b := at[from], at[from+span]
		return (b.Mallocs - a.Mallocs) / span, (b.TotalAlloc - a.TotalAlloc) / span
	}
	o1, b1 := grew(span)
	o2, b2 := grew(turns - span)
	// Slices and maps grow now and then, which is some more bytes for one turn.
	if o2 > o1*5/4 || b2 > b1*2 {
		t.Errorf("an early turn takes %d objects of %d bytes, a late one %d of %d", o1, b1, o2, b2)
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, turns := range []int{100, 3000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			a, err := agent.New(endless{turns}, agent.Options{Tools: []tool.Tool{echo()}, Budget: agent.Budget{Turns: -1, Tokens: 1e12}})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if res, err := a.Run(b.Context(), open(b), llm.Text{Text: "go"}); err != nil || res.Turns != turns+1 {
					b.Fatal(res, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*turns), "µs/turn")
		})
	}
}
