package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
	"github.com/cantle-dev/cantle/tool"
)

// instant is a model that calls a tool turns times for each session, and then
// answers.
type instant struct{ turns int }

func (instant) Info() llm.Info { return llm.Info{Provider: "t", Name: "m", Price: &llm.Price{}} }

func (m instant) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		n := len(req.Messages) / 2
		parts := llm.Texts("done")
		if n < m.turns {
			in, _ := json.Marshal(map[string]int{"n": n}) // a number marshals
			parts = llm.Parts{llm.ToolCall{ID: fmt.Sprint("c", n), Name: "Look", Input: in}}
		}
		yield(llm.Done{Response: &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Usage: &llm.Usage{Input: 1, Output: 1}}}, nil)
	}
}

// sessions runs n sessions at once in this process.
func sessions(n, turns int) error {
	text := strings.Repeat("x", 10_000/turns)
	look := tool.New(tool.Spec{Name: "Look", ReadOnly: true, Access: tool.NoAccess}, func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		return fmt.Sprint(in.N, text), nil
	})
	a, err := agent.New(instant{turns}, agent.Options{Tools: []tool.Tool{look}})
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	st := new(session.Memory)
	open := make([]*session.Session, n)
	errs := make(chan error, n)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s, err := session.Open(context.Background(), st, fmt.Sprint("s", i), session.OpenOptions{Create: true})
			if err == nil {
				open[i] = s
				_, err = a.Run(context.Background(), s, llm.Text{Text: "go"})
			}
			if err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	select {
	case err := <-errs:
		return err
	default:
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(open)
	fmt.Printf("| %d sessions of %d turns and 10 kB at once, in one process | %s | | | | | %d MiB live |\n", n, turns, ms(took), int64(after.HeapAlloc-before.HeapAlloc)>>20)
	return nil
}

// openLong opens a session of 100,000 entries, of which the last 2,000 are in
// view.
func openLong(dir string) error {
	ctx := context.Background()
	st, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return err
	}
	const all, keep = 100_000, 98_000
	pad, parent := strings.Repeat("x", 900), ""
	for i := 0; i < all; i += 500 {
		after := parent
		var batch []session.Entry
		for k := i; k < i+500; k++ {
			e := session.Entry{ID: fmt.Sprintf("entry-%012d", k), Parent: parent, Time: time.Unix(int64(k), 0)}
			e.Data = session.Message{Message: llm.UserText(pad), Kind: session.KindInput}
			if k == all-1000 {
				e.Data = session.Compaction{Summary: "before", Keep: fmt.Sprintf("entry-%012d", keep)}
			}
			parent = e.ID
			batch = append(batch, e)
		}
		if err := st.Append(ctx, "s", after, batch...); err != nil {
			return err
		}
	}
	if st, err = jsonl.Open(dir, jsonl.Options{}); err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	s, err := session.Open(ctx, st, "s", session.OpenOptions{})
	if err != nil {
		return err
	}
	took := time.Since(began)
	n := len(s.Messages())
	runtime.GC()
	runtime.ReadMemStats(&after)
	fmt.Printf("| open a session of 100,000 entries, %d in view | %s | | | | | %d MiB live |\n", n, ms(took), int64(after.HeapAlloc-before.HeapAlloc)>>20)
	return s.Close()
}
