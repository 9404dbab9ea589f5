package fetch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// page reads an answer that is no redirect.
func (c *Client) page(u *url.URL, resp *http.Response) (*Page, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		after := resp.Header.Get("Retry-After")
		return nil, &StatusError{URL: u, Status: resp.StatusCode, RetryAfter: after[:min(len(after), 64)]}
	}
	declared := resp.Header.Get("Content-Type")
	if declared != "" && !readable(declared) && !vague(declared) {
		return nil, &TypeError{u, mediaType(declared)}
	}
	most := c.o.MaxBytes
	if t := mediaType(declared); t == "application/pdf" || t == "application/x-pdf" {
		most = c.o.MaxDocument
	}
	// One byte more than there may be says that there is more.
	raw := &io.LimitedReader{R: resp.Body, N: int64(most) + 1}
	var r io.Reader = raw
	switch enc := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(raw)
		if errors.Is(err, io.EOF) { // nothing came
			r = bytes.NewReader(nil)
			break
		}
		if err != nil {
			return nil, err
		}
		r = z
	default:
		return nil, &TypeError{u, "compressed by " + enc[:min(len(enc), 40)]}
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	cut := len(body) > most || raw.N <= 0
	if err != nil && !(cut && errors.Is(err, io.ErrUnexpectedEOF)) {
		return nil, err
	}
	body = body[:min(len(body), most)]
	p := &Page{URL: u, Type: declared, Body: body, Truncated: cut}
	if declared == "" || vague(declared) {
		if p.Type = http.DetectContentType(body); !readable(p.Type) {
			return nil, &TypeError{u, mediaType(p.Type)}
		}
	}
	return p, nil
}

func mediaType(s string) string {
	if t, _, err := mime.ParseMediaType(s); err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		return t
	}
	t, _, _ := strings.Cut(s, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	return t[:min(len(t), 100)]
}

// vague reports whether a type says no more than that there are bytes.
func vague(s string) bool {
	switch mediaType(s) {
	case "application/octet-stream", "binary/octet-stream", "application/x-download", "application/download", "application/force-download", "*/*":
		return true
	}
	return false
}

// texts are types that are text, besides text/*, +json, +xml and +yaml.
var texts = map[string]bool{
	"application/json": true, "application/xml": true, "application/javascript": true, "application/ecmascript": true,
	"application/x-javascript": true, "application/yaml": true, "application/x-yaml": true, "application/toml": true,
	"application/x-ndjson": true, "application/jsonl": true, "application/json5": true, "application/sql": true,
	"application/graphql": true, "application/x-sh": true, "application/x-httpd-php": true, "application/rtf": true,
	"application/x-tex": true, "application/typescript": true, "application/xhtml+xml": true, "image/svg+xml": true,
	"application/pdf": true, "application/x-pdf": true, "message/rfc822": true, "application/mbox": true,
}

// readable reports whether a type is text or a PDF document.
func readable(s string) bool {
	t := mediaType(s)
	for _, suffix := range []string{"+json", "+xml", "+yaml"} {
		if strings.HasSuffix(t, suffix) {
			return true
		}
	}
	return texts[t] || strings.HasPrefix(t, "text/")
}
