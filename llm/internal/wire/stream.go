package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/cantle-dev/cantle/internal/x/sse"
	"github.com/cantle-dev/cantle/llm"
)

// The most bytes of an answer that is one document, and of the events of one
// that is a stream, whatever they were compressed to.
const (
	maxWhole  = 64 << 20
	maxAnswer = 256 << 20
)

// Event is one unit of an answer. Data is good until the next call of
// [Stream.Next].
type Event struct {
	Name string // of the event in a stream; "" if it has none
	Data []byte
	// Whole is set where the answer is one JSON document and not a stream:
	// Data is then the document, and no other event follows.
	Whole bool
	// Cut is set when the body ended in the middle of Data.
	Cut bool
}

// Stream is the body of a 2xx answer. It is used by one goroutine.
type Stream struct {
	Header http.Header

	status                int
	provider, model, host string
	watch                 *watch
	redact                redactor
	keyed                 bool // the request had a key, or what stands for one
	body                  io.ReadCloser
	down                  *download
	framing               Framing
	frames                Frames
	size                  int   // of the events so far
	err                   error // sticky
	ended                 bool  // the answer's end mark was seen
}

func (s *Stream) reader() *download {
	if s.down == nil {
		s.down = &download{r: s.body, w: s.watch}
	}
	return s.down
}

// Next returns the next event, or [io.EOF] at the end of the body: whether the
// answer was complete by then is for the adapter to say (see [Stream.Truncated]).
// Any other error is final and, like those of [Post], fit to be yielded. How
// the body is framed is told by its first byte, not by its content type.
func (s *Stream) Next() (Event, error) {
	if s.err != nil {
		return Event{}, s.err
	}
	ev, err := s.next()
	if err != nil {
		s.err = s.readError(err)
		return Event{}, s.err
	}
	return ev, nil
}

func (s *Stream) next() (Event, error) {
	if s.frames == nil {
		head, err := s.peek()
		if err != nil {
			return Event{}, err
		}
		r := io.MultiReader(bytes.NewReader(head), s.reader())
		switch {
		case (head[0] == '{' || head[0] == '[') && !s.framing.Objects:
			return s.whole(r)
		case head[0] == '<' && s.framing.New == nil || bytes.HasPrefix(head, []byte("<!")) || bytes.HasPrefix(head, []byte("<html")):
			page, _ := io.ReadAll(io.LimitReader(r, maxErrorBody))
			return Event{}, s.fail(llm.KindNotFound, s.host+" answered with a web page and not as an API does ("+pageText(page)+"): check the base URL", nil)
		}
		if s.framing.New == nil {
			s.framing.New = newSSE
		}
		s.frames = s.framing.New(r)
	}
	ev, err := s.frames.Next()
	if s.size += len(ev.Data); s.size > maxAnswer {
		return Event{}, s.fail(llm.KindCorrupt, fmt.Sprintf("the answer has more than %d MiB", maxAnswer>>20), nil)
	}
	return ev, err
}

// peek reads until a byte that is not blank is there and returns what follows
// from it. Some servers send blanks to keep a connection alive.
func (s *Stream) peek() ([]byte, error) {
	buf := make([]byte, 4<<10)
	for {
		n, err := s.reader().Read(buf)
		if head := bytes.TrimLeft(buf[:n], " \t\r\n"); len(head) > 0 {
			// A byte order mark before JSON; before a stream the reader skips it.
			if rest, ok := bytes.CutPrefix(head, []byte("\xef\xbb\xbf")); ok && len(rest) > 0 {
				head = rest
			}
			if err != nil && err != io.EOF {
				return nil, err
			}
			return head, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *Stream) whole(r io.Reader) (Event, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxWhole+1))
	if err != nil {
		return Event{}, err
	}
	if len(b) > maxWhole {
		return Event{}, s.fail(llm.KindCorrupt, fmt.Sprintf("the answer has more than %d MiB", maxWhole>>20), nil)
	}
	s.err = io.EOF
	return Event{Data: b, Cut: isCut(b), Whole: true}, nil
}

