package llm

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrUsed is yielded by a second range over a stream.
var ErrUsed = errors.New("llm: stream already used")

// Kind classifies an [Error] by what a caller can do about it.
type Kind string

// The kinds of errors.
const (
	KindAuth            Kind = "auth"             // the key is missing, wrong or expired
	KindPermission      Kind = "permission"       // the key may not do this
	KindNotFound        Kind = "not_found"        // no such model or address
	KindContextOverflow Kind = "context_overflow" // more tokens than the window
	KindTooLarge        Kind = "too_large"        // more bytes, or tokens at once, than is taken
	KindRateLimit       Kind = "rate_limit"       // too fast: wait
	KindQuota           Kind = "quota"            // used up: waiting does not help
	KindOverloaded      Kind = "overloaded"       // the provider is busy
	KindServer          Kind = "server"           // the provider failed
	KindInvalidRequest  Kind = "invalid_request"  // the request is wrong
	KindContentFilter   Kind = "content_filter"   // the prompt was blocked
	KindStream          Kind = "stream_error"     // an error in mid-stream that says no more
	KindTruncated       Kind = "stream_truncated" // the stream ended before its end mark
	KindCorrupt         Kind = "stream_corrupt"   // the stream could not be understood
	KindStalled         Kind = "stream_stalled"   // nothing came for the time the watchdog allows
	KindNetwork         Kind = "network"          // no connection, or it broke
)

// Retryable says whether the same request may succeed later.
func (k Kind) Retryable() bool {
	switch k {
	case KindRateLimit, KindOverloaded, KindServer, KindStream, KindTruncated, KindCorrupt, KindStalled, KindNetwork:
		return true
	}
	return false
}

// Error is a failed model call. Its text names the provider and the model and
// holds no secret.
type Error struct {
	Kind     Kind
	Provider string
	Model    string
	Status   int // HTTP status; 0 if there was no answer. 200 for an error in mid-stream
	// Code, Type and Param are the provider's own, as found.
	Code, Type, Param string
	Message           string // the provider's message
	// Rejected is what the provider does not take of a request that is sound
	// without it: [RejectedMedia], or "" if it does not say so.
	Rejected  string
	RequestID string
	// RetryAfter is how long the provider asked to wait; 0 if it did not say.
	RetryAfter time.Duration
	// NoRetry is set where the provider forbids a retry that Kind would allow.
	NoRetry bool
	// NoKey says, of a [KindAuth], that the request had no key: the server wants
	// one, and none was given.
	NoKey bool
	// Partial is what had come before the stream failed; nil if nothing had.
	// Its tool calls are incomplete and must not be run.
	Partial *Response
	Err     error // the cause, if it was not the provider's answer
}

// RejectedMedia is the [Error].Rejected of images and documents: of a format,
// a size or a number that the model does not take, or broken.
const RejectedMedia = "media"

// Error is "anthropic:claude-x: rate_limit (429): message".
func (e *Error) Error() string {
	var b strings.Builder
	ref := Info{Provider: e.Provider, Name: e.Model}.Ref()
	if ref != "" {
		b.WriteString(ref + ": ")
	}
	b.WriteString(strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		b.WriteString(" (" + strconv.Itoa(e.Status) + ")")
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable says whether the same request may succeed later.
func (e *Error) Retryable() bool { return e.Kind.Retryable() && !e.NoRetry }

// IsKind reports whether err is or wraps an [*Error] of kind k.
func IsKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}
