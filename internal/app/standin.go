package app

import (
	"context"
	"iter"
	"sync"

	"github.com/cantle-dev/cantle/llm"
)

// NoticeStandIn is the kind of the [llm.Notice] that the stand-in answers in the
// place of a model: without it, its words could be taken for one's.
const NoticeStandIn = "stand_in"

// standIn is a stand-in that takes over from another model, and says so once in
// each run.
type standIn struct {
	llm.Model
	mu   sync.Mutex
	told string // the run
}

// Unwrap returns the model inside.
func (s *standIn) Unwrap() llm.Model { return s.Model }

// Stream is [llm.Model].Stream.
func (s *standIn) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if s.first(turn(ctx, req)) {
			text := s.Info().Ref() + " is a stand-in, not a language model: what follows is its answer"
			if !yield(llm.Notice{Kind: NoticeStandIn, Text: text}, nil) {
				return
			}
		}
		s.Model.Stream(ctx, req)(yield)
	}
}

func (s *standIn) first(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.told != run
	s.told = run
	return is
}
