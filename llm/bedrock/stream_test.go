package bedrock_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"hash/crc32"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

var update = flag.Bool("update", false, "write what is made of the answers into testdata")

func options(rt http.RoundTripper) bedrock.Options {
	return bedrock.Options{BaseURL: "http://bedrock.test", APIKey: "key-for-tests", Client: &http.Client{Transport: rt}}
}

func answer(body []byte) *bedrock.Model {
	return bedrock.New("anthropic.claude-x", options(wirecase.Canned{Body: string(body), Header: http.Header{"X-Amzn-Requestid": {"req_1"}}}))
}

var hi = wirecase.Hi()

// frame encodes a frame of these headers.
func frame(t testing.TB, payload string, headers ...string) []byte {
	t.Helper()
	msg := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		msg.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, msg); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// frames makes a stream of lines: the type of an event and its payload, or the
// type of an exception after an exclamation mark. Text that begins with { is an
// answer in one piece.
func frames(t testing.TB, text string) []byte {
	t.Helper()
	if strings.HasPrefix(text, "{") {
		return []byte(text)
	}
	var out []byte
	for line := range strings.Lines(text) {
		name, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind, ok := strings.CutPrefix(name, "!"); {
		case name == "":
		case ok:
			out = append(out, frame(t, payload, ":message-type", "exception", ":exception-type", kind, ":content-type", "application/json")...)
		default:
			out = append(out, frame(t, payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")...)
		}
	}
	return out
}

// TestAnswers holds what is made of the answers in testdata.
func TestAnswers(t *testing.T) {
	wirecase.Golden(t, "testdata/*.txt", *update, func(t *testing.T, _, body string) llm.Model { return answer(frames(t, body)) })
}

const short = `messageStart {"role":"assistant","p":"abc"}
contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"Hi"}}
contentBlockStop {"contentBlockIndex":0}
messageStop {"stopReason":"end_turn"}
metadata {"usage":{"inputTokens":5,"outputTokens":1,"totalTokens":6},"metrics":{"latencyMs":1},"trace":{"promptRouter":{"invokedModelId":"arn:m"}}}`

func TestResponse(t *testing.T) {
	seq := answer(frames(t, short)).Stream(t.Context(), hi)
	r, err := llm.Collect(seq)
	if err != nil {
		t.Fatal(err)
	}
	if r.RequestID != "req_1" || r.Model != "arn:m" || r.Message.Role != llm.RoleAssistant ||
		*r.Message.Origin != (llm.Origin{Provider: "bedrock", Model: "anthropic.claude-x", Wire: "bedrock"}) {
		t.Errorf("%+v", r)
	}
	if _, err := llm.Collect(seq); err != llm.ErrUsed {
		t.Errorf("a second range: %v", err)
	}
	for range answer(frames(t, short)).Stream(t.Context(), hi) {
		break // ends without a panic
	}
}

// TestDamage breaks a stream in every way and place: nothing may pass for an
// answer, and a cut is told from a damage.
func TestDamage(t *testing.T) {
	whole := frames(t, short)
	stop := bytes.Index(whole, []byte("messageStop"))
	end := stop + bytes.Index(whole[stop:], []byte("metadata"))
	end = bytes.LastIndex(whole[:end], []byte{0, 0}) // within the last frame's prelude
	for n := range stop {
		_, err := llm.Generate(t.Context(), answer(whole[:n]), hi)
		if !llm.IsKind(err, llm.KindTruncated) {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(whole), err)
		}
	}
	for i := range end - 8 {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		if _, err := llm.Generate(t.Context(), answer(b), hi); !llm.IsKind(err, llm.KindCorrupt) {
			t.Fatalf("byte %d of %d changed: %v", i, len(whole), err)
		}
	}
	// Without the counts, which follow the end, an answer is whole.
	r, err := llm.Generate(t.Context(), answer(frames(t, short[:strings.Index(short, "metadata")])), hi)
	if err != nil || r.Message.Text() != "Hi" || r.Usage != nil {
		t.Errorf("no metadata: %+v, %v", r, err)
	}
	for _, size := range []uint32{0, 15, 24<<20 + 1, 1<<32 - 1} {
		var p [16]byte
		binary.BigEndian.PutUint32(p[:], size)
		binary.BigEndian.PutUint32(p[8:], crc32.ChecksumIEEE(p[:8]))
		if _, err := llm.Generate(t.Context(), answer(p[:]), hi); !llm.IsKind(err, llm.KindCorrupt) {
			t.Errorf("a frame of %d bytes: %v", size, err)
		}
	}
	// An error of the framing's own kind, and headers that are none.
	e := frame(t, "", ":message-type", "error", ":error-code", "internalServerException", ":error-message", "Oops.")
	if _, err := llm.Generate(t.Context(), answer(e), hi); !llm.IsKind(err, llm.KindServer) || !strings.Contains(err.Error(), "Oops.") {
		t.Errorf("an error frame: %v", err)
	}
	bad := frame(t, "{}", "name", "value")
	bad[12+1+len("name")] = 99 // the type of the value
	binary.BigEndian.PutUint32(bad[len(bad)-4:], crc32.ChecksumIEEE(bad[:len(bad)-4]))
	if _, err := llm.Generate(t.Context(), answer(bad), hi); !llm.IsKind(err, llm.KindCorrupt) {
		t.Errorf("a header of no type: %v", err)
	}
	for body, kind := range map[string]llm.Kind{
		"event: message_start\ndata: {}\n\n":    llm.KindCorrupt,
		"<html><title>Sign in</title></html>":   llm.KindNotFound,
		"":                                      llm.KindTruncated,
		`{"output":{"message":{"content":[{"te`: llm.KindTruncated,
		`{"output":[]}`:                         llm.KindCorrupt,
		`{"output":{"message":{"content":[{"text":1}]}}}`:                       llm.KindCorrupt,
		`{"Output":{"__type":"com.amazon.coral.service#X"},"Version":"1.0"}`:    llm.KindCorrupt,
		`{"__type":"com.amazon#ThrottlingException","message":"slow"}`:          llm.KindRateLimit,
		`{"message":"Input is too long for requested model."}`:                  llm.KindContextOverflow,
		`{"output":{"message":{"role":"assistant","content":null}},"usage":{}}`: "",
	} {
		_, err := llm.Generate(t.Context(), answer([]byte(body)), hi)
		if kind == "" && err != nil || kind != "" && !llm.IsKind(err, kind) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestErrorAnswers(t *testing.T) {
	for _, tt := range []struct {
		status    int
		typ, body string
		kind      llm.Kind
		in        string
	}{
		{400, "ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/", `{"message":"The provided model identifier is invalid."}`, llm.KindNotFound, "identifier"},
		{403, "", `{"Message":"Signature expired: 20260101T000000Z is now earlier than 20260101T000100Z"}`, llm.KindAuth, "Signature expired"},
		{503, "ServiceUnavailableException", `{"message":"Model is getting throttled. Try your request again."}`, llm.KindOverloaded, "throttled"},
		{429, "ThrottlingException", `{"message":"Too many tokens, please wait before trying again."}`, llm.KindRateLimit, "wait"},
		{400, "ValidationException", `{"message":"Input is too long for requested model."}`, llm.KindContextOverflow, "too long"},
		{500, "InternalServerException", ``, llm.KindServer, ""},
	} {
		o := options(wirecase.Canned{Body: tt.body, Status: tt.status, Header: http.Header{"X-Amzn-Errortype": {tt.typ}, "X-Amzn-Requestid": {"req_1"}}})
		for name, m := range map[string]llm.Model{"converse": bedrock.New("m", o), "invoke": bedrock.NewAnthropic("m", o)} {
			_, err := llm.Generate(t.Context(), m, hi)
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Message, tt.in) || e.Status != tt.status || e.Provider != "bedrock" || e.RequestID != "req_1" {
				t.Errorf("%s: %d %s: %+v", name, tt.status, tt.body, err)
			}
		}
	}
}

// chunk wraps events of Anthropic's wire as InvokeModelWithResponseStream does.
func chunks(t testing.TB, events ...string) []byte {
	t.Helper()
	var out []byte
	for _, e := range events {
		if rest, ok := strings.CutPrefix(e, "!"); ok {
			out = append(out, frames(t, "!"+rest)...)
			continue
		}
		payload := `{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(e)) + `","p":"abcdef"}`
		out = append(out, frame(t, payload, ":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")...)
	}
	return out
}

var claude = []string{
	`{"type":"message_start","message":{"id":"msg_bdrk_1","type":"message","model":"claude-x","usage":{"input_tokens":3,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_bdrk_1","name":"f","input":{}}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`,
	`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":99,"outputTokenCount":99}}`,
}

func TestAnthropic(t *testing.T) {
	seen := &capture{body: chunks(t, claude...)}
	o := options(seen)
	o.Beta, o.Info.Traits = []string{"interleaved-thinking-2025-05-14"}, llm.Traits{Thinking: true}
	m := bedrock.NewAnthropic("us.anthropic.claude-sonnet-4-20250514-v1:0", o)
	if i := m.Info(); i.Wire != "anthropic" || i.Provider != "bedrock" || i.Name != "us.anthropic.claude-sonnet-4-20250514-v1:0" {
		t.Errorf("%+v", i)
	}
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}, MaxTokens: 9000, Effort: llm.EffortLow, Extra: map[string]json.RawMessage{"anthropic": json.RawMessage(`{"top_k":1}`)}}
	r, err := llm.Generate(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Message.Parts.Calls(); r.ID != "msg_bdrk_1" || len(c) != 1 || c[0].ID != "toolu_bdrk_1" || string(c[0].Input) != `{"a":1}` || r.Usage.Input != 3 || r.Usage.Output != 9 || r.Stop != llm.StopToolUse {
		t.Errorf("%+v %+v", r, r.Usage)
	}
	const want = `{"top_k":1,"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["interleaved-thinking-2025-05-14"],"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":4096},` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}`
	if seen.sent != want {
		t.Errorf("sent %s\nwant %s", seen.sent, want)
	}
	if p := seen.req.URL.EscapedPath(); p != "/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/invoke-with-response-stream" {
		t.Error(p)
	}
	if h := seen.req.Header; h.Get("Authorization") != "Bearer key-for-tests" || h.Get("X-Api-Key")+h.Get("Anthropic-Version")+h.Get("Anthropic-Beta") != "" || h.Get("Accept") != "application/vnd.amazon.eventstream" {
		t.Errorf("%v", h)
	}
	// What came goes back as it came.
	seen.sent = ""
	next := &llm.Request{Messages: append(req.Messages, r.Message, llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "toolu_bdrk_1", Parts: llm.Texts("ok")}}})}
	if _, err := llm.Generate(t.Context(), m, next); err != nil || !strings.Contains(seen.sent, `"signature":"c2ln"`) {
		t.Errorf("%v %s", err, seen.sent)
	}

	o.Info.Traits.Images = true
	pictures := &llm.Request{Messages: []llm.Message{user(llm.Blob{MIME: "image/png", URL: "https://x.test/y", Name: "y"}, llm.Blob{MIME: "image/png", Data: []byte("x")})}}
	if _, err := llm.Generate(t.Context(), bedrock.NewAnthropic("m", o), pictures); err != nil || strings.Contains(seen.sent, "https") || !strings.Contains(seen.sent, "y was left out") || !strings.Contains(seen.sent, "base64") {
		t.Errorf("%v %s", err, seen.sent)
	}

	// An answer in one piece, exceptions, a cut, and what is no chunk.
	o = options(&capture{body: []byte(`{"id":"m","type":"message","model":"c","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)})
	o.NoStream = true
	if r, err := llm.Generate(t.Context(), bedrock.NewAnthropic("anthropic.claude-3-haiku-20240307-v1:0", o), hi); err != nil || r.Message.Text() != "x" {
		t.Errorf("%v", err)
	} else if c := o.Client.Transport.(*capture); !strings.HasSuffix(c.req.URL.Path, "/invoke") || strings.Contains(c.sent, `"cache_control"`) {
		t.Errorf("%s %s", c.req.URL, c.sent) // that model has no cache there
	}
	for _, tt := range []struct {
		body []byte
		kind llm.Kind
	}{
		{chunks(t, claude[0], `!throttlingException {"message":"slow down"}`), llm.KindRateLimit},
		{chunks(t, claude[0], `!modelStreamErrorException {"message":"x","originalStatusCode":500}`), llm.KindServer},
		{chunks(t, claude[:4]...), llm.KindTruncated},
		{frames(t, `chunk {"bytes":"!"}`), llm.KindCorrupt},
	} {
		if _, err := llm.Generate(t.Context(), bedrock.NewAnthropic("m", options(wirecase.Canned{Body: string(tt.body)})), hi); !llm.IsKind(err, tt.kind) {
			t.Errorf("want %s: %v", tt.kind, err)
		}
	}
	if r, err := llm.Generate(t.Context(), bedrock.NewAnthropic("m", options(wirecase.Canned{Body: string(append(frames(t, `novelty {"x":1}`), chunks(t, claude...)...))})), hi); err != nil || len(r.Message.Parts) != 2 {
		t.Errorf("an event that is new: %v", err)
	}
}

func FuzzStream(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text := wirecase.Answer(f, file)
		f.Add(text, false)
		f.Add(string(frames(f, text)), true)
	}
	f.Fuzz(func(t *testing.T, text string, raw bool) {
		body := []byte(text)
		if !raw {
			body = frames(t, strings.ToValidUTF8(text[:min(len(text), 4<<10)], ""))
		}
		r, err := llm.Generate(t.Context(), answer(body), hi)
		var e *llm.Error
		if errors.As(err, &e) {
			if e.Kind == "" || e.Message == "" {
				t.Fatalf("%+v", e)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, c := range r.Message.Parts.Calls() {
			if c.ID == "" || ids[c.ID] || !json.Valid(c.Input) || c.Input[0] != '{' {
				t.Fatalf("%+v", c)
			}
			ids[c.ID] = true
		}
		// What came in must be able to go back.
		sent(t, options(nil), &llm.Request{Messages: []llm.Message{llm.UserText("hi"), r.Message, llm.UserText("go on")}})
	})
}

func BenchmarkDelta(b *testing.B) {
	const n = 5000
	body := frames(b, `messageStart {"role":"assistant"}`)
	body = append(body, bytes.Repeat(frames(b, `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":" word"},"p":"abcdefghijklm"}`), n)...)
	body = append(body, frames(b, `messageStop {"stopReason":"end_turn"}
metadata {"usage":{"inputTokens":1,"outputTokens":1}}`)...)
	m := answer(body)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.Generate(b.Context(), m, hi); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
}
