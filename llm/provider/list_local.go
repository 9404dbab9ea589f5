package provider

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/cantle-dev/cantle/llm/ollama"
)

// ollama asks the server for its models and then about each. What a model was
// made for is not what it is served with: that is its own num_ctx, or what it
// was loaded with, and otherwise not known.
func (l lister) ollama() ([]Report, error) {
	base, _ := l.base("/v1")
	answer, err := l.get(base+"/api/tags", l.bearer()...)
	if err != nil {
		return nil, err
	}
	models, ok := answer.list("models")
	if !ok {
		return nil, errors.New("the answer of /api/tags has no models")
	}
	loaded := map[string]int{}
	if ps, err := l.get(base+"/api/ps", l.bearer()...); err == nil { // older servers have none
		running, _ := ps.list("models")
		for _, m := range running {
			loaded[m.text("name")] = m.number("context_length")
		}
	}
	var reports []Report
	for _, m := range models {
		id := m.text("name")
		if id == "" {
			id = m.text("model")
		}
		if proper(id) {
			reports = append(reports, Report{ID: id, Context: loaded[id]})
		}
	}
	// Of those that are not kept nothing is asked; one more shows that there were.
	reports = reports[:min(len(reports), MaxModels+1)]
	errs := make([]error, len(reports))
	var wg sync.WaitGroup
	free := make(chan struct{}, 4)
	for i := range reports {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			errs[i] = l.show(base, &reports[i])
		})
	}
	wg.Wait()
	return reports, errors.Join(errs...)
}

// show asks Ollama about one model.
func (l lister) show(base string, r *Report) error {
	answer, err := l.fetch(base+"/api/show", map[string]string{"model": r.ID}, l.bearer()...)
	var status *errStatus
	if errors.As(err, &status) { // it has just been removed
		return nil
	}
	if err != nil { // the server is gone
		return err
	}
	d, err := ollama.ParseShow(answer)
	if err != nil {
		return fmt.Errorf("the answer of /api/show about %s: %w", r.ID, err)
	}
	if r.Max = d.Max; r.Context == 0 {
		r.Context = d.NumCtx
	}
	if r.Max > 0 && r.Context > r.Max {
		r.Context = r.Max
	}
	if d.Listed {
		r.Images, r.Tools, r.Thinking = &d.Images, &d.Tools, &d.Thinking
	}
	return nil
}

// lmstudio asks by the server's own interface, which older ones lack.
func (l lister) lmstudio() ([]Report, error) {
	base, _ := l.base("/v1")
	answer, err := l.get(base+"/api/v0/models", l.bearer()...)
	var status *errStatus
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		return l.openai()
	}
	if err != nil {
		return nil, err
	}
	models, ok := answer.list("data")
	if !ok {
		return nil, errors.New("the answer of /api/v0/models has no models")
	}
	var out []Report
	for _, m := range models {
		r := Report{ID: m.text("id"), Context: m.number("loaded_context_length"), Max: m.number("max_context_length")}
		if r.ID == "" || m.text("type") == "embeddings" {
			continue
		}
		if kind := m.text("type"); kind != "" {
			sees := kind == "vlm"
			r.Images = &sees
		}
		if can, ok := m["capabilities"].([]any); ok {
			r.Tools = among(can, "tool_use")
		}
		out = append(out, r)
	}
	return out, nil
}

// llamacpp asks for the models, and for the window of a slot.
func (l lister) llamacpp() ([]Report, error) {
	out, err := l.openai()
	if err != nil {
		return nil, err
	}
	base, _ := l.base("/v1")
	props, err := l.get(base+"/props", l.bearer()...)
	if err != nil {
		var status *errStatus
		if errors.As(err, &status) { // a router of several models has none of its own
			return out, nil
		}
		return nil, err
	}
	if len(out) != 1 {
		return out, nil
	}
	if n := props.object("default_generation_settings").number("n_ctx"); n > 0 {
		out[0].Context = n
	}
	if can := props.object("modalities"); can != nil {
		sees := can.yes("vision")
		out[0].Images = &sees
	}
	return out, nil
}
