package wire

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxMessage = 2 << 10
	maxWords   = 16 << 10
	maxDepth   = 8
)

// details is what was found in an error's body, whatever its shape.
type details struct {
	message          string
	code, typ, param string
	requestID        string
	upstream         string // what a gateway quotes from the provider behind it
	embedded         int    // an HTTP status in the body
	status           int    // the one that counts
	retryDelay       string
	reset            string // epoch, seconds or milliseconds
	codes            map[string]bool
	lower            string
}

func (d *details) addCode(s string) {
	if s = strings.ToLower(strings.TrimSpace(s)); s != "" {
		if d.codes == nil {
			d.codes = map[string]bool{}
		}
		d.codes[s] = true
	}
}

func (d *details) words() string {
	if d.lower == "" {
		d.lower = strings.ToLower(clip(d.message, maxWords) + "\n" + clip(d.upstream, maxWords))
	}
	return d.lower
}

// show is the message for people.
func (d *details) show(status int) string {
	m := clip(strings.TrimSpace(d.message), maxMessage)
	if u := clip(strings.TrimSpace(d.upstream), maxMessage); u != "" && !strings.Contains(m, u) {
		if m != "" {
			m += ": "
		}
		m += u
	}
	if m != "" {
		return m
	}
	if text := http.StatusText(status); text != "" && status >= 300 {
		return "the provider says no more than " + text
	}
	return "the provider gives no reason"
}

func parseEnvelope(body []byte) details {
	var d details
	b := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\xef\xbb\xbf")))
	// Some servers frame the error as the stream that was asked for.
	if bytes.HasPrefix(b, []byte("event:")) || bytes.HasPrefix(b, []byte("data:")) {
		for line := range bytes.Lines(b) {
			if v, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				b = bytes.TrimSpace(v)
				break
			}
		}
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	ok := len(b) > 0 && dec.Decode(&v) == nil
	if len(b) > 0 && !ok {
		dec = json.NewDecoder(bytes.NewReader(forgive(b)))
		dec.UseNumber()
		ok = dec.Decode(&v) == nil
	}
	if ok && (b[0] == '{' || b[0] == '[' || b[0] == '"') {
		d.walk(v, 0)
		if d.message == "" && d.code == "" && d.typ == "" {
			d.message = string(b)
		}
		return d
	}
	if len(b) > 0 && b[0] == '<' {
		d.message = pageText(b)
		return d
	}
	d.message = string(bytes.ToValidUTF8(b, []byte("\ufffd")))
	return d
}

// walk takes what it knows from v, outermost first: what is found once is not
// overwritten by what is further in.
func (d *details) walk(v any, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case string:
		d.say(v, depth)
	case []any:
		var texts []string
		for _, item := range v {
			if s := validation(item); s != "" {
				texts = append(texts, s)
			} else {
				d.walk(item, depth+1)
			}
		}
		if len(texts) > 0 && d.message == "" {
			d.message = strings.Join(texts, "; ")
		}
	case map[string]any:
		d.object(v, depth)
	}
}

