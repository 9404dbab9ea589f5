package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wire"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

func headers(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(kv); i += 2 {
		h.Set(kv[i], kv[i+1])
	}
	return h
}

func TestClassifyKinds(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		header http.Header
		want   llm.Kind
	}{
		// Anthropic
		{"overflow", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3333404 tokens > 200000 maximum"}}`, nil, llm.KindContextOverflow},
		{"overflow with output", 400, `{"error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 180000 + 64000 > 200000, decrease"}}`, nil, llm.KindContextOverflow},
		{"output cap is no overflow", 400, `{"error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x"}}`, nil, llm.KindInvalidRequest},
		{"bytes", 413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, nil, llm.KindTooLarge},
		{"rate", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute"}}`, nil, llm.KindRateLimit},
		{"529", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, nil, llm.KindOverloaded},
		{"overloaded in mid-stream", 200, `{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}`, nil, llm.KindOverloaded},
		{"api_error in mid-stream", 200, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, nil, llm.KindServer},
		{"billing", 400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access"}}`, nil, llm.KindQuota},
		{"billing_error", 403, `{"error":{"type":"billing_error","message":"no"}}`, nil, llm.KindQuota},
		{"permission", 403, `{"error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource"}}`, nil, llm.KindPermission},
		{"output filter", 400, `{"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, nil, llm.KindContentFilter},
		{"timeout", 504, `{"error":{"type":"timeout_error","message":"timed out"}}`, nil, llm.KindServer},
		// Servers at home
		{"no memory for the model", 500, `{"error":"model requires more system memory (9.7 GiB) than is available (5.5 GiB)"}`, nil, llm.KindInvalidRequest},
		{"no memory in LM Studio", 400, `{"error":{"message":"Failed to load model \"x\". Error: Model loading was stopped due to insufficient system resources."}}`, nil, llm.KindInvalidRequest},
		{"it loads", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, nil, llm.KindOverloaded},
		// OpenAI and compatible
		{"overflow by another code", 400, `{"error":{"message":"x","code":"context_length_error"}}`, nil, llm.KindContextOverflow},
		{"long input by code", 400, `{"error":{"message":"x","code":"input_too_long"}}`, nil, llm.KindContextOverflow},
		{"long prompt by code", 400, `{"error":{"message":"x","code":"prompt_too_long"}}`, nil, llm.KindContextOverflow},
		{"many tokens", 400, `{"error":{"message":"Bad: too many tokens."}}`, nil, llm.KindContextOverflow},
		{"chat overflow", 400, `{"error":{"message":"x","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, nil, llm.KindContextOverflow},
		{"Responses overflow", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}`, nil, llm.KindContextOverflow},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, nil, llm.KindQuota},
		{"one request over the minute", 429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 1, Requested 30.","code":"rate_limit_exceeded"}}`, nil, llm.KindTooLarge},
		{"the same in mid-stream", 200, `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"Request too large for gpt-4o on tokens per min (TPM): Limit 1, Requested 30."}}}`, nil, llm.KindTooLarge},
		{"model", 404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`, nil, llm.KindNotFound},
		{"model as a 400", 400, `{"error":{"message":"The requested model 'x' does not exist.","code":"model_not_found"}}`, nil, llm.KindNotFound},
		{"tool output missing", 400, `{"error":{"message":"No tool output found for tool call call-a.","type":"invalid_request_error"}}`, nil, llm.KindInvalidRequest},
		{"Azure filter", 400, `{"error":{"message":"The response was filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, nil, llm.KindContentFilter},
		{"Azure 401", 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}`, nil, llm.KindAuth},
		{"Azure deployment", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, nil, llm.KindNotFound},
		{"xAI wrong key", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xx. You can obtain an API key"}`, nil, llm.KindAuth},
		{"xAI overflow", 400, `{"code":"c","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}`, nil, llm.KindContextOverflow},
		{"xAI credits", 403, `{"code":"The caller does not have permission","error":"Your team has either used all available credits or reached its monthly spending limit."}`, nil, llm.KindQuota},
		{"Groq 413", 413, `{"error":{"message":"Request too large for model x (TPM): Limit 6000, Requested 14810","type":"tokens","code":"rate_limit_exceeded"}}`, nil, llm.KindTooLarge},
		{"Groq tool", 200, `{"error":{"message":"Failed to call a function","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"x","status_code":400}}`, nil, llm.KindInvalidRequest},
		{"Groq decommissioned", 400, `{"error":{"message":"The model x has been decommissioned","code":"model_decommissioned"}}`, nil, llm.KindNotFound},
		{"DeepSeek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, nil, llm.KindQuota},
		{"Cerebras minute", 429, `{"message":"Tokens per minute limit exceeded","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}`, nil, llm.KindRateLimit},
		{"Perplexity overflow", 400, `{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}`, nil, llm.KindContextOverflow},
		{"vLLM overflow", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","param":null,"code":400}`, nil, llm.KindContextOverflow},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":8192}}`, nil, llm.KindContextOverflow},
		{"llama.cpp loads", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, nil, llm.KindOverloaded},
		{"LM Studio", 400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens: n_keep 9000 >= n_ctx 4096"}`, nil, llm.KindContextOverflow},
		{"Moonshot", 429, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, nil, llm.KindOverloaded},
		{"OpenRouter credits", 402, `{"error":{"message":"This request requires more credits","code":402}}`, nil, llm.KindQuota},
		{"OpenRouter upstream overflow", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 9 > 1\",\"type\":\"invalid_request_error\"}}"}}}`, nil, llm.KindContextOverflow},
		{"OpenRouter in 200", 200, `{"error":{"message":"Upstream error from Venice: x","code":502},"user_id":"u"}`, nil, llm.KindServer},
		{"OpenRouter in a choice", 200, `{"id":"g","choices":[{"error":{"code":502,"message":"Provider returned error"},"message":{"content":""}}]}`, nil, llm.KindServer},
		{"OpenRouter upstream rate", 429, `{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"x is temporarily rate-limited upstream"}}}`, nil, llm.KindRateLimit},
		// Google
		{"Gemini key", 400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, nil, llm.KindAuth},
		{"Gemini in an array", 400, `[{"error":{"code":400,"message":"The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, nil, llm.KindContextOverflow},
		{"Gemini on Vertex", 400, `{"error":{"code":400,"message":"Unable to submit request because the input token count is 1250074 but model only supports up to 1048576.","status":"INVALID_ARGUMENT"}}`, nil, llm.KindContextOverflow},
		{"Gemini, too many bytes", 400, `{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}`, nil, llm.KindTooLarge},
		{"Gemini by the day", 429, `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`, nil, llm.KindQuota},
		{"Gemini by the minute", 429, `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinute"}]}]}}`, nil, llm.KindRateLimit},
		{"Gemini busy", 503, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, nil, llm.KindOverloaded},
		// Bedrock
		{"throttled by header", 400, `{"message":"Too many tokens, please wait before trying again."}`, headers("X-Amzn-Errortype", "ThrottlingException:http://x/"), llm.KindRateLimit},
		{"Bedrock model", 400, `{"message":"The provided model identifier is invalid."}`, headers("X-Amzn-Errortype", "ValidationException:"), llm.KindNotFound},
		{"Bedrock token", 403, `{"Message":"Signature expired: 20260101T000000Z is now earlier than"}`, nil, llm.KindAuth},
		{"Bedrock Claude overflow", 400, `{"message":"Input is too long for requested model."}`, nil, llm.KindContextOverflow},
		{"Bedrock's day", 429, `{"message":"Too many tokens per day, please wait before trying again."}`, headers("X-Amzn-Errortype", "ThrottlingException:"), llm.KindQuota},
		{"Bedrock tokens", 429, `{"message":"Too many tokens, please wait before trying again."}`, headers("X-Amzn-Errortype", "ThrottlingException:http://internal.amazon.com/"), llm.KindRateLimit},
		{"Bedrock busy", 503, `{"message":"Model is getting throttled. Try your request again."}`, headers("X-Amzn-Errortype", "ServiceUnavailableException:"), llm.KindOverloaded},
		{"Bedrock quota", 400, `{"message":"no"}`, headers("X-Amzn-Errortype", "ServiceQuotaExceededException"), llm.KindQuota},
		{"Bedrock key", 403, `{"Message":"Authentication failed: Please make sure your API Key is valid."}`, headers("X-Amzn-Errortype", "AccessDeniedException"), llm.KindAuth},
		{"Bedrock names the shape", 400, `{"__type":"com.amazon.coral.service#ThrottlingException"}`, nil, llm.KindRateLimit},
		{"Bedrock quotes the model", 200, `{"error":{"type":"modelStreamErrorException","message":"The model failed.","originalMessage":"prompt is too long: 5 tokens > 4 maximum"}}`, nil, llm.KindContextOverflow},
		{"Bedrock exception", 200, `{"error":{"type":"throttlingException","message":"Slow."}}`, nil, llm.KindRateLimit},
		{"Bedrock server exception", 200, `{"error":{"type":"internalServerException","message":"Oops."}}`, nil, llm.KindServer},
		{"Bedrock validation", 200, `{"error":{"type":"validationException","message":"No."}}`, nil, llm.KindInvalidRequest},
		{"Bedrock unavailable", 200, `{"error":{"type":"serviceUnavailableException","message":"No."}}`, nil, llm.KindOverloaded},
		{"Bedrock access", 403, `{"message":"You don't have access to the model with the specified model ID."}`, headers("X-Amzn-Errortype", "AccessDeniedException"), llm.KindPermission},
		// Mistral, Cohere, Ollama
		{"Mistral overflow", 400, `{"object":"error","message":"Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`, nil, llm.KindContextOverflow},
		{"Mistral rate", 429, `{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}`, nil, llm.KindRateLimit},
		{"Ollama overflow", 400, `{"error":"the input length exceeds the context length"}`, nil, llm.KindContextOverflow},
		{"Ollama without the model", 404, `{"error":"model 'x' not found"}`, nil, llm.KindNotFound},
		{"Ollama, a model without tools", 400, `{"error":"\"x\" does not support tools"}`, nil, llm.KindInvalidRequest},
		{"Mistral key", 401, `{"detail":"Invalid API Key"}`, nil, llm.KindAuth},
		{"Mistral 422", 422, `{"detail":[{"type":"missing","loc":["body","messages",0],"msg":"Field required"}]}`, nil, llm.KindInvalidRequest},
		{"Mistral model", 400, `{"object":"error","message":"Invalid model: x","type":"invalid_model","code":"1500"}`, nil, llm.KindNotFound},
		{"Cohere overflow", 400, `{"id":"i","error_type":"TOO_MANY_TOKENS","message":"too many tokens: size limit exceeded by 25836 tokens."}`, nil, llm.KindContextOverflow},
		{"Ollama model", 404, `{"error":"model 'x' not found"}`, nil, llm.KindNotFound},
		{"Ollama in mid-stream", 200, `{"error":"model 'x' not found"}`, nil, llm.KindNotFound},
		// Others, as they are publicly reported.
		{"Copilot overflow", 400, `{"error":{"message":"prompt token count of 200000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, nil, llm.KindContextOverflow},
		{"Kimi overflow", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)","type":"invalid_request_error"}}`, nil, llm.KindContextOverflow},
		{"z.ai overflow", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, nil, llm.KindContextOverflow},
		{"Alibaba overflow", 400, `{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 129024]","type":"invalid_request_error"}}`, nil, llm.KindContextOverflow},
		{"configured limit", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens."}}`, nil, llm.KindContextOverflow},
		{"TGI overflow", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens\",\"error_type\":\"validation\"}", nil, llm.KindContextOverflow},
		{"vLLM, older", 400, `{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","code":400}`, nil, llm.KindContextOverflow},
		{"SGLang overflow", 400, `{"object":"error","message":"The input (140000 tokens) is longer than the model's context length (131072 tokens).","code":400}`, nil, llm.KindContextOverflow},
		{"GitHub overflow", 413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-x model. Max size: 8000 tokens."}}`, nil, llm.KindContextOverflow},
		{"MiniMax overflow in 200", 200, `{"base_resp":{"status_code":2013,"status_msg":"invalid params, context window exceeds limit"}}`, nil, llm.KindContextOverflow},
		{"OpenRouter names the upstream's error", 400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"error_type":"context_length_exceeded","provider_name":"X"}}}`, nil, llm.KindContextOverflow},
		{"MiniMax key in 200", 200, `{"base_resp":{"status_code":1004,"status_msg":"login fail: no key"}}`, nil, llm.KindAuth},
		{"a cap on the output", 400, `{"error":{"message":"Range of max_tokens should be [1, 8192]"}}`, nil, llm.KindInvalidRequest},
		// No JSON
		{"plain", 503, `upstream connect error or disconnect/reset before headers`, nil, llm.KindOverloaded},
		{"page", 502, `<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>`, nil, llm.KindServer},
		{"nothing", 400, ``, nil, llm.KindInvalidRequest},
		{"nothing from a server", 500, ``, nil, llm.KindServer},
		{"framed as a stream", 429, "event: error\ndata: {\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n", nil, llm.KindRateLimit},
		{"says nothing in mid-stream", 200, `{"type":"error","error":{"code":"unknown-error","message":"Foobar"}}`, nil, llm.KindStream},
		{"conflict", 409, `{}`, nil, llm.KindServer},
		{"time-out", 408, ``, nil, llm.KindServer},
		// Words of the user that a provider quotes decide nothing.
		{"quoted", 401, `{"error":{"message":"rate limit, overloaded, context length"}}`, nil, llm.KindAuth},
		{"5xx with a request type", 500, `{"error":{"message":"oops","type":"invalid_request_error"}}`, nil, llm.KindServer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := wire.Classify(tt.status, tt.header, []byte(tt.body))
			if e.Kind != tt.want {
				t.Errorf("%s, want %s (%v)", e.Kind, tt.want, e)
			}
			if e.Message == "" || strings.Contains(e.Message, "<html") {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

func TestClassifyFields(t *testing.T) {
	e := wire.Classify(400, headers("Request-Id", "req_1", "X-Should-Retry", "false"),
		[]byte(`{"error":{"message":"bad","type":"invalid_request_error","param":"temperature","code":"x"},"request_id":"req_2"}`))
	if e.Message != "bad" || e.Type != "invalid_request_error" || e.Param != "temperature" || e.Code != "x" || e.RequestID != "req_1" || !e.NoRetry {
		t.Errorf("%+v", e)
	}
	e = wire.Classify(422, nil, []byte(`{"detail":[{"loc":["body","messages",0],"msg":"Field required"},{"loc":["body"],"msg":"no"}],"request_id":"req_2"}`))
	if e.Message != "body.messages.0: Field required; body: no" || e.RequestID != "req_2" {
		t.Errorf("%+v", e)
	}
	e = wire.Classify(429, nil, []byte(`{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"busy upstream"}}}`))
	if e.Message != "Provider returned error: busy upstream" || e.Code != "429" {
		t.Errorf("%+v", e)
	}
	e = wire.Classify(200, nil, []byte(`{"error":{"code":429.0,"message":"busy"}}`))
	if e.Kind != llm.KindRateLimit || e.Code != "429" {
		t.Errorf("%+v", e)
	}
	e = wire.Classify(500, nil, []byte(strings.Repeat("é", 50_000)))
	if len(e.Message) > 3000 || strings.Contains(e.Message, "\ufffd") {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
	// Deep nesting is no way to overflow the stack.
	wire.Classify(400, nil, []byte(strings.Repeat(`{"error":`, 5000)+`"x"`+strings.Repeat(`}`, 5000)))
}

func TestRetryAfter(t *testing.T) {
	date := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	const rate = `{"error":{"type":"rate_limit_error","message":"m"}}`
	tests := []struct {
		name   string
		status int
		body   string
		header http.Header
		want   time.Duration
	}{
		{"seconds", 429, rate, headers("Retry-After", "5"), 5 * time.Second},
		{"part of a second", 429, rate, headers("Retry-After", "0.5"), 500 * time.Millisecond},
		{"date", 429, rate, headers("Date", date.Format(http.TimeFormat), "Retry-After", date.Add(time.Minute).Format(http.TimeFormat)), time.Minute},
		{"past date", 429, rate, headers("Date", date.Format(http.TimeFormat), "Retry-After", date.Add(-time.Minute).Format(http.TimeFormat)), 0},
		{"the larger of two", 429, rate, headers("Retry-After", "1", "Retry-After-Ms", "0"), time.Second},
		{"milliseconds", 429, rate, headers("Retry-After", "1", "Retry-After-Ms", "1500"), 1500 * time.Millisecond},
		{"RetryInfo", 429, `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34.4s"}]}}`, nil, 34400 * time.Millisecond},
		{"in words", 429, `{"error":{"message":"Rate limit reached. Please try again in 18.642s. Visit"}}`, nil, 18642 * time.Millisecond},
		{"in milliseconds", 429, `{"error":{"message":"Rate limit reached. Please try again in 174ms."}}`, nil, 174 * time.Millisecond},
		{"in minutes", 429, `{"error":{"message":"Please try again in 6m0s."}}`, nil, 6 * time.Minute},
		{"in hours", 429, `{"error":{"message":"Please try again in 1h2m3s."}}`, nil, time.Hour + 2*time.Minute + 3*time.Second},
		{"spelled out", 429, `{"error":{"message":"Please retry after 20 seconds."}}`, nil, 20 * time.Second},
		{"Anthropic's reset", 429, rate, headers("Date", date.Format(http.TimeFormat), "Anthropic-Ratelimit-Tokens-Remaining", "0", "Anthropic-Ratelimit-Tokens-Reset", date.Add(9*time.Second).Format(time.RFC3339), "Anthropic-Ratelimit-Requests-Remaining", "7", "Anthropic-Ratelimit-Requests-Reset", date.Add(time.Hour).Format(time.RFC3339)), 9 * time.Second},
		{"OpenAI's reset", 429, rate, headers("X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6m0s"), 6 * time.Minute},
		{"OpenRouter's reset", 429, `{"error":{"code":429,"message":"Rate limit exceeded","metadata":{"headers":{"X-RateLimit-Reset":"1785585630000"}}}}`, headers("Date", date.Format(http.TimeFormat)), 30 * time.Second},
		{"a reset long past", 429, `{"error":{"code":429,"message":"Rate limit exceeded","metadata":{"headers":{"X-RateLimit-Reset":"1754667660000"}}}}`, headers("Date", date.Format(http.TimeFormat)), 0},
		{"a quota's date", 400, `{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-08-02 at 00:30 UTC."}}`, headers("Date", date.Format(http.TimeFormat)), 12*time.Hour + 30*time.Minute},
		{"a quota's day", 429, `{"error":{"type":"insufficient_quota","message":"The quota resets on 2026-08-02."}}`, headers("Date", date.Format(http.TimeFormat)), 12 * time.Hour},
		{"a quota's date that is past", 429, `{"error":{"type":"insufficient_quota","message":"The quota resets on 2026-07-02."}}`, headers("Date", date.Format(http.TimeFormat)), 0},
		{"a quota that has none", 429, `{"error":{"type":"insufficient_quota","message":"You exceeded your current quota."}}`, nil, 0},
		{"not where nothing is to be retried", 400, `{"error":{"type":"invalid_request_error","message":"m"}}`, headers("Retry-After", "5"), 0},
		{"not that of an answer that began well", 200, `{"error":{"type":"overloaded_error","message":"m"}}`, headers("Retry-After", "5"), 0},
		{"but for a limit", 200, rate, headers("Retry-After", "5"), 5 * time.Second},
		{"nonsense", 429, rate, headers("Retry-After", "NaN", "Retry-After-Ms", "-1"), 0},
		{"huge", 429, rate, headers("Retry-After", "1e300"), 365 * 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if e := wire.Classify(tt.status, tt.header, []byte(tt.body)); e.RetryAfter != tt.want {
				t.Errorf("%v, want %v (%v)", e.RetryAfter, tt.want, e)
			}
		})
	}
}

// TestRecordedErrors classifies every recorded answer of every wire that is
// not 2xx.
func TestRecordedErrors(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "wire")
	files, _ := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	if len(files) == 0 {
		t.Skip("the recorded exchanges are not beside the repository")
	}
	type expect struct {
		ErrorKind   *llm.Kind  `json:"error_kind"`
		LenientKind []llm.Kind `json:"lenient_kind"`
		RetryAfter  *float64   `json:"retry_after_s"`
		Retryable   bool       `json:"retryable"`
	}
	type exchange struct {
		Dir    string `json:"dir"`
		Expect expect `json:"expect"`
	}
	n := 0
	for _, f := range files {
		var c struct {
			Expect    expect     `json:"expect"`
			Exchanges []exchange `json:"exchanges"`
		}
		read(t, f, &c)
		if c.Exchanges == nil {
			c.Exchanges = []exchange{{".", c.Expect}}
		}
		for _, x := range c.Exchanges {
			at := filepath.Join(filepath.Dir(f), x.Dir)
			var r struct {
				Status  int                 `json:"status"`
				Headers map[string][]string `json:"headers"`
			}
			read(t, filepath.Join(at, "response.json"), &r)
			if r.Status < 300 {
				continue
			}
			body, err := os.ReadFile(filepath.Join(at, "response.body"))
			if err != nil {
				t.Fatal(err)
			}
			n++
			h := http.Header{}
			for k, vs := range r.Headers {
				h[http.CanonicalHeaderKey(k)] = vs
			}
			e := wire.Classify(r.Status, h, body)
			if x.Expect.ErrorKind == nil || e.Kind != *x.Expect.ErrorKind && !slices.Contains(x.Expect.LenientKind, e.Kind) {
				t.Errorf("%s: %s, want %v", at, e.Kind, x.Expect.ErrorKind)
			}
			if want := x.Expect.RetryAfter; want != nil && e.RetryAfter.Seconds() != *want {
				t.Errorf("%s: retry after %v, want %v s", at, e.RetryAfter, *want)
			}
			if x.Expect.LenientKind == nil && e.Retryable() != x.Expect.Retryable {
				t.Errorf("%s: retryable %v", at, e.Retryable())
			}
		}
	}
	t.Logf("%d answers", n)
}

