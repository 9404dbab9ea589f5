package llm

import (
	"sync/atomic"
)

// Role says who wrote a message.
type Role string

// The roles. Tool results are parts of a user message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one entry of a conversation. Its parts are not changed once it
// has been sent or recorded.
type Message struct {
	Role   Role    `json:"role"`
	Parts  Parts   `json:"parts"`
	Origin *Origin `json:"origin,omitempty"` // of an assistant message

	memo *memo
}

// Origin is where an assistant message came from. Opaque blobs in its parts
// are replayed only to the same wire, provider and model family.
type Origin struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Wire     string `json:"wire,omitempty"`
}

// UserText is a user message of one text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: Parts{Text{Text: text}}}
}

// Text is the visible text of the message, joined with no separator.
func (m Message) Text() string { return m.Parts.Text() }

// memo keeps what is derived from a message, so that a long conversation is
// encoded and measured once, not once a request. Copies of a message share it.
type memo struct {
	form   atomic.Pointer[form]
	tokens atomic.Int64
}

// form is a wire form and the key that it was made with.
type form struct {
	key   string
	bytes []byte
}

// Keep returns m with room to keep its wire form and its size: see
// [Message.Encoded]. The parts must not be changed from then on.
func (m Message) Keep() Message {
	if m.memo == nil {
		m.memo = new(memo)
	}
	return m
}

// Encoded returns what enc returns. If the message was made with
// [Message.Keep], the bytes are kept and the next call with the same key gets
// them without calling enc. The caller must not change them. Adapters call it
// with a key that names their wire and every setting that the form depends on;
// only the last key is kept. It is safe for concurrent use; calls that overlap
// may each call their enc.
func (m Message) Encoded(key string, enc func() ([]byte, error)) ([]byte, error) {
	if m.memo == nil {
		return enc()
	}
	if f := m.memo.form.Load(); f != nil && f.key == key {
		return f.bytes, nil
	}
	b, err := enc()
	if err != nil {
		return nil, err
	}
	m.memo.form.Store(&form{key, b})
	return b, nil
}