// say takes a text for the message, unless it is JSON in a string.
func (d *details) say(s string, depth int) {
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[{") {
		var v any
		dec := json.NewDecoder(strings.NewReader(t))
		dec.UseNumber()
		if dec.Decode(&v) == nil {
			d.walk(v, depth+1)
			return
		}
	}
	if d.message == "" {
		d.message = t
	} else if t != "" && t != d.message && d.upstream == "" {
		d.upstream = t
	}
}

func (d *details) object(o map[string]any, depth int) {
	// An error inside comes before what stands beside it: xAI's code is
	// a sentence beside error, OpenRouter's error is inside a chunk.
	inner := []string{"error", "Error", "base_resp"}
	if r, ok := o["response"].(map[string]any); ok && r["error"] != nil {
		d.walk(r["error"], depth+1)
	}
	for _, k := range inner {
		if o[k] != nil {
			d.walk(o[k], depth+1)
		}
	}
	if cs, ok := o["choices"].([]any); ok {
		for _, c := range cs {
			if c, ok := c.(map[string]any); ok && c["error"] != nil {
				d.walk(c["error"], depth+1)
			}
		}
	}
	for _, k := range []string{"message", "Message", "msg", "status_msg", "detail", "errors", "error_message", "error_description", "title"} {
		if o[k] != nil && (d.message == "" || k == "message") {
			d.walk(o[k], depth+1)
		}
	}
	if s := text(o["originalMessage"]); s != "" { // Bedrock: of the model
		d.upstreamOf(s)
	}
	d.identify(o)
	if in, ok := o["innererror"].(map[string]any); ok {
		d.addCode(text(in["code"]))
	}
	if m, ok := o["metadata"].(map[string]any); ok {
		d.addCode(text(m["error_type"]))
		if raw := text(m["raw"]); raw != "" {
			d.upstreamOf(raw)
		}
		if h, ok := m["headers"].(map[string]any); ok {
			for k, v := range h {
				if strings.EqualFold(k, "x-ratelimit-reset") {
					d.reset = text(v)
				}
			}
		}
	}
	if list, ok := o["details"].([]any); ok {
		for _, item := range list {
			if m, ok := item.(map[string]any); ok {
				d.google(m)
			}
		}
	}
}

// identify takes the short words that name an error.
func (d *details) identify(o map[string]any) {
	set := func(to *string, keys ...string) {
		for _, k := range keys {
			s := text(o[k])
			if s == "" || s == "error" || s == "null" || s == "response.failed" {
				continue
			}
			if n, err := strconv.Atoi(s); err == nil && n >= 100 && n < 600 && d.embedded == 0 {
				d.embedded = n
			}
			d.addCode(s)
			if _, name, ok := strings.Cut(s, "#"); ok { // AWS: com.amazon.coral.service#ThrottlingException
				d.addCode(name)
			}
			if *to == "" {
				*to = s
			}
		}
	}
	set(&d.code, "code", "status_code", "originalStatusCode", "status", "reason")
	set(&d.typ, "type", "__type", "error_type")
	if d.param == "" {
		d.param = text(o["param"])
	}
	if d.requestID == "" {
		d.requestID = text(o["request_id"])
	}
}

// upstreamOf reads what a gateway got from the provider behind it.
func (d *details) upstreamOf(raw string) {
	up := parseEnvelope([]byte(raw))
	for c := range up.codes {
		// The gateway's own status counts, not a number that it quotes.
		if _, err := strconv.Atoi(c); err != nil {
			d.addCode(c)
		}
	}
	d.upstream = up.message
	if up.upstream != "" {
		d.upstream += ": " + up.upstream
	}
	if d.retryDelay == "" {
		d.retryDelay = up.retryDelay
	}
}

// google reads one of the details of a google.rpc.Status.
func (d *details) google(m map[string]any) {
	if s := text(m["retryDelay"]); s != "" {
		d.retryDelay = s
	}
	if s := text(m["reason"]); s != "" {
		d.addCode(s)
	}
	if vs, ok := m["violations"].([]any); ok {
		for _, v := range vs {
			if v, ok := v.(map[string]any); ok && strings.Contains(strings.ToLower(text(v["quotaId"])), "perday") {
				d.addCode("perday")
			}
		}
	}
}

// validation is one entry of the list that FastAPI and its like send: where
// and what.
func validation(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		s, _ := v.(string)
		return s
	}
	msg := text(m["msg"])
	if msg == "" {
		return ""
	}
	var at []string
	if loc, ok := m["loc"].([]any); ok {
		for _, l := range loc {
			at = append(at, text(l))
		}
	}
	if len(at) == 0 {
		return msg
	}
	return strings.Join(at, ".") + ": " + msg
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return strings.TrimSuffix(v.String(), ".0") // some write 400.0
	}
	return ""
}

var (
	pageTitle = words(`(?is)<title[^>]*>(.*?)</title>`)
	pageBlind = words(`(?is)<(script|style|head)\b.*?</(script|style|head)>|<!--.*?-->|<[^>]*>`)
)

// pageText is the title of an HTML page, or the start of its text.
func pageText(b []byte) string {
	s := string(bytes.ToValidUTF8(b, nil))
	out := ""
	if m := pageTitle().FindStringSubmatch(s); m != nil {
		out = m[1]
	}
	if strings.TrimSpace(out) == "" {
		out = pageBlind().ReplaceAllString(s, " ")
	}
	out = strings.Join(strings.Fields(html.UnescapeString(out)), " ")
	if out == "" {
		return "a page with no text"
	}
	return clip(out, 200)
}

// clip shortens s to n bytes at most and an ellipsis, at the boundary of
// a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
