package agent

import (
	"encoding/json"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// untoldNote is the kind of a note with the notices that the model has not been
// told: those of a run that ended before its next request. The last one counts.
const untoldNote = "agent.untold"

// restoreNotices takes up what an earlier run did not come to tell.
func (r *runner) restoreNotices() error {
	var last session.Note
	for n, err := range r.s.Notes(r.ctx, untoldNote) {
		if err != nil {
			return err
		}
		last = n
	}
	var parts llm.Parts
	if len(last.Data) == 0 || json.Unmarshal(last.Data, &parts) != nil || len(parts) == 0 {
		return nil // what cannot be read cannot be told
	}
	r.restored = true
	r.mu.Lock()
	r.notices = append(parts, r.notices...)
	r.mu.Unlock()
	return nil
}

// flushNotices tells the model what waits to be told.
func (r *runner) flushNotices() error {
	n := r.takeNotices()
	if len(n) == 0 {
		return nil
	}
	r.emit(Input{Kind: string(session.KindNotice), Parts: n})
	data := []session.Data{session.Message{Message: llm.Message{Role: llm.RoleUser, Parts: n}, Kind: session.KindNotice}}
	if r.restored { // told in the same write
		r.restored = false
		data = append(data, session.Note{Kind: untoldNote, Data: json.RawMessage("[]")})
	}
	return r.append(r.ctx, data...)
}

func (r *runner) takeNotices() llm.Parts {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.notices
	r.notices = nil
	return n
}

// untold is the record of what this run did not come to tell.
func (r *runner) untold() []session.Data {
	n := r.takeNotices()
	if len(n) == 0 {
		return nil
	}
	b, err := n.MarshalJSON()
	if err != nil { // a part that has no JSON form cannot be a message either
		r.emit(Warning{fmt.Sprintf("a notice to the model is lost: %v", err)})
		return nil
	}
	return []session.Data{session.Note{Kind: untoldNote, Data: b}}
}

// Notice tells the model something on its next user message: what changes
// while a session goes on (the mode, the date, a finished job) is said here
// and never in the system prompt. What a run does not come to tell, the
// session's next run tells.
func (t *Turn) Notice(parts ...llm.Part) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.notices = append(t.r.notices, parts...)
}
