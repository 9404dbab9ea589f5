package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Classify makes an error of a failed answer or, with status 200, of an error
// object in a stream. It is the one place that matches on providers' words.
// The caller fills in Provider and Model.
func Classify(status int, h http.Header, body []byte) *llm.Error {
	e := &llm.Error{Status: status, RequestID: requestID(h)}
	f := parse(body)
	e.Message, e.Type, e.Code, e.Param = f.message, f.typ, f.code, f.param
	if e.Message == "" {
		if e.Message = text(body); e.Message == "" && status != http.StatusOK {
			e.Message = http.StatusText(status)
		}
	}
	effective := status
	if n, err := strconv.Atoi(f.code); err == nil && n >= 400 && n < 600 && status == http.StatusOK {
		effective = n
	}
	if f.status >= 400 && f.status < 600 && status == http.StatusOK {
		effective = f.status
	}
	if e.RequestID == "" {
		e.RequestID = f.requestID
	}
	e.Kind = kindOf(effective, f, e.Message)
	if e.Kind == llm.KindStream && effective >= 400 && effective < 500 {
		e.NoRetry = true
	}
	switch strings.ToLower(h.Get("X-Should-Retry")) {
	case "false":
		if status >= 400 {
			e.NoRetry = true
		}
	}
	if e.Retryable() {
		e.RetryAfter = retryAfter(h, f, e.Message)
	}
	return e
}

// fields are what the many shapes of error bodies have in common.
type fields struct {
	message, typ, code, param, requestID string
	status                               int
	raw                                  string        // the upstream's own error
	delay                                time.Duration // in the body
	headers                              http.Header   // in the body
	inner                                string
}

func parse(body []byte) fields {
	var f fields
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' { // streamed arrays of one error
		var many []json.RawMessage
		if json.Unmarshal(body, &many) == nil && len(many) > 0 {
			body = many[0]
		}
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		return f
	}
	f.requestID = str(top["request_id"])
	f.take(top)
	var inner map[string]json.RawMessage
	switch {
	case json.Unmarshal(top["error"], &inner) == nil && inner != nil:
		f.message, f.typ, f.code, f.param = "", "", "", ""
		f.take(inner)
	case str(top["error"]) != "": // the error is a string
		f.message = str(top["error"])
	case len(top["detail"]) > 0 && f.message == "":
		if f.message = str(top["detail"]); f.message == "" {
			f.message = string(top["detail"])
		}
	}
	return f
}

