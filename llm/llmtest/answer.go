package llmtest

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

func answer(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// reply sends the answer, faults and all.
func (s *Server) reply(w http.ResponseWriter, req *http.Request, wr wire, e *Exchange, r Reply, id string) {
	for k, vs := range r.header {
		w.Header()[http.CanonicalHeaderKey(k)] = vs
	}
	switch {
	case r.fault == faultPlain:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, r.body)
		return
	case r.fault == faultStatus:
		f := failure{code: r.status, kind: kindOf(r.status), text: http.StatusText(r.status), id: id}
		if n, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil {
			f.retry = time.Duration(n) * time.Second
		}
		answer(w, r.status, wr.refuse(w.Header(), f))
		return
	case r.fault == faultFail && len(r.parts) == 0:
		code := r.err.Status
		if code < 400 {
			code = statusOf(r.err.Kind)
		}
		f := failureOf(r.err, code, id)
		if r.err.Kind == "" {
			f.kind = kindOf(code)
		}
		f.tellRetry(w.Header())
		answer(w, code, wr.refuse(w.Header(), f))
		return
	}
	m := meta{id: "msg_" + strconv.Itoa(e.N), n: e.N, model: e.Model, usage: e.Usage, body: e.Body, path: e.Path}
	if r.usage != nil {
		m.usage = *r.usage
	} else {
		m.usage.Output, m.usage.Reasoning = r.outputTokens()
	}
	out := &sender{w: w, ctx: req.Context(), done: s.done, cut: -1, bytes: -1, slow: r.delay}
	switch r.fault {
	case faultCut:
		out.cut = r.after
	case faultCutBytes:
		out.bytes = r.after
	}
	if r.whole || !e.Stream {
		w.Header().Set("Content-Type", "application/json")
		body := string(wr.whole(r, m))
		switch r.fault {
		case faultNone:
			if out.wait(r.pause) {
				out.send(body)
			}
		case faultCutBytes:
			out.send(body)
		case faultMalformed:
			out.send("{not json")
		case faultStall:
			out.stall()
		case faultTruncate:
			out.send(body[:len(body)/2])
		default:
			out.send(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		}
		return
	}
	w.Header().Set("Content-Type", wr.media())
	w.Header().Set("Cache-Control", "no-cache")
	if r.fault == faultCut && r.after < 0 && len(r.parts) == 0 {
		panic(http.ErrAbortHandler)
	}
	out.send("")
	events, end := wr.frames(r, m)
	for _, f := range events {
		if !out.event(f) {
			return
		}
	}
	if !out.wait(r.pause) {
		return
	}
	switch r.fault {
	case faultStall:
		out.stall()
		return
	case faultCut:
		if r.after < 0 {
			panic(http.ErrAbortHandler)
		}
	case faultTruncate:
		return
	case faultMalformed:
		out.send(wr.broken())
		return
	case faultFail:
		out.send(wr.failed(failureOf(r.err, 0, id)))
		return
	}
	for _, f := range end {
		if !out.event(f) {
			return
		}
	}
}
