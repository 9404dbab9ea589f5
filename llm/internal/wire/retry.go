package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter keeps a nonsense hint from overflowing a Duration.
const maxRetryAfter = 365 * 24 * time.Hour

// retryAfter is how long the provider asks to wait: what its headers say or,
// where they say nothing, its body, or when the limit that was met is reset.
func retryAfter(h http.Header, d *details, now time.Time) time.Duration {
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		now = t // compare the server's times with the server's clock
	}
	// Some send both forms and leave one at 0: the larger is meant.
	wait := max(
		seconds(h.Get("Retry-After"), now),
		millis(h.Get("Retry-After-Ms")), millis(h.Get("X-Ms-Retry-After-Ms")),
	)
	if wait > 0 {
		return wait
	}
	if wait = span(d.retryDelay); wait > 0 {
		return wait
	}
	if m := tryAgain().FindStringSubmatch(d.words()); m != nil {
		unit := m[2]
		switch {
		case unit == "", strings.HasPrefix(unit, "sec"):
			unit = "s"
		case strings.HasPrefix(unit, "min"):
			unit = "m"
		case strings.HasPrefix(unit, "hour"):
			unit = "h"
		case strings.HasPrefix(unit, "milli"):
			unit = "ms"
		}
		if wait = span(m[1] + unit); wait > 0 {
			return wait
		}
	}
	if m := backOn().FindStringSubmatch(d.words()); m != nil {
		form, v := "2006-01-02 15:04", m[1]+" "+m[2]
		if m[2] == "" {
			form, v = "2006-01-02", m[1]
		}
		if t, err := time.Parse(form, v); err == nil && t.After(now) {
			return min(t.Sub(now), maxRetryAfter)
		}
	}
	return resetAfter(h, d, now)
}

// backOn is how it is said when a quota comes back.
var backOn = words(`(?:regain access|resets?|available again|renews?) (?:on|at) (\d{4}-\d\d-\d\d)(?:t| at | )?(?:(\d\d:\d\d)(?::\d\d)?(?: ?utc|z))?`)

var tryAgain = words(`(?:(?:try again|retry|wait|available)(?: your request)?(?: in| after| for)?) (?:about |approximately )?((?:\d+h)?(?:\d+m)?(?:\d+(?:\.\d+)?))\s?(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h)\b`)

// resetAfter reads the headers that say when a limit is full again, of the
// limits that have nothing left.
func resetAfter(h http.Header, d *details, now time.Time) time.Duration {
	if wait := epoch(d.reset, now); wait > 0 {
		return wait
	}
	var wait time.Duration
	for name, vs := range h {
		n := strings.ToLower(name)
		if !strings.Contains(n, "ratelimit") || len(vs) == 0 {
			continue
		}
		var remaining, v string
		switch {
		case strings.HasSuffix(n, "-reset"): // anthropic-ratelimit-tokens-reset, x-ratelimit-reset
			remaining = strings.TrimSuffix(n, "reset") + "remaining"
			v = vs[0]
		case strings.HasPrefix(n, "x-ratelimit-reset-"):
			remaining = "x-ratelimit-remaining-" + strings.TrimPrefix(n, "x-ratelimit-reset-")
			v = vs[0]
		default:
			continue
		}
		if left, err := strconv.ParseFloat(h.Get(remaining), 64); err != nil || left > 0 {
			continue
		}
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			wait = max(wait, min(t.Sub(now), maxRetryAfter))
		} else {
			wait = max(wait, epoch(v, now), span(v))
		}
	}
	return wait
}

// seconds reads Retry-After: a number of seconds, or a date.
func seconds(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return float(f, time.Second)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(t.Sub(now), 0), maxRetryAfter)
	}
	return span(v)
}

func millis(v string) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil {
		return 0
	}
	return float(f, time.Millisecond)
}

// span reads "17.4s", "6m0s", "12ms", or a plain number of seconds.
func span(v string) time.Duration {
	v = strings.TrimSpace(v)
	if d, err := time.ParseDuration(v); err == nil {
		return min(max(d, 0), maxRetryAfter)
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil && f < 1e8 {
		return float(f, time.Second)
	}
	return 0
}

// epoch reads a point of time since 1970 in seconds or milliseconds.
func epoch(v string, now time.Time) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || f < 1e9 || f > 1e14 {
		return 0
	}
	if f < 1e11 {
		f *= 1000
	}
	return min(max(time.UnixMilli(int64(f)).Sub(now), 0), maxRetryAfter)
}

func float(f float64, unit time.Duration) time.Duration {
	if math.IsNaN(f) || f <= 0 {
		return 0
	}
	if f >= float64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(f * float64(unit))
}

func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid", "Apim-Request-Id", "X-Goog-Request-Id", "X-Debug-Trace-Id", "Cf-Ray"} {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}
