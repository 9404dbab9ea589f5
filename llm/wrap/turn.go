package wrap

import (
	"container/list"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/cantle-dev/cantle/llm"
)

// TurnOf names the user turn that a request belongs to, as far as the request
// tells: the conversation, by its CacheKey or else by its first message, and the
// last message of the user's that answers no tool call. The requests of a tool
// loop have one turn. A message that is put in while the loop goes on begins
// another, and so does a summary of the history; who knows better gives the
// wrappers a Turn function of their own.
func TurnOf(req *llm.Request) string {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(req.CacheKey)
	if req.CacheKey == "" && len(req.Messages) > 0 {
		hashParts(&h, req.Messages[0].Parts)
	}
	i := lastInput(req)
	if i >= 0 {
		hashParts(&h, req.Messages[i].Parts)
	}
	return fmt.Sprintf("%x.%d", h.Sum64(), i)
}

// lastInput is the index of the last message that is the user's own; -1 is none.
func lastInput(req *llm.Request) int {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if m := req.Messages[i]; m.Role == llm.RoleUser && !answers(m) {
			return i
		}
	}
	return -1
}

// answers says whether m has the result of a call.
func answers(m llm.Message) bool {
	for _, p := range m.Parts {
		if _, ok := p.(llm.ToolResult); ok {
			return true
		}
	}
	return false
}

// seed is of the hashes of this process: they are kept nowhere.
var seed = maphash.MakeSeed()

// hashParts adds ps to h, so that different parts have different bytes.
func hashParts(h *maphash.Hash, ps llm.Parts) {
	for _, p := range ps {
		switch p := p.(type) {
		case llm.Text:
			fields(h, 't', p.Text, string(p.Raw))
		case llm.Thinking:
			fields(h, 'k', p.Text, p.Signature, string(p.Raw))
		case llm.Blob:
			fields(h, 'b', p.MIME, p.URL, p.Name)
			_, _ = h.Write(p.Data)
		case llm.ToolCall:
			fields(h, 'c', p.ID, p.Name, string(p.Input), p.Malformed, string(p.Raw))
		case llm.ToolResult:
			fields(h, 'r', p.CallID, p.Name)
			if p.IsError {
				_ = h.WriteByte('!')
			}
			hashParts(h, p.Parts)
			_ = h.WriteByte(')')
		case llm.Native:
			fields(h, 'n', p.Wire, p.Kind, string(p.Raw))
		case llm.Unknown: // no model gets it
		}
	}
}

func fields(h *maphash.Hash, kind byte, ss ...string) {
	_ = h.WriteByte(kind)
	for _, s := range ss {
		var n [8]byte
		for i, l := 0, len(s); i < len(n); i, l = i+1, l>>8 {
			n[i] = byte(l)
		}
		_, _ = h.Write(n[:])
		_, _ = h.WriteString(s)
	}
}

// recent remembers the values of the keys that were used last. It is safe for
// concurrent use.
type recent[T any] struct {
	mu    sync.Mutex
	most  int
	order *list.List // of *kept[T], the last used in front
	by    map[string]*list.Element
}

type kept[T any] struct {
	key   string
	value T
}

func newRecent[T any](most int) *recent[T] {
	return &recent[T]{most: most, order: list.New(), by: map[string]*list.Element{}}
}

func (r *recent[T]) get(key string) (T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.by[key]; ok {
		r.order.MoveToFront(e)
		return e.Value.(*kept[T]).value, true
	}
	var zero T
	return zero, false
}

func (r *recent[T]) put(key string, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.by[key]; ok {
		e.Value.(*kept[T]).value = v
		r.order.MoveToFront(e)
		return
	}
	r.by[key] = r.order.PushFront(&kept[T]{key, v})
	if r.order.Len() > r.most {
		old := r.order.Back()
		delete(r.by, old.Value.(*kept[T]).key)
		r.order.Remove(old)
	}
}

func (r *recent[T]) drop(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.by[key]; ok {
		r.order.Remove(e)
		delete(r.by, key)
	}
}
