package llmtest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := strings.TrimRight(r.URL.Path, "/")
	wr, name := route(path)
	refuse := func(wr wire, f failure) { answer(w, f.code, wr.refuse(w.Header(), f)) }
	switch {
	case wr == nil && r.Method == http.MethodGet && (strings.HasSuffix(path, "/models") || strings.HasSuffix(path, "/api/tags")):
		s.listModels(w)
		return
	case wr == nil:
		refuse(chatWire{}, failure{code: http.StatusNotFound, kind: llm.KindNotFound, text: "no such address: " + r.Method + " " + r.URL.Path})
		return
	case r.Method != http.MethodPost:
		refuse(wr, failure{code: http.StatusMethodNotAllowed, kind: llm.KindInvalidRequest, text: "method " + r.Method + " is not allowed"})
		return
	}
	e := &Exchange{Wire: name, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, Request: &llm.Request{}}
	var blocks []block
	if ct := r.Header.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") {
		e.Err = fmt.Errorf("content-type: %q, not application/json", ct)
	} else {
		blocks, e.Err = wr.decode(s, e)
	}
	counting := strings.HasSuffix(path, "/count_tokens") || strings.HasSuffix(path, ":countTokens")
	s.mu.Lock()
	key, tolerant := s.key, s.tolerant
	if !counting {
		s.requests = append(s.requests, e)
		e.N = len(s.requests)
	}
	s.mu.Unlock()
	id := "req_" + strconv.Itoa(e.N)
	for _, h := range []string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid"} {
		w.Header().Set(h, id)
	}
	if key != "" && !hasKey(r, key) {
		refuse(wr, failure{code: http.StatusUnauthorized, kind: llm.KindAuth, text: "invalid key", id: id})
		return
	}
	invalid := func(err error) {
		refuse(wr, failure{code: http.StatusBadRequest, kind: llm.KindInvalidRequest, text: err.Error(), id: id})
	}
	if e.Err != nil {
		if s.t != nil && !tolerant {
			s.t.Errorf("llmtest: the provider would refuse request %d (%s): %v", e.N, e.Wire, e.Err)
		}
		invalid(e.Err)
		return
	}
	if counting {
		var n int64
		for _, b := range blocks {
			n += b.tokens
		}
		answer(w, http.StatusOK, fmt.Appendf(nil, `{"input_tokens":%d,"totalTokens":%[1]d}`, n))
		return
	}
	s.mu.Lock()
	e.Usage = s.cache.use(e.Model, blocks, wr.policy(e))
	s.mu.Unlock()
	reply := s.player(e)
	for _, m := range reply.want {
		if err := m(e.Request); err != nil {
			if s.t != nil {
				s.t.Errorf("llmtest: request %d: %v", e.N, err)
			}
			invalid(err)
			return
		}
	}
	s.mu.Lock()
	reply = reply.named(func() string { s.calls++; return "call_" + strconv.Itoa(s.calls) })
	e.Reply = reply
	thought := false
	for _, p := range reply.parts {
		switch p := p.(type) {
		case llm.Thinking:
			thought = true
		case llm.ToolCall:
			s.thought[callKey(e, p.ID)] = thought
		}
	}
	s.mu.Unlock()
	s.reply(w, r, wr, e, reply, id)
}

// hasKey looks where the providers look. A signed request names its key.
func hasKey(r *http.Request, key string) bool {
	auth := r.Header.Get("Authorization")
	return r.Header.Get("X-Api-Key") == key || r.Header.Get("X-Goog-Api-Key") == key || r.URL.Query().Get("key") == key ||
		auth == "Bearer "+key || strings.Contains(auth, "Credential="+key+"/")
}

// listModels answers in the forms of all wires at once.
func (s *Server) listModels(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Type   string `json:"type"`
	}
	type named struct {
		Name  string `json:"name"`
		Model string `json:"model"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
		Models []named `json:"models"`
	}{"list", []model{}, []named{}}
	s.mu.Lock()
	for _, n := range s.models {
		list.Data = append(list.Data, model{n, "model", "model"})
		list.Models = append(list.Models, named{n, n})
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, encode(list))
}
