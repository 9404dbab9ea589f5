package bedrock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/cantle-dev/cantle/llm"
)

// account is what the AWS SDK's loader finds. It is loaded when it is first
// needed.
type account struct {
	profile string

	mu   sync.Mutex
	cfg  *aws.Config
	used aws.Credentials // for the last signature
}

func (a *account) load(ctx context.Context) (*aws.Config, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cfg != nil {
		return a.cfg, nil
	}
	var opts []func(*config.LoadOptions) error
	if a.profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(a.profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		var gone config.SharedConfigProfileNotExistError
		if errors.As(err, &gone) {
			from := ""
			if name := a.name(); name != "" && name != gone.Profile {
				from = fmt.Sprintf(", which the profile %q builds on", name)
			}
			return nil, fmt.Errorf("there is no profile %q in the AWS configuration (~/.aws/config, ~/.aws/credentials)%s: name another, or make it with `aws configure --profile %s`", gone.Profile, from, gone.Profile)
		}
		return nil, fmt.Errorf("the AWS configuration%s cannot be loaded: %w", a.of(), err)
	}
	a.cfg = &cfg
	return a.cfg, nil
}

// name is that of the profile, also of one that the loader found in the
// environment.
func (a *account) name() string {
	if env, err := config.NewEnvConfig(); a.profile == "" && err == nil {
		return env.SharedConfigProfile
	}
	return a.profile
}

func (a *account) of() string {
	if name := a.name(); name != "" {
		return fmt.Sprintf(" (profile %q)", name)
	}
	return ""
}

// credentials are those of the account at this time; the SDK renews the ones
// that expire.
func (a *account) credentials(ctx context.Context) (aws.Credentials, error) {
	cfg, err := a.load(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	c, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return c, fmt.Errorf("there are no AWS credentials%s: %w: set %s, or the AWS_… variables, or sign in with `aws sso login`", a.of(), err, KeyVariable)
	}
	return c, nil
}

// renew loads everything again after credentials were refused, since other
// programs renew the files in mid-session, and reports whether they changed.
func (a *account) renew(ctx context.Context) bool {
	a.mu.Lock()
	used := a.used
	a.cfg = nil
	a.mu.Unlock()
	c, err := a.credentials(ctx)
	return err == nil && (c.AccessKeyID != used.AccessKeyID || c.SecretAccessKey != used.SecretAccessKey || c.SessionToken != used.SessionToken)
}

// signs reports whether requests are signed with the account's credentials.
func (c *client) signs() bool { return c.opts.Sign == nil && c.opts.APIKey == "" }

// stream is what once yields; once more where the credentials were refused and
// there are new ones.
func (c *client) stream(ctx context.Context, once func() iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		for fresh, again := !c.signs(), true; again; fresh = true {
			again = false
			for ev, err := range once() {
				var e *llm.Error
				if !fresh && errors.As(err, &e) && e.Kind == llm.KindAuth && e.Status != 0 && c.account.renew(ctx) {
					again = true
					break
				}
				fresh = true // something was shown
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// address is where requests go.
type address struct{ base, region string }

const defaultBase = "https://bedrock-runtime.{region}.amazonaws.com"

// partitions are the domains of regions that are not at amazonaws.com.
var partitions = []struct{ prefix, domain string }{
	{"cn-", "amazonaws.com.cn"},
	{"us-iso-", "c2s.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov"},
	{"us-isof-", "csp.hci.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"},
	{"eusc-", "amazonaws.eu"},
}

var regionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// address finds out where requests go. It reads the AWS configuration only for
// what the options leave open.
func (c *client) address(ctx context.Context) (address, error) {
	at, err := c.locate(ctx)
	if err != nil && ctx.Err() != nil {
		return at, context.Cause(ctx)
	}
	if err != nil {
		return at, &llm.Error{Kind: llm.KindAuth, Provider: c.info.Provider, Model: c.info.Name, Message: err.Error(), Err: err}
	}
	return at, nil
}

func (c *client) locate(ctx context.Context) (address, error) {
	at := address{base: strings.TrimRight(c.opts.BaseURL, "/"), region: c.opts.Region}
	if at.region == "" {
		at.region = arnRegion(c.info.Name)
	}
	own := at.base != "" && at.base != defaultBase
	named := !own || strings.Contains(at.base, "{region}") || c.signs() // the region is needed
	var cfg *aws.Config
	if c.signs() || named && at.region == "" {
		var err error
		if cfg, err = c.account.load(ctx); err != nil {
			return at, err
		}
		if at.region == "" {
			at.region = cfg.Region
		}
	}
	if named && at.region == "" {
		return at, fmt.Errorf("no AWS region%s: set the option, AWS_REGION, or the profile's region", c.account.of())
	}
	if at.region != "" && !regionName().MatchString(at.region) {
		return at, fmt.Errorf("%q is no name of an AWS region", at.region)
	}
	if !own {
		at.base = defaultBase
		if cfg != nil {
			at.base = configured(ctx, cfg)
		}
		for _, p := range partitions {
			if strings.HasPrefix(at.region, p.prefix) && strings.HasSuffix(at.base, ".{region}.amazonaws.com") {
				at.base = strings.TrimSuffix(at.base, "amazonaws.com") + p.domain
			}
		}
	}
	at.base = strings.ReplaceAll(at.base, "{region}", at.region)
	return at, nil
}

// arnRegion is the region in an ARN: arn:aws:bedrock:REGION:…
func arnRegion(name string) string {
	if f := strings.SplitN(name, ":", 5); len(f) == 5 && f[0] == "arn" {
		return f[3]
	}
	return ""
}

// configured is the base URL that the AWS configuration asks for: an endpoint
// of its own, or one that is validated for FIPS 140.
func configured(ctx context.Context, cfg *aws.Config) string {
	base := defaultBase
	if cfg.BaseEndpoint != nil && *cfg.BaseEndpoint != "" {
		base = *cfg.BaseEndpoint
	}
	for _, src := range cfg.ConfigSources {
		if s, ok := src.(interface {
			GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
		}); ok && base == defaultBase {
			if state, found, err := s.GetUseFIPSEndpoint(ctx); err == nil && found && state == aws.FIPSEndpointStateEnabled {
				base = strings.Replace(defaultBase, "runtime", "runtime-fips", 1)
			}
		}
	}
	for _, src := range cfg.ConfigSources {
		if s, ok := src.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok {
			if own, found, err := s.GetServiceBaseEndpoint(ctx, "Bedrock Runtime"); err == nil && found && own != "" {
				base = own
				break
			}
		}
	}
	return strings.TrimRight(base, "/")
}

// signer is what authenticates a request to at; nil if its key does.
func (c *client) signer(at address) func(*http.Request) error {
	switch {
	case c.opts.Sign != nil:
		return c.opts.Sign
	case c.opts.APIKey != "":
		return nil
	}
	return func(req *http.Request) error { return c.account.sign(req, at.region, time.Now()) }
}

func (a *account) sign(req *http.Request, region string, now time.Time) error {
	creds, err := a.credentials(req.Context())
	if err != nil {
		return err
	}
	body, err := req.GetBody()
	if err != nil {
		return err
	}
	defer body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return err
	}
	a.mu.Lock()
	a.used = creds
	a.mu.Unlock()
	return v4.NewSigner().SignHTTP(req.Context(), creds, req, hex.EncodeToString(sum.Sum(nil)), "bedrock", region, now)
}
