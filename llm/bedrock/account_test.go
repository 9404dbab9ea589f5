package bedrock_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// aws sets an AWS configuration of these files, and nothing else, up.
func aws(t *testing.T, config, credentials string) (credentialsFile string) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		f := filepath.Join(dir, name)
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Setenv("AWS_CONFIG_FILE", write("config", config))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	f := write("credentials", credentials)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", f)
	return f
}

const (
	config = `[default]
region = eu-west-1
[profile far]
region = cn-north-1
[profile fips]
region = us-east-1
use_fips_endpoint = true
[profile own]
region = us-east-1
services = s
[services s]
bedrock_runtime =
  endpoint_url = https://vpce.example.test/base/
[profile nowhere]
`
	credentials = `[default]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
aws_session_token = session-token-for-tests
[far]
aws_access_key_id = AKIDFAR
aws_secret_access_key = secret
[fips]
aws_access_key_id = AKIDFIPS
aws_secret_access_key = secret
[own]
aws_access_key_id = AKIDOWN
aws_secret_access_key = secret
[nowhere]
aws_access_key_id = AKIDNOWHERE
aws_secret_access_key = secret
`
)

const arn = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/a1b2c3"

// TestSignature computes the signature of what was sent, by the rules of AWS
// Signature Version 4.
func TestSignature(t *testing.T) {
	aws(t, config, credentials)
	for _, tt := range []struct{ name, region, path, canonical string }{
		{"us.anthropic.claude-sonnet-4-20250514-v1:0", "eu-west-1", "/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/converse-stream", "/model/us.anthropic.claude-sonnet-4-20250514-v1%253A0/converse-stream"},
		{arn, "us-west-2", "/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A123456789012%3Aapplication-inference-profile%2Fa1b2c3/converse-stream", "/model/arn%253Aaws%253Abedrock%253Aus-west-2%253A123456789012%253Aapplication-inference-profile%252Fa1b2c3/converse-stream"},
		{"odd name+~", "eu-west-1", "/model/odd%20name%2B~/converse-stream", "/model/odd%2520name%252B~/converse-stream"},
	} {
		c := &capture{body: frames(t, short)}
		m := bedrock.New(tt.name, bedrock.Options{Client: &http.Client{Transport: c}})
		if _, err := llm.Generate(t.Context(), m, hi); err != nil {
			t.Fatal(err)
		}
		if got, want := c.req.URL.String(), "https://bedrock-runtime."+tt.region+".amazonaws.com"+tt.path; got != want {
			t.Errorf("sent to %s, want %s", got, want)
		}
		if got := c.req.URL.RequestURI(); got != tt.path {
			t.Errorf("on the network the path is %s, want %s", got, tt.path)
		}
		h := c.req.Header
		auth := h.Get("Authorization")
		date := h.Get("X-Amz-Date")
		scope := date[:8] + "/" + tt.region + "/bedrock/aws4_request"
		_, rest, _ := strings.Cut(auth, "SignedHeaders=")
		names, _, _ := strings.Cut(rest, ",")
		canonical := "POST\n" + tt.canonical + "\n\n"
		for name := range strings.SplitSeq(names, ";") {
			v := h.Get(name)
			switch name {
			case "host":
				v = c.req.URL.Host
			case "content-length":
				v = strconv.FormatInt(c.req.ContentLength, 10)
			}
			canonical += name + ":" + v + "\n"
		}
		canonical += "\n" + names + "\n" + sum(c.sent)
		key := []byte("AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
		for _, part := range []string{date[:8], tt.region, "bedrock", "aws4_request", "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + sum(canonical)} {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(part))
			key = mac.Sum(nil)
		}
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" + scope + ", SignedHeaders=" + names + ", Signature=" + hex.EncodeToString(key)
		if auth != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, auth, want)
		}
		if h.Get("X-Amz-Security-Token") != "session-token-for-tests" || !slices.Contains(strings.Split(names, ";"), "x-amz-security-token") {
			t.Errorf("no session token in %v", h)
		}
	}
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestAddress(t *testing.T) {
	for name, tt := range map[string]struct {
		opts bedrock.Options
		env  [2]string
		url  string // or
		err  string
	}{
		"the default profile":              {url: "https://bedrock-runtime.eu-west-1.amazonaws.com/"},
		"the region of the options":        {opts: bedrock.Options{Region: "us-gov-west-1"}, url: "https://bedrock-runtime.us-gov-west-1.amazonaws.com/"},
		"another partition":                {opts: bedrock.Options{Profile: "far"}, url: "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/"},
		"FIPS":                             {opts: bedrock.Options{Profile: "fips"}, url: "https://bedrock-runtime-fips.us-east-1.amazonaws.com/"},
		"an endpoint of the profile":       {opts: bedrock.Options{Profile: "own"}, url: "https://vpce.example.test/base/"},
		"of the environment":               {env: [2]string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://vpce.env.test"}, url: "https://vpce.env.test/"},
		"for all services":                 {env: [2]string{"AWS_ENDPOINT_URL", "https://all.env.test"}, url: "https://all.env.test/"},
		"the profile of the environment":   {env: [2]string{"AWS_PROFILE", "far"}, url: "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/"},
		"a base URL":                       {opts: bedrock.Options{BaseURL: "https://{region}.gateway.test/b/"}, url: "https://eu-west-1.gateway.test/b/"},
		"the catalog's base URL":           {opts: bedrock.Options{BaseURL: "https://bedrock-runtime.{region}.amazonaws.com", Profile: "own"}, url: "https://vpce.example.test/base/"},
		"a key, and the profile's region":  {opts: bedrock.Options{APIKey: "bedrock-api-key"}, url: "https://bedrock-runtime.eu-west-1.amazonaws.com/"},
		"a key alone":                      {opts: bedrock.Options{APIKey: "bedrock-api-key", Region: "us-east-1", Profile: "gone"}, url: "https://bedrock-runtime.us-east-1.amazonaws.com/"},
		"a key and a base URL":             {opts: bedrock.Options{APIKey: "bedrock-api-key", BaseURL: "http://127.0.0.1:1", Profile: "gone"}, url: "http://127.0.0.1:1/"},
		"no such profile":                  {opts: bedrock.Options{Profile: "gone"}, err: `there is no profile "gone"`},
		"nor with a region":                {opts: bedrock.Options{Profile: "gone", Region: "us-east-1", BaseURL: "https://x.test"}, err: `there is no profile "gone"`},
		"no such profile of the variable":  {env: [2]string{"AWS_PROFILE", "lost"}, err: `there is no profile "lost"`},
		"a profile that leads nowhere":     {env: [2]string{"AWS_PROFILE", "chained"}, err: `which the profile "chained" builds on`},
		"nor one of the options":           {opts: bedrock.Options{Profile: "chained", Region: "us-east-1"}, err: `which the profile "chained" builds on`},
		"no region":                        {opts: bedrock.Options{Profile: "nowhere"}, err: `no AWS region (profile "nowhere")`},
		"a region that is none":            {opts: bedrock.Options{Region: "us-east-1.evil.test/"}, err: "no name of an AWS region"},
		"a configuration that is damaged":  {env: [2]string{"AWS_USE_FIPS_ENDPOINT", "perhaps"}, err: "cannot be loaded"},
		"a profile without any credential": {opts: bedrock.Options{Profile: "empty", Region: "us-east-1"}, err: `profile "empty"`},
	} {
		t.Run(name, func(t *testing.T) {
			aws(t, config+"[profile empty]\n[profile chained]\nregion = us-east-1\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = missing\n", credentials)
			if tt.env[0] != "" {
				t.Setenv(tt.env[0], tt.env[1])
			}
			for _, invoke := range []bool{false, true} {
				c := &capture{body: frames(t, short)}
				o := tt.opts
				o.Client = &http.Client{Transport: c}
				var m llm.Model = bedrock.New("m", o)
				if invoke {
					m, c.body = bedrock.NewAnthropic("m", o), chunks(t, claude...)
				}
				_, err := llm.Generate(t.Context(), m, hi)
				if tt.err != "" {
					if !llm.IsKind(err, llm.KindAuth) || !strings.Contains(err.Error(), tt.err) || c.req != nil {
						t.Errorf("%v, and %v was sent; want an error with %s, and nothing sent", err, c.req, tt.err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := c.req.URL.String(); !strings.HasPrefix(got, tt.url+"model/m/") {
					t.Errorf("sent to %s, want %s", got, tt.url)
				}
				if auth := c.req.Header.Get("Authorization"); (o.APIKey != "") != (auth == "Bearer "+o.APIKey) || o.APIKey == "" && !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 ") {
					t.Errorf("authorized by %q", auth)
				}
			}
		})
	}
}

// TestNothingIsLoaded: the configuration is first read when a request is sent.
func TestNothingIsLoaded(t *testing.T) {
	file := aws(t, config, "")
	c := &capture{body: frames(t, short)}
	m := bedrock.New("m", bedrock.Options{Client: &http.Client{Transport: c}})
	seq := m.Stream(t.Context(), hi)
	if err := os.WriteFile(file, []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Collect(seq); err != nil {
		t.Fatal(err)
	}
	signed := 0
	own := bedrock.New("m", bedrock.Options{Profile: "gone", Region: "us-east-1", Client: &http.Client{Transport: c}, Sign: func(r *http.Request) error { signed++; return nil }})
	if _, err := llm.Generate(t.Context(), own, hi); err != nil || signed != 1 || c.req.Header.Get("Authorization") != "" {
		t.Errorf("a signature of the caller's: %v, %d", err, signed)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	for _, m := range []llm.Model{own, bedrock.New("m", bedrock.Options{}), bedrock.NewAnthropic("m", bedrock.Options{})} {
		if _, err := llm.Generate(ctx, m, hi); err != why {
			t.Errorf("a context that ended: %v", err)
		}
	}
}

// rotation answers as AWS does to credentials that have expired.
type rotation struct {
	good string
	seen []string
	body []byte
}

func (c *rotation) RoundTrip(r *http.Request) (*http.Response, error) {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	id, _, _ := strings.Cut(rest, "/")
	c.seen = append(c.seen, id)
	if id != c.good {
		return wirecase.Canned{Status: 403, Body: `{"message":"The security token included in the request is expired"}`, Header: http.Header{"X-Amzn-Errortype": {"ExpiredTokenException"}}}.RoundTrip(r)
	}
	return wirecase.Canned{Body: string(c.body)}.RoundTrip(r)
}

// TestRenewal: other programs renew the credentials in mid-session.
func TestRenewal(t *testing.T) {
	file := aws(t, config, credentials)
	for _, invoke := range []bool{false, true} {
		write := func(id string) {
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(credentials, "AKIDEXAMPLE", id)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := &rotation{good: "AKID1", body: frames(t, short)}
		o := bedrock.Options{Client: &http.Client{Transport: c}}
		var m llm.Model = bedrock.New("m", o)
		if invoke {
			m, c.body = bedrock.NewAnthropic("m", o), chunks(t, claude...)
		}
		write("AKID1")
		if _, err := llm.Generate(t.Context(), m, hi); err != nil {
			t.Fatal(err)
		}
		c.good = "AKID2"
		if _, err := llm.Generate(t.Context(), m, hi); !llm.IsKind(err, llm.KindAuth) {
			t.Errorf("nothing was renewed: %v", err)
		}
		write("AKID2")
		seq := m.Stream(t.Context(), hi)
		if _, err := llm.Collect(seq); err != nil {
			t.Errorf("renewed: %v", err)
		}
		if _, err := llm.Collect(seq); err != llm.ErrUsed {
			t.Errorf("a second range: %v", err)
		}
		c.good = "AKID4"
		write("AKID3")
		if _, err := llm.Generate(t.Context(), m, hi); !llm.IsKind(err, llm.KindAuth) {
			t.Errorf("renewed, and wrong: %v", err)
		}
		if want := []string{"AKID1", "AKID1", "AKID1", "AKID2", "AKID2", "AKID3"}; !slices.Equal(c.seen, want) {
			t.Errorf("tried %v, want %v", c.seen, want)
		}
	}
}

func TestSecrets(t *testing.T) {
	aws(t, config, credentials)
	c := wirecase.Canned{Status: 400, Body: `{"message":"bad: session-token-for-tests bedrock-api-key-1"}`}
	for _, o := range []bedrock.Options{{}, {APIKey: "bedrock-api-key-1"}} {
		o.Client = &http.Client{Transport: c}
		for _, m := range []llm.Model{bedrock.New("m", o), bedrock.NewAnthropic("m", o)} {
			_, err := llm.Generate(t.Context(), m, hi)
			secret := "session-token-for-tests"
			if o.APIKey != "" {
				secret = o.APIKey
			}
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%v", err)
			}
		}
	}
}
