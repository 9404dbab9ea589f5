package gemini_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/gemini"
)

func TestErrors(t *testing.T) {
	const perDay = `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]}}`
	const perMinute = `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}]}}`
	for _, tt := range []struct {
		name   string
		status int
		body   string
		kind   llm.Kind
		retry  bool
		after  time.Duration
	}{
		{"a wrong key", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, llm.KindAuth, false, 0},
		{"a wrong key, only by its reason", 400, `{"error":{"code":400,"message":"Bad.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, llm.KindAuth, false, 0},
		{"no key", 403, `{"error":{"code":403,"message":"Method doesn't allow unregistered callers.","status":"PERMISSION_DENIED"}}`, llm.KindPermission, false, 0},
		{"Vertex with a key", 401, `{"error":{"code":401,"message":"API keys are not supported by this API.","status":"UNAUTHENTICATED"}}`, llm.KindAuth, false, 0},
		{"no such model", 404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}`, llm.KindNotFound, false, 0},
		{"overflow", 400, `{"error":{"code":400,"message":"The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.KindContextOverflow, false, 0},
		{"by the minute", 429, perMinute, llm.KindRateLimit, true, 34400 * time.Millisecond},
		{"by the day", 429, perDay, llm.KindQuota, false, 48 * time.Second},
		{"within an array", 429, "[" + perMinute + "\n]", llm.KindRateLimit, true, 34400 * time.Millisecond},
		{"within an array, after 200", 200, "[" + perDay + "\n]", llm.KindQuota, false, 48 * time.Second},
		{"after 200", 200, "data: " + perMinute + "\r\n\r\n", llm.KindRateLimit, true, 34400 * time.Millisecond},
		{"overloaded", 503, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, llm.KindOverloaded, true, 0},
		{"internal", 500, `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`, llm.KindServer, true, 0},
		{"invalid", 400, `{"error":{"code":400,"message":"Invalid JSON payload received.","status":"INVALID_ARGUMENT"}}`, llm.KindInvalidRequest, false, 0},
		{"a page", 502, `<html><title>502 Bad Gateway</title></html>`, llm.KindServer, true, 0},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		_, err := llm.Generate(t.Context(), gemini.New("gemini-x", gemini.Options{BaseURL: srv.URL, APIKey: "key-for-tests"}), hi)
		srv.Close()
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != tt.kind || e.Retryable() != tt.retry || e.RetryAfter != tt.after || e.Provider != "google" || e.Model != "gemini-x" {
			t.Errorf("%s: %v, %+v", tt.name, err, e)
		}
	}
}