func (f *fields) take(m map[string]json.RawMessage) {
	f.message = first(str(m["message"]), str(m["Message"]), str(m["msg"]))
	f.typ, f.param = first(str(m["type"]), str(m["error_type"])), str(m["param"])
	f.code = str(m["code"])
	if f.code == "" && len(m["code"]) > 0 && string(m["code"]) != "null" {
		f.code = string(m["code"])
	}
	for _, k := range []string{"status_code", "status"} {
		if n, err := strconv.Atoi(string(m[k])); err == nil {
			f.status = n
		} else if s := str(m[k]); s != "" && f.typ == "" {
			f.typ = s
		}
	}
	var ie struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(first2(m["innererror"], m["inner_error"]), &ie) == nil {
		f.inner = ie.Code
	}
	var meta struct {
		Raw     json.RawMessage   `json:"raw"`
		Headers map[string]string `json:"headers"`
	}
	if json.Unmarshal(m["metadata"], &meta) == nil {
		if f.raw = str(meta.Raw); f.raw == "" {
			f.raw = string(meta.Raw)
		}
		f.headers = http.Header{}
		for k, v := range meta.Headers {
			f.headers.Set(k, v)
		}
	}
	var details []struct {
		RetryDelay string `json:"retryDelay"`
		Reason     string `json:"reason"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(m["details"], &details) == nil {
		for _, d := range details {
			if t, err := time.ParseDuration(d.RetryDelay); err == nil {
				f.delay = t
			}
			if d.Reason != "" {
				f.inner = d.Reason
			}
			for _, v := range d.Violations {
				if strings.Contains(v.QuotaID, "PerDay") {
					f.inner = "quota_per_day"
				}
			}
		}
	}
}

func first(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

func first2(a, b json.RawMessage) json.RawMessage {
	if len(a) > 0 {
		return a
	}
	return b
}

func str(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // not a string: ""
	return s
}

// rule is a line of the table: the kind of an error that says these words.
type rule struct {
	kind llm.Kind
	re   *regexp.Regexp
}

func words(kind llm.Kind, alternatives ...string) rule {
	return rule{kind, regexp.MustCompile(`(?i)` + strings.Join(alternatives, "|"))}
}

// byWords is asked in order; the first that matches decides.
var byWords = []rule{
	words(llm.KindTooLarge, `request too large for`, `request_too_large`, `request exceeds the maximum size`, `payload too large`,
		`entity too large`, `maximum allowed content length`, `total message size`, `body (is )?too large`, `content length exceeded`),
	words(llm.KindContextOverflow, `context_length_exceeded`, `context_length_error`, `context_window_exceeded`, `exceed_context_size`,
		`prompt_too_long`, `input_too_long`, `too_many_prompt_tokens`, `\btoo_many_tokens\b[^_]`, `prompt is too long`, `prompt too long`,
		`input is too long`, `maximum context length`, `maximum prompt length`, `context (length|window|size|limit)[^.]{0,40}(exceed|reach)`,
		`exceed[a-z]*( the)?( model'?s?)?( available| maximum)?( input)? context`, `exceeds the (available )?context`, `exceeds the context window`,
		`input tokens exceeded`, `input token count.{0,40}exceeds`, `total length of all messages is too long`,
		`reduce the length of the (messages|prompt|input)`, `too many (input )?tokens:? size limit`, `too large for model with`,
		`tokens? (is |are )?(larger|greater|more) than (the )?(max|context)`, `model_max_prompt_tokens_exceeded`,
		`number of (input )?tokens.{0,60}(exceed|larger than)`, `longer than the model'?s context`, `input length .{0,60}exceed`),
	words(llm.KindQuota, `insufficient_quota`, `insufficient balance`, `credit balance`, `billing_`, `plans & billing`, `billing details`, `billing hard limit`, `exceeded your current quota`,
		`used all available credits`, `spending limit`, `requires more credits`, `out of credits?`, `quota_per_day`, `payment required`,
		`insufficient (credits?|funds)`, `no credits? (left|remaining)`, `usage limit (has been )?reached`),
	words(llm.KindContentFilter, `content_filter`, `content management polic`, `responsibleaipolicyviolation`, `content_policy_violation`,
		`prohibited_content`, `guardrail_intervened`),
	words(llm.KindRateLimit, `rate.?limit`, `too many requests`, `too_many_requests`, `throttl`, `resource_exhausted`, `too_many_tokens_error`,
		`too many tokens, please wait`, `ratelimitreached`, `temporarily rate-limited`),
	words(llm.KindOverloaded, `overloaded`, `server is busy`, `high demand`, `no healthy upstream`, `at capacity`, `service.?unavailable`,
		`temporarily unavailable`, `engine_overloaded`),
	words(llm.KindAuth, `api_key_invalid`, `invalid_api_key`, `invalid (x-)?api[ -_]key`, `incorrect api key`, `authentication_error`,
		`authentication fails`, `unauthenticated`, `unauthorized`, `expiredtoken`, `signature expired`, `no auth credentials`, `token (has )?expired`,
		`missing authentication`),
	words(llm.KindNotFound, `model_not_found`, `not_found_error`, `deploymentnotfound`, `model .{0,80}(does not exist|not found|not exist)`,
		`unknown model`, `model_decommissioned`, `no endpoints found`, `model identifier is invalid`, `no such model`),
	words(llm.KindPermission, `permission_error`, `permission_denied`, `does not have permission`, `accessdenied`, `not authorized to`),
}

func kindOf(status int, f fields, message string) llm.Kind {
	about := strings.Join([]string{f.code, f.typ, f.inner, message, f.raw}, " \n ")
	byText := llm.Kind("")
	for _, r := range byWords {
		if r.re.MatchString(about) {
			byText = r.kind
			break
		}
	}
	switch status {
	case http.StatusUnauthorized:
		return llm.KindAuth
	case http.StatusPaymentRequired:
		return llm.KindQuota
	case http.StatusForbidden:
		return oneOf(byText, llm.KindPermission, llm.KindAuth, llm.KindQuota, llm.KindContentFilter)
	case http.StatusNotFound:
		return llm.KindNotFound
	case http.StatusRequestEntityTooLarge:
		return oneOf(byText, llm.KindTooLarge, llm.KindContextOverflow)
	case http.StatusTooManyRequests:
		return oneOf(byText, llm.KindRateLimit, llm.KindQuota, llm.KindTooLarge, llm.KindContextOverflow)
	case http.StatusServiceUnavailable, 529:
		return oneOf(byText, llm.KindOverloaded)
	case http.StatusRequestTimeout, http.StatusConflict, 425:
		return llm.KindServer
	}
	switch {
	case status >= 500:
		return oneOf(byText, llm.KindServer, llm.KindOverloaded, llm.KindContextOverflow)
	case status >= 400:
		// A 400 is about the request, whatever else its words may mention.
		return oneOf(byText, llm.KindInvalidRequest, llm.KindContextOverflow, llm.KindTooLarge, llm.KindQuota,
			llm.KindContentFilter, llm.KindAuth, llm.KindNotFound, llm.KindRateLimit, llm.KindPermission)
	}
	if byText != "" {
		return byText
	}
	switch strings.ToLower(f.typ) {
	case "server_error", "api_error", "internal", "internal_error", "internal_server_error":
		return llm.KindServer
	case "invalid_request_error":
		return llm.KindInvalidRequest
	}
	if f.code == "server_error" {
		return llm.KindServer
	}
	return llm.KindStream
}

// oneOf is k if it is among the kinds, or else the first of them.
func oneOf(k llm.Kind, kinds ...llm.Kind) llm.Kind {
	for _, o := range kinds {
		if k == o {
			return k
		}
	}
	return kinds[0]
}

var tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ([0-9.]+(?:ms|s|m|h)(?:[0-9.]+(?:ms|s))?)`)

// retryAfter is the longest wait that the answer asks for.
func retryAfter(h http.Header, f fields, message string) time.Duration {
	wait := f.delay
	for _, h := range []http.Header{h, f.headers} {
		v := h.Get("Retry-After")
		if s, err := strconv.ParseFloat(v, 64); err == nil {
			wait = max(wait, time.Duration(s*float64(time.Second)))
		} else if t, err := http.ParseTime(v); err == nil {
			now := time.Now()
			if d, err := http.ParseTime(h.Get("Date")); err == nil {
				now = d
			}
			wait = max(wait, t.Sub(now))
		}
		for _, k := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
			if ms, err := strconv.ParseFloat(h.Get(k), 64); err == nil {
				wait = max(wait, time.Duration(ms*float64(time.Millisecond)))
			}
		}
	}
	if wait > 0 {
		return wait
	}
	if m := tryAgain.FindStringSubmatch(message); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil {
			return d
		}
	}
	return 0
}

func requestID(h http.Header) string {
	return first(h.Get("Request-Id"), h.Get("X-Request-Id"), h.Get("Apim-Request-Id"), h.Get("X-Amzn-Requestid"), h.Get("Cf-Ray"))
}

var tags = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)

// text is the readable part of a body that is not JSON.
func text(body []byte) string {
	s := string(body)
	if strings.HasPrefix(strings.TrimSpace(s), "{") || strings.HasPrefix(strings.TrimSpace(s), "[") {
		return clip(strings.TrimSpace(s))
	}
	return clip(strings.Join(strings.Fields(tags.ReplaceAllString(s, " ")), " "))
}

func clip(s string) string {
	const most = 500
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
