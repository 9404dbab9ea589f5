// Package bedrock speaks Amazon Bedrock's Converse and ConverseStream
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/) and, for Claude
// alone, Anthropic's Messages through InvokeModel, over net/http.
//
//	m := bedrock.New("us.amazon.nova-2-lite-v1:0", bedrock.Options{Region: "us-east-1"})
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(resp.Message.Text())
//
// With [Options.APIKey], a Bedrock API key, requests carry that. Else they are
// signed (AWS Signature Version 4) with what the AWS SDK's own loader finds
// when the first request is sent: the AWS_… variables of the environment,
// ~/.aws/config and ~/.aws/credentials with the programs that they name, SSO,
// and the roles of containers and machines. That loader alone reads any
// environment; it is asked for what Options leave open, and for nothing else.
// What it cannot load is an error that names the profile: a request never goes
// to another address instead.
package bedrock

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// Wire is the name of the Converse wire in [llm.Info], [llm.Origin],
// [llm.Native] and [llm.Request.Extra].
const Wire = "bedrock"

// KeyVariable is the environment variable in which users keep the key for
// [Options.APIKey]. This package does not read it.
const KeyVariable = "AWS_BEARER_TOKEN_BEDROCK"

// Options configure a model. The zero value signs with the default profile, in
// its region.
type Options struct {
	// APIKey is a Bedrock API key, sent as a bearer token in place of a
	// signature.
	APIKey string
	// Region is that of the endpoint and of the signature. It defaults to that
	// of a model which is named by its ARN, and then to that of the AWS
	// configuration.
	Region string
	// Profile is that of the AWS configuration; "" is what AWS_PROFILE says, or
	// the default one.
	Profile string
	// BaseURL may hold {region}. The default is what the AWS configuration
	// names as an endpoint, where it is read, and else
	// https://bedrock-runtime.{region}.amazonaws.com, or its like in other
	// partitions.
	BaseURL string

	// Info is what is assumed of the model. Provider defaults to "bedrock";
	// Name and Wire are set. The thinking styles of Converse are "budget" (of
	// tokens) and "adaptive" (an effort in words) for Claude, "nova"
	// (reasoningConfig), "effort" (reasoning_effort) and "qwen"
	// (reasoning_config). The default is told from the model's name; a model
	// whose style is not known is not told how to think.
	Info llm.Info
	// Family is the model behind a name that does not tell, such as the ARN of
	// an application inference profile: "anthropic.claude-sonnet-4-6".
	Family string
	Beta   []string // Claude's anthropic_beta
	Header http.Header

	// NoCache leaves cache points out. With them, for Claude and Nova, the
	// tools, the system prompt and the end of the conversation are marked for
	// the prompt cache. CacheTTL is how long Claude's is kept: "" is 5 minutes,
	// "1h" an hour.
	NoCache  bool
	CacheTTL string

	// NoStream asks for the answer in one piece, for models that cannot stream
	// or cannot stream calls.
	NoStream bool

	// Sign authenticates a request just before it is sent, in place of a
	// signature.
	Sign   func(*http.Request) error
	Client *http.Client // nil: one shared by all models
	// Stall is how long a server may send nothing before the request fails:
	// 0 is 90 seconds, negative is for ever.
	Stall time.Duration
}

// Model is a model on the Converse wire. It is safe for concurrent use.
type Model struct {
	client
	family string
	key    string // of encoded messages

	lessons wire.Lessons
}

// New makes the model with that id: one of a model, of an inference profile
// ("us.anthropic.…", "global.…"), or an ARN.
func New(name string, opts Options) *Model {
	m := &Model{client: newClient(name, Wire, opts), family: family(name)}
	if opts.Family != "" {
		m.family = family(opts.Family)
	}
	if m.info.Traits = wire.Hosts(m.info.Traits); strings.Contains(m.family, "amazon.nova") {
		m.info.Traits = wire.Hosts(opts.Info.Traits, llm.HostedWebSearch)
	}
	t := m.info.Traits
	const more = "additionalModelRequestFields"
	where := strings.Join([]string{Wire, opts.BaseURL, opts.Region, opts.Profile}, " ") // the address is known only later
	m.lessons = wire.LessonsOf(where, name, opts.APIKey, append(wire.ClaudeFields(more, more),
		wire.Optional{Name: "temperature", In: "inferenceConfig"}, wire.RefusedHosted("toolConfig"))...)
	m.key = strings.Join([]string{Wire, m.info.Provider, name, m.family, yes(t.Images), yes(t.PDF)}, " ")
	return m
}

func yes(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Info is [llm.Model].Info.
func (m *Model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return m.stream(ctx, func() iter.Seq2[llm.Event, error] {
		return wire.Sequence(
			func() (*wire.Stream, error) { return m.post(ctx, req) },
			func(s *wire.Stream) wire.Decoder { return newDecoder(m.info, s) },
		)
	})
}

// post sends req. A field that the endpoint refuses by name is left out, or
// thinking asked for otherwise, once and for good.
func (m *Model) post(ctx context.Context, req *llm.Request) (*wire.Stream, error) {
	op := "converse-stream"
	if m.opts.NoStream {
		op = "converse"
	}
	at, err := m.address(ctx)
	if err != nil {
		return nil, err
	}
	encode := func() (*wire.Body, error) { return m.body(req) }
	return m.lessons.Post(ctx, at.base+m.path(op), encode, wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Key: m.opts.APIKey, Header: m.headers(), Sign: m.signer(at), Stall: m.opts.Stall,
		Framing: wire.Framing{New: newFrames},
	})
}

// client is what the ways to call Bedrock share.
type client struct {
	opts    Options
	info    llm.Info
	account *account
}

func newClient(name, wireName string, opts Options) client {
	info := opts.Info
	info.Name, info.Wire = name, wireName
	if info.Provider == "" {
		info.Provider = "bedrock"
	}
	return client{opts: opts, info: info, account: &account{profile: opts.Profile}}
}

// path is that of an operation. Everything in the model's name that is not
// plain is escaped, as AWS does: a signature is over the path as it is sent,
// escaped once more.
func (c *client) path(op string) string {
	return "/model/" + strings.ReplaceAll(url.QueryEscape(c.info.Name), "+", "%20") + "/" + op
}

func (c *client) headers() http.Header {
	accept := "application/vnd.amazon.eventstream"
	if c.opts.NoStream {
		accept = "application/json"
	}
	return wire.Headers(http.Header{"Accept": {accept}}, c.opts.Header)
}

var (
	profilePrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(global|apac|us-gov|[a-z]{2})\.`) })
	version       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(-(20\d{6}|latest)|-v\d+(:\d+)*)+$`) })
	// notCached are the Claude models that have no prompt cache on Bedrock, and
	// budgeted those that know no adaptive thinking. Newer ones have both.
	notCached = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`claude-(v2|instant|3-(haiku|sonnet|opus|5-sonnet))`)
	})
	budgeted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`claude-(3|(opus|sonnet|haiku)-4(-[0-5])?$)`)
	})
)

// family is a model's name without the region, the account and the date:
// signatures hold within it.
func family(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = profilePrefix().ReplaceAllString(name, "")
	return version().ReplaceAllString(name, "")
}

func (m *Model) claude() bool { return strings.Contains(m.family, "claude") }
func (m *Model) nova() bool   { return strings.Contains(m.family, "amazon.nova") }

// caches reports whether the model takes cache points.
func (m *Model) caches() bool {
	return !m.opts.NoCache && (m.nova() || m.claude() && !notCached().MatchString(m.family))
}
