package llmtest

import (
	"net/http"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// The wires that a [Server] speaks, named as in [llm.Info].
const (
	WireAnthropic = "anthropic"        // Messages: /messages, and as Vertex and Bedrock have it: :rawPredict, /invoke
	WireChat      = "openai-chat"      // Chat Completions: /chat/completions
	WireResponses = "openai-responses" // Responses: /responses
	WireGemini    = "gemini"           // generateContent, of AI Studio and Vertex
	WireBedrock   = "bedrock"          // Converse: /model/{id}/converse
	WireCohere    = "cohere"           // Chat of version 2: /v2/chat
	WireOllama    = "ollama"           // the native /api/chat
)

// Wires lists the wires in the order of their constants.
func Wires() []string {
	return []string{WireAnthropic, WireChat, WireResponses, WireGemini, WireBedrock, WireCohere, WireOllama}
}

// wire is how a Server speaks one provider's wire.
type wire interface {
	// decode fills e.Request, e.Model and e.Stream, and returns the prompt in
	// blocks. Its error is what the provider would say.
	decode(s *Server, e *Exchange) ([]block, error)
	// policy is the prompt cache that the provider has for e.Model.
	policy(e *Exchange) policy
	// refuse is the body of an HTTP error; it may change the headers.
	refuse(h http.Header, f failure) []byte
	frames(r Reply, m meta) (events, end []string)
	whole(r Reply, m meta) []byte
	failed(f failure) string // an error in mid-stream
	media() string           // the type of a stream
	broken() string          // an event of a stream that is not JSON
}

// meta is what an answer says apart from its parts.
type meta struct {
	n     int // of the exchange
	id    string
	model string
	usage llm.Usage
	body  []byte // of the request
	path  string
}

// failure is an error as wires tell it.
type failure struct {
	code  int // 0 in mid-stream
	kind  llm.Kind
	text  string
	id    string // of the request
	retry time.Duration
}

// failureOf is what a provider says of e.
func failureOf(e *llm.Error, code int, id string) failure {
	kind := e.Kind
	if kind == "" {
		kind = kindOf(e.Status)
	}
	text := e.Message
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		text = strings.ReplaceAll(string(kind), "_", " ")
	}
	return failure{code: code, kind: kind, text: text, id: id, retry: e.RetryAfter}
}

// sse is the framing of most wires.
type sse struct{}

func (sse) media() string  { return "text/event-stream; charset=utf-8" }
func (sse) broken() string { return "data: {not json\n\n" }

func frame(name string, data []byte) string {
	if name == "" {
		return "data: " + string(data) + "\n\n"
	}
	return "event: " + name + "\ndata: " + string(data) + "\n\n"
}

// tellRetry sets the header by which most providers say when to come back.
func (f failure) tellRetry(h http.Header) {
	if f.retry > 0 {
		h.Set("Retry-After", RetryAfter(f.retry).Get("Retry-After"))
	}
}

// route is the wire of a path, nil if none.
func route(path string) (wr wire, name string) {
	end := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(path, s) {
				return true
			}
		}
		return false
	}
	switch {
	case end("/messages", "/messages/count_tokens"):
		return messagesWire{}, WireAnthropic
	case end(":rawPredict", ":streamRawPredict"):
		return messagesWire{host: onVertex}, WireAnthropic
	case end("/invoke"):
		return messagesWire{host: onBedrock}, WireAnthropic
	case end("/invoke-with-response-stream"):
		return invokeWire{messagesWire{host: onBedrock}}, WireAnthropic
	case end("/chat/completions"):
		return chatWire{}, WireChat
	case end("/responses"):
		return responsesWire{}, WireResponses
	case end(":generateContent", ":streamGenerateContent", ":countTokens"):
		return geminiWire{}, WireGemini
	case end("/converse", "/converse-stream"):
		return converseWire{}, WireBedrock
	case end("/v2/chat"):
		return cohereWire{}, WireCohere
	case end("/api/chat"):
		return ollamaWire{}, WireOllama
	}
	return nil, ""
}

// midway says whether the last part of r is to have no end, since a fault
// comes in the middle of it.
func (r Reply) midway(i int) bool {
	return i == len(r.parts)-1 && r.fault != faultNone && r.fault != faultCut && r.fault != faultCutBytes
}
