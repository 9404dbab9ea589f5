package reviewer

import (
	"encoding/json"
	"sync"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/tool"
)

// memory is what was decided in the runs that are on, by their id. Children
// share their run's.
type memory struct {
	mu   sync.Mutex
	runs map[string]*past
}

func (m *memory) of(run string) *past {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.runs[run]
	if p == nil {
		p = &past{denied: map[string]string{}, no: map[string]bool{}}
		m.runs[run] = p
	}
	return p
}

func (m *memory) forget(run string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, run)
}

// past is what was decided in one run.
type past struct {
	mu      sync.Mutex
	denied  map[string]string // by the reviewer: the calls, and why
	no      map[string]bool   // by the user
	told    []refusal         // the last of them
	denials int               // of the reviewer, in a row
}

// refusal is a call to which the user said no, for the model to know.
type refusal struct {
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Reason string          `json:"reason,omitempty"`
}

// keyOf is what makes two calls the same.
func keyOf(c *agent.QuestionCall) string {
	access, err := json.Marshal(c.Access)
	if err != nil {
		access = nil // two texts cannot fail
	}
	return c.Name + "\x00" + string(tool.Canonical(c.Input)) + "\x00" + string(access)
}

func (p *past) deniedBefore(key string) (why string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	why, ok = p.denied[key]
	return why, ok
}

func (p *past) refused(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.no[key]
}

// tired reports whether it is the user's turn.
func (p *past) tired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denials >= maxDenials
}

func (p *past) allowed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denials = 0
}

func (p *past) deniedCall(key, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied[key] = why
	p.denials++
}

// maxTold bounds the refusals that the model is told of.
const maxTold = 4

// answered takes note of what another than the reviewer answered: it goes
// before what the reviewer has said.
func (p *past) answered(key string, c *agent.QuestionCall, a *agent.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denials = 0
	delete(p.denied, key)
	if a.OK {
		delete(p.no, key)
		return
	}
	p.no[key] = true
	if p.told = append(p.told, refusal{c.Name, c.Input, a.Reason}); len(p.told) > maxTold {
		p.told = p.told[1:]
	}
}

func (p *past) refusals() []refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]refusal(nil), p.told...)
}
