package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// geminiWire answers on generateContent, of AI Studio and of Vertex. Models
// whose name says 1.x or 2.x give calls no ids and sign nothing, as those do.
type geminiWire struct{}

func (geminiWire) policy(e *Exchange) policy { return autoPolicy(e) }
func (geminiWire) media() string             { return "text/event-stream" }
func (geminiWire) broken() string            { return "data: {not json\r\n\r\n" }

func oldGemini(model string) bool {
	return strings.Contains(model, "gemini-1") || strings.Contains(model, "gemini-2")
}

// refuse tells the time to wait in the body alone.
func (geminiWire) refuse(h http.Header, f failure) []byte {
	status := map[llm.Kind]string{
		llm.KindAuth: "UNAUTHENTICATED", llm.KindPermission: "PERMISSION_DENIED", llm.KindNotFound: "NOT_FOUND",
		llm.KindRateLimit: "RESOURCE_EXHAUSTED", llm.KindQuota: "RESOURCE_EXHAUSTED", llm.KindOverloaded: "UNAVAILABLE", llm.KindServer: "INTERNAL",
	}[f.kind]
	if status == "" {
		status = "INVALID_ARGUMENT"
	}
	if f.code == 0 {
		f.code = statusOf(f.kind)
	}
	e := map[string]any{"code": f.code, "message": f.text, "status": status}
	if f.retry > 0 {
		h.Del("Retry-After")
		e["details"] = []any{map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", f.retry.Seconds())}}
	}
	return encode(map[string]any{"error": e})
}

func (w geminiWire) failed(f failure) string { return w.frame(w.refuse(http.Header{}, f)) }

func (geminiWire) frame(data []byte) string { return "data: " + string(data) + "\r\n\r\n" }

// CallSignature is the thought signature that a [Server] puts on the first
// call of an answer on Gemini, and wants back with it. Signs that no name of
// a tool has do not count, since a client may put others in their place.
func CallSignature(name string) string {
	return Sign("call of " + oddSigns.ReplaceAllString(name, "_"))
}

var oddSigns = regexp.MustCompile(`[^a-zA-Z0-9_.:-]`)

// endSignature is on the empty text that ends an answer without calls.
var endSignature = Sign("end")

// geminiParts are the parts of r, in pieces if they are for a stream.
func geminiParts(r Reply, m meta, pieced bool) (out []map[string]any) {
	cut := func(s string) []string {
		if pieced {
			return pieces(s, 1000)
		}
		return []string{s}
	}
	signed := oldGemini(m.model)
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Text:
			for _, s := range cut(p.Text) {
				out = append(out, map[string]any{"text": s})
			}
		case llm.Thinking:
			for _, s := range cut(p.Text) {
				out = append(out, map[string]any{"text": s, "thought": true})
			}
		case llm.ToolCall:
			call := map[string]any{"name": p.Name, "args": lenientInput(p)}
			part := map[string]any{"functionCall": call}
			if !oldGemini(m.model) {
				call["id"] = p.ID
			}
			if string(p.Input) == "{}" && p.Malformed == "" {
				delete(call, "args")
			}
			if !signed {
				part["thoughtSignature"], signed = CallSignature(p.Name), true
			}
			out = append(out, part)
		case llm.Native:
			var part map[string]any
			if json.Unmarshal(p.Raw, &part) == nil {
				out = append(out, part)
			}
		}
	}
	if !signed && len(r.parts) > 0 {
		out = append(out, map[string]any{"text": "", "thoughtSignature": endSignature})
	}
	return out
}

func geminiStop(r Reply) string {
	switch r.stopReason() {
	case llm.StopMaxTokens:
		return "MAX_TOKENS"
	case llm.StopContentFilter, llm.StopRefusal:
		return "SAFETY"
	case llm.StopError: // the model wrote a call that is none
		return "MALFORMED_FUNCTION_CALL"
	}
	return "STOP" // also with calls
}

func geminiUsage(u llm.Usage) map[string]any {
	v := map[string]any{}
	for name, n := range map[string]int64{
		"promptTokenCount": u.Prompt(), "cachedContentTokenCount": u.CacheRead, "candidatesTokenCount": u.Output - u.Reasoning,
		"thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.Total(),
	} {
		if n != 0 { // the wire leaves zeros out
			v[name] = n
		}
	}
	return v
}

func (geminiWire) chunk(parts []map[string]any, stop string, m meta, usage map[string]any) []byte {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if parts == nil {
		candidate["content"] = map[string]any{"role": "model"}
	}
	if stop != "" {
		candidate["finishReason"] = stop
	}
	return encode(map[string]any{"candidates": []any{candidate}, "usageMetadata": usage, "modelVersion": m.model, "responseId": m.id})
}

func (w geminiWire) whole(r Reply, m meta) []byte {
	body := w.chunk(geminiParts(r, m, false), geminiStop(r), m, geminiUsage(m.usage))
	if _, inArray := geminiStream(m.path); inArray {
		return append(append([]byte{'['}, body...), ']')
	}
	return body
}

// geminiStream is what the address asks for: a stream, and that in a JSON
// array, since it did not ask for SSE.
func geminiStream(path string) (stream, array bool) {
	path, query, _ := strings.Cut(path, "?")
	stream = strings.HasSuffix(path, ":streamGenerateContent")
	return stream, stream && !strings.Contains(query, "alt=sse")
}

func (w geminiWire) frames(r Reply, m meta) (events, end []string) {
	early := map[string]any{"promptTokenCount": m.usage.Prompt(), "totalTokenCount": m.usage.Prompt()}
	for _, p := range geminiParts(r, m, true) {
		events = append(events, string(w.chunk([]map[string]any{p}, "", m, early)))
	}
	end = []string{string(w.chunk(nil, geminiStop(r), m, geminiUsage(m.usage)))}
	_, array := geminiStream(m.path)
	for i, fs := range [][]string{events, end} {
		for j, f := range fs {
			switch {
			case !array:
				fs[j] = w.frame([]byte(f))
			case i == 0 && j == 0:
				fs[j] = "[" + f
			case i == 1 && len(events) == 0:
				fs[j] = "[" + f + "]"
			case i == 1:
				fs[j] = ",\r\n" + f + "]"
			default:
				fs[j] = ",\r\n" + f
			}
		}
	}
	return events, end
}
