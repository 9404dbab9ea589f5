package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// How often a refused request is asked again, made smaller, and in how many
// turns in a row: a model that reads again what was just taken out would go on
// for ever. Of media, those that are new are taken out first, then all.
const (
	maxSmaller = 1
	maxNoMedia = 2
	maxShrinks = 3
)

// refused is the error of a provider that does not take a request as it is, and
// whether that is because of media. It is nil for every other error.
func refused(err error) (e *llm.Error, media bool) {
	e, ok := modelError(err)
	switch {
	case !ok:
		return nil, false
	case e.Rejected == llm.RejectedMedia:
		return e, true
	case e.Kind == llm.KindTooLarge, e.Kind == llm.KindContextOverflow:
		return e, false
	}
	return nil, false
}

// askSmaller asks again with less where err says that this may help. Once
// something was shown it does not.
func (r *runner) askSmaller(err error) (*llm.Response, *llm.Money, error) {
	larges, medias := maxSmaller, maxNoMedia
	if r.shrinks++; r.shrinks > maxShrinks {
		larges, medias = 0, 0
	}
	for {
		e, media := refused(err)
		if e == nil || r.heard || r.ctx.Err() != nil {
			return nil, nil, err
		}
		left := &larges
		if media {
			left = &medias
		}
		n := 0
		if *left > 0 {
			*left--
			var failed error
			if n, failed = r.turn.Shrink(r.ctx, err); failed != nil {
				return nil, nil, errors.Join(err, failed)
			}
			r.drain() // observers know of it before the request
		}
		if n == 0 {
			if media && medias == maxNoMedia-1 {
				return nil, nil, err // there was none: it is about something else
			}
			return nil, nil, r.noWayOn(err, media)
		}
		r.forget()
		req := r.request()
		settle, over := r.reserveFor(req)
		if over != nil {
			return nil, nil, over
		}
		resp, cost, again := r.ask(req, settle)
		if again == nil {
			return resp, cost, nil
		}
		err = again
	}
}

// forget drops what held of the view before it was made smaller: how large it
// is, and which calls have given nothing new.
func (r *runner) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shrunk {
		r.shrunk, r.meter, r.guard = false, meter{}, guard{}
	}
}

// noWayOn is err with what is left to do. The session can be used on.
func (r *runner) noWayOn(err error, media bool) error {
	info := r.model.Info()
	if media {
		return fmt.Errorf("%w; this is so also without the images and documents of the conversation: go back to a point before what was refused, or use another model", err)
	}
	req := r.request()
	size := fmt.Sprintf("some %d tokens", llm.Estimate(req))
	if fixed := llm.Estimate(&llm.Request{System: req.System, Tools: req.Tools}); fixed > info.Context/2 {
		size += fmt.Sprintf(", %d of them the system prompt and the tools", fixed)
	}
	window := "the window of " + info.Ref() + " is unknown"
	if info.Context > 0 {
		window = fmt.Sprintf("the window of %s is %d", info.Ref(), info.Context)
	}
	return fmt.Errorf("%w; the conversation (%s; %s) is too large, also without its largest results and media: begin a new session, go back to an earlier point of this one, or use a model with a larger window",
		err, size, window)
}

// Shrink makes the view smaller where err says that the provider does not take
// the request as it is: too large, or with an image or document that it refuses.
// The largest results and media, those that are pinned last, get stubs, by [session.Compaction] entries; the
// journal keeps them, and a [Compacted] event says what went. It returns how
// many pieces that were: none for any other error, and where there is nothing
// left to take out. [Turn.Request] then builds the request anew.
//
// The loop does this itself, and asks once more, with an error that comes out of
// all Model functions, unless a delta was shown. A Model function sees the error
// before: one that makes summaries calls Shrink, adds its summary, and asks
// again with t.Request; an error that it passes on is the loop's.
func (t *Turn) Shrink(ctx context.Context, err error) (int, error) {
	e, media := refused(err)
	if e == nil {
		return 0, nil
	}
	before := llm.Estimate(t.Request())
	why := "the request was refused as too large"
	if media {
		why = "an image or document was refused"
	}
	cuts := t.cuts(e, media, before)
	var data []session.Data
	var what []string
	for i, name := range t.Session.Clears(cuts...) {
		if name == "" {
			continue
		}
		data = append(data, session.Compaction{Clear: []string{name}, Stub: cuts[i].Stub(), Reason: why})
		what = append(what, fmt.Sprintf("%s (%d bytes)", cuts[i].What, cuts[i].Bytes))
	}
	if len(data) == 0 {
		return 0, nil
	}
	if err := t.Append(ctx, data...); err != nil {
		return 0, err
	}
	t.r.mu.Lock()
	t.r.shrunk = true
	t.r.mu.Unlock()
	const most = 5
	if n := len(what); n > most {
		what = append(what[:most], fmt.Sprintf("%d more", n-most))
	}
	t.Emit(Compacted{
		Reason: why + ", and without this it is sent again: " + strings.Join(what, ", "),
		Before: before, After: llm.Estimate(t.Request()), Cleared: len(data),
	})
	return len(data), nil
}

// cuts are what to take out of the view, of a request of size tokens.
func (t *Turn) cuts(e *llm.Error, media bool, size int) []llm.Cut {
	ms := t.Session.Messages()
	if media {
		all := llm.Shrink(ms, llm.ShrinkOptions{Media: true})
		// What was answered to before was taken then.
		last := len(ms) - 1
		for last >= 0 && ms[last].Role == llm.RoleUser {
			last--
		}
		fresh := slices.DeleteFunc(slices.Clone(all), func(c llm.Cut) bool { return c.Message <= last })
		if len(fresh) > 0 {
			return fresh
		}
		return all
	}
	// A limit by the minute counts tokens, too.
	all := llm.Shrink(ms, llm.ShrinkOptions{Least: math.MaxInt})
	pinned := map[llm.Cut]bool{}
	for i, is := range t.Session.Pinned(all...) {
		pinned[all[i]] = is
	}
	o := llm.ShrinkOptions{Skip: func(c llm.Cut) bool { return pinned[c] }, Tokens: e.Kind == llm.KindContextOverflow || e.Status == 429}
	cuts := llm.Shrink(ms, o)
	if len(cuts) == 0 { // then these
		o.Skip = nil
		cuts = llm.Shrink(ms, o)
	}
	// Half of what could go is not enough where the window is passed by more.
	if window := t.Model().Info().Context; o.Tokens && window > 0 && size > window {
		gone := 0
		for _, c := range cuts {
			gone += c.Tokens
		}
		if o.Least = size - window*3/4; gone < o.Least {
			cuts = llm.Shrink(ms, o)
		}
	}
	return cuts
}