func read(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"x","code":400,"metadata":{"raw":"{}"}}}`))
	f.Add(200, []byte(`[{"detail":[{"loc":[1],"msg":"x"}]}]`))
	f.Add(502, []byte(`<title>x`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if e := wire.Classify(status, nil, body); e.Kind == "" || e.Message == "" {
			t.Errorf("%+v", e)
		}
	})
}

// TestRejectedMedia: what is said of an image is told from what is said of the
// request, whatever its status.
func TestRejectedMedia(t *testing.T) {
	for _, c := range []struct {
		name     string
		status   int
		body     string
		header   http.Header
		want     llm.Kind
		rejected string
	}{
		{"image of too many bytes", 400, `{"error":{"type":"invalid_request_error","message":"messages.4.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"image in a result", 400, `{"error":{"type":"invalid_request_error","message":"messages.2.content.0.tool_result.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"broken image", 400, `{"error":{"type":"invalid_request_error","message":"Could not process image"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"another type of image", 400, `{"error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"not the type that it says", 400, `{"error":{"type":"invalid_request_error","message":"The image was specified using the image/jpeg media type, but the image appears to be a image/png image"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"broken PDF", 400, `{"error":{"type":"invalid_request_error","message":"The PDF specified was not valid."}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"locked PDF", 400, `{"error":{"type":"invalid_request_error","message":"The PDF specified is password protected."}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"long PDF", 400, `{"error":{"type":"invalid_request_error","message":"A maximum of 100 PDF pages may be provided."}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"image by code", 400, `{"error":{"message":"no","type":"invalid_request_error","code":"invalid_image"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"OpenAI image", 400, `{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid.","type":"invalid_request_error","param":null,"code":null}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"OpenAI MIME", 400, `{"error":{"message":"Invalid MIME type. Only image types are supported.","type":"invalid_request_error"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"Gemini image", 400, `{"error":{"code":400,"message":"Unable to process input image. Please retry or report in the forum","status":"INVALID_ARGUMENT"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"Gemini MIME", 400, `{"error":{"code":400,"message":"Unsupported MIME type: image/svg+xml","status":"INVALID_ARGUMENT"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"Gemini PDF", 400, `{"error":{"code":400,"message":"The document has no pages.","status":"INVALID_ARGUMENT"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"Bedrock image", 400, `{"message":"The model returned the following errors: messages.0.content.0.image.source.base64: image exceeds max pixels allowed"}`, headers("X-Amzn-Errortype", "ValidationException"), llm.KindInvalidRequest, llm.RejectedMedia},
		{"Bedrock without images", 400, `{"message":"This model doesn't support the image content block that you provided."}`, headers("X-Amzn-Errortype", "ValidationException"), llm.KindInvalidRequest, llm.RejectedMedia},
		{"no endpoint for images", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"llama.cpp without images", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"vLLM without images", 400, `{"object":"error","message":"x is not a multimodal model","type":"BadRequestError","code":400}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"vLLM with fewer images", 400, `{"object":"error","message":"At most 1 image(s) may be provided in one request.","type":"BadRequestError","code":400}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"DeepSeek without images", 400, `{"error":{"message":"Failed to deserialize the JSON body: messages[0]: unknown variant ` + "`image_url`" + `, expected ` + "`text`" + `","type":"invalid_request_error"}}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"Ollama without images", 500, `{"error":"this model is missing data required for image input"}`, nil, llm.KindInvalidRequest, llm.RejectedMedia},
		{"no image", 400, `{"error":{"type":"invalid_request_error","message":"messages.1: the document of the request is not an object"}}`, nil, llm.KindInvalidRequest, ""},
		{"image of a container", 500, `{"error":"failed to pull the image of the model"}`, nil, llm.KindServer, ""},
		{"image policy", 400, `{"error":{"message":"no","code":"content_policy_violation"}}`, nil, llm.KindContentFilter, ""},
	} {
		if e := wire.Classify(c.status, c.header, []byte(c.body)); e.Kind != c.want || e.Rejected != c.rejected || e.Retryable() != (c.want == llm.KindServer) {
			t.Errorf("%s: %s, rejected %q", c.name, e.Kind, e.Rejected)
		}
	}
}

// TestRawControlCharacters: an error that a server put together by hand is what
// it says, in whatever way it comes. An answer that is no JSON is not.
func TestRawControlCharacters(t *testing.T) {
	doc := `{"error":{"message":"model \"m\" is overloaded` + "\n\tat line 1\x01 \\\\\n of \\\n it" + `","type":"overloaded_error"}}`
	for name, tt := range map[string]struct {
		status int
		body   string
		kind   llm.Kind
	}{
		"a document":       {200, doc, llm.KindOverloaded},
		"in several lines": {200, strings.Replace(doc, `{"error"`, "{\n  \"error\"", 1), llm.KindOverloaded},
		"in a list":        {200, "[" + doc + "]", llm.KindOverloaded},
		"a long one":       {200, strings.Replace(doc, "at line", strings.Repeat("at line\n", 2000), 1), llm.KindOverloaded},
		"with a status":    {400, doc, llm.KindOverloaded},
		"no error":         {200, strings.Replace(doc, `"error"`, `"choices"`, 1), llm.KindCorrupt},
		"an empty one":     {200, `{"error":null,"text":"` + "\n" + `"}`, llm.KindCorrupt},
	} {
		client := func() *http.Client {
			return &http.Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: tt.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(tt.body)), Request: r}, nil
			})}
		}
		for adapter, m := range map[string]llm.Model{
			"anthropic": anthropic.New("m", anthropic.Options{BaseURL: "http://127.0.0.1:1", APIKey: "k", Client: client()}),
			"chat":      openai.NewChat("m", openai.Options{BaseURL: "http://127.0.0.1:1", APIKey: "k", Client: client()}),
			"gemini":    gemini.New("m", gemini.Options{BaseURL: "http://127.0.0.1:1", APIKey: "k", Client: client()}),
			"ollama":    ollama.New("m", ollama.Options{BaseURL: "http://127.0.0.1:1", Client: client()}),
		} {
			_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("%s, %s: %v", name, adapter, err)
			}
			if e.Kind != tt.kind {
				t.Errorf("%s, %s: %s: %v", name, adapter, e.Kind, e)
			}
			if tt.kind != llm.KindCorrupt && (!strings.HasPrefix(e.Message, `model "m" is overloaded  at line`) || strings.Contains(e.Message, "{")) {
				t.Errorf("%s, %s: %q", name, adapter, e.Message)
			}
		}
	}
}