// isCut reports whether b could be JSON if only more followed.
func isCut(b []byte) bool {
	var raw json.RawMessage
	err := json.NewDecoder(bytes.NewReader(b)).Decode(&raw)
	return errors.Is(err, io.ErrUnexpectedEOF)
}

func (s *Stream) readError(err error) error {
	var le *llm.Error
	switch {
	case err == io.EOF || errors.As(err, &le):
		return err
	case s.watch.parent.Err() != nil:
		return context.Cause(s.watch.parent)
	case s.down != nil && s.down.fired:
		return s.stalled()
	case errors.Is(err, sse.ErrTooLong), errors.Is(err, ErrFraming), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return s.fail(llm.KindCorrupt, err.Error(), err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		// A server that closes while something of ours is unread resets the
		// connection: to us it is the same end.
		return s.fail(llm.KindTruncated, "the connection to "+s.host+" was closed in the middle of the answer", err)
	}
	return s.fail(llm.KindNetwork, "the connection to "+s.host+" broke: "+err.Error(), err)
}

// Truncated is the error for an answer that ended before its end mark.
func (s *Stream) Truncated() error {
	return s.fail(llm.KindTruncated, "the stream ended before the answer did", nil)
}

// Undecodable is the error for an event that cannot be read, for why: one that
// the end of the body cut is [Stream.Truncated], one that is an error in all but
// its form is [Stream.Failure], any other is corrupt.
func (s *Stream) Undecodable(ev Event, why error) error {
	if ev.Cut {
		return s.Truncated()
	}
	if doc, _ := errorIn(ev.Data); doc != nil {
		return s.Failure(doc)
	}
	return s.fail(llm.KindCorrupt, "an event cannot be read: "+why.Error()+": "+clip(string(ev.Data), 200), why)
}

// Corrupt is the error for an answer that makes no sense.
func (s *Stream) Corrupt(format string, args ...any) error {
	return s.fail(llm.KindCorrupt, fmt.Sprintf(format, args...), nil)
}

// Failure classifies body, an error that came in a 2xx answer: the whole JSON
// document around it or the error object alone.
func (s *Stream) Failure(body []byte) *llm.Error { return s.classify(body) }

// RequestID is the provider's id of the request; "" if it gave none.
func (s *Stream) RequestID() string { return s.redact.clean(requestID(s.Header)) }

func (s *Stream) stalled() *llm.Error {
	return s.fail(llm.KindStalled, fmt.Sprintf("%s sent nothing for %s", s.host, s.watch.limit), nil)
}

func (s *Stream) fail(kind llm.Kind, message string, cause error) *llm.Error {
	if clean := s.redact.clean(message); clean != message {
		message, cause = clean, nil // the cause would print the secret
	}
	return &llm.Error{
		Kind: kind, Provider: s.provider, Model: s.model, Status: s.status,
		Message: message, RequestID: s.RequestID(), Err: cause,
	}
}

func (s *Stream) classify(body []byte) *llm.Error {
	e := Classify(s.status, s.Header, body)
	e.Provider, e.Model = s.provider, s.model
	for _, f := range []*string{&e.Message, &e.Code, &e.Type, &e.Param, &e.RequestID} {
		*f = s.redact.clean(*f)
	}
	return e
}

// End says that the answer's end mark was seen: Close then takes the last
// bytes of the body, if they come at once, so that the connection can be used
// again.
func (s *Stream) End() { s.ended = true }

func (s *Stream) drain() {
	t := time.AfterFunc(drainTime, s.watch.cancel)
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, s.body, drainBytes) // it is only to reach the end
}

const (
	drainTime  = 50 * time.Millisecond
	drainBytes = 64 << 10
)

// Close ends the call and releases its connection. It may be called twice.
func (s *Stream) Close() {
	if s.ended && s.err == nil && s.watch.ctx.Err() == nil {
		s.drain()
	}
	if s.err == nil {
		s.err = io.EOF
	}
	s.watch.close()
	if s.body != nil {
		s.body.Close()
	}
}
