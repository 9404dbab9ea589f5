package wire

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Classify makes an [llm.Error] of a provider's failure: of an answer that is
// not 2xx, or of an error object that came in a 2xx answer (status 200, body
// the object or the document around it). The body may be JSON of any
// provider's shape, plain text, HTML, or nothing. It is the one place of the
// module that looks at the text of an error.
//
// Provider, Model and Partial are the caller's to set.
func Classify(status int, header http.Header, body []byte) *llm.Error {
	d := parseEnvelope(body)
	if t, _, _ := strings.Cut(header.Get("X-Amzn-Errortype"), ":"); t != "" {
		d.addCode(t)
		if d.typ == "" {
			d.typ = t
		}
	}
	d.status = status
	if status < 300 {
		d.status = 0
	}
	if d.embedded >= 300 && d.embedded < 600 && d.status == 0 {
		d.status = d.embedded
	}
	kind, rejects := d.kind()
	e := &llm.Error{
		Kind: kind, Status: status, Rejected: rejects,
		Code: d.code, Type: d.typ, Param: d.param, Message: d.show(status),
		RequestID: requestID(header),
	}
	if e.RequestID == "" {
		e.RequestID = d.requestID
	}
	e.NoRetry = strings.EqualFold(header.Get("X-Should-Retry"), "false")
	if status < 300 && e.Kind != llm.KindRateLimit {
		header = nil // some send Retry-After with every answer: it is not about this failure
	}
	if e.Kind.Retryable() || e.Kind == llm.KindQuota {
		e.RetryAfter = retryAfter(header, &d, time.Now())
	}
	return e
}

// A rule gives a kind to errors whose code, or whose text, matches. Codes are
// what the provider calls code, type, status or reason, in lower case; the
// text is all that it says in words, in lower case.
type rule struct {
	kind llm.Kind
	// rejects is what [llm.Error].Rejected says.
	rejects string
	codes   []string              // any of them is enough
	text    func() *regexp.Regexp // nil: codes only
	// on lists the statuses that the text counts for; nil is all. 0 stands for
	// an error in mid-stream that has no status.
	on []int
	// off lists the statuses that neither codes nor text count for.
	off []int
}

// words compiles a pattern when it is first needed: a program that meets no
// error does not pay for the table.
func words(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var request = []int{0, 400, 413, 422, 500}

// rules are in order: the first that matches decides, and where none does the
// status does. What is most particular comes first: a provider that calls
// everything an invalid request says in words what is wrong.
var rules = []rule{
	{
		kind:  llm.KindQuota,
		codes: []string{"insufficient_quota", "insufficient_balance", "billing_not_active", "billing_error", "billing_hard_limit_reached", "insufficient_credits", "payment_required", "credits_exhausted", "perday", "servicequotaexceededexception"},
		text:  words(`credit balance is too low|insufficient (balance|credits?|funds|quota)|(used|spent) all (of )?(your |the )?(available )?credits|(monthly|spending|spend|billing) (spending |hard )?limit|requires more credits|out of credits|no (remaining )?credits|never purchased credits|run out of credits|add (more )?(credits|funds)|too many tokens per day|payment required|account is (in arrears|suspended)|billing (is )?not active|reached your specified api usage limits|check your plan and billing.*limit: 0\b`),
		on:    []int{0, 400, 402, 403, 429},
	},
	{
		// Gemini says this of a limit by the minute, too.
		kind: llm.KindQuota,
		text: words(`exceeded your current quota|quota (has been )?exhausted|exceeded your (monthly|weekly|daily) (usage|quota)`),
		off:  []int{resourceExhausted},
	},
	{
		kind:  llm.KindContentFilter,
		codes: []string{"content_filter", "content_filter_error", "responsibleaipolicyviolation", "content_policy_violation", "moderation_blocked", "data_inspection_failed", "sensitive_content"},
		text:  words(`content management policy|blocked by (the )?content filter|flagged as potentially violating|requires moderation .*flagged|input (text|data) may contain inappropriate`),
	},
	{
		// What a provider says of an image that it does not take: its format, its
		// size, or that it takes none. Without the image the request is sound.
		kind: llm.KindInvalidRequest, rejects: llm.RejectedMedia,
		codes: []string{
			"invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error",
			"invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found",
		},
		text: words(`(could not|cannot|can't|unable to|failed to|error while) (process|decode|load|open|parse|read|identify|download(ing)?|fetch)( the| this| input| provided)* (image|pdf|document|picture)` +
			`|\bimage (exceeds|is too (large|small)|too large|data .*(invalid|not valid)|format .*(not supported|unsupported|invalid)|dimensions? .*exceed|file is empty)` +
			`|image dimensions exceed|(image|pdf|document|media)s? (specified|provided|uploaded)?.{0,20}(is|was|are) (not valid|invalid|corrupt\w*|password protected|unsupported)|invalid (base64 )?(image|pdf)( data| url| format|\b)` +
			`|(unsupported|invalid|unknown) (image|document|media|mime)[ _-]?(media )?(type|format)|provided image is not valid|unsupported image|document has no pages|maximum of \d+ (pdf )?pages` +
			`|media_type: input should be|using the \S+ media type, but|only image types are supported|(image|vision|multimodal|pdf|document|media) (inputs?|content|blocks?)( types?)? (is|are) (not supported|unsupported|only supported)` +
			`|(does not|doesn't|do not|don't|not) (currently )?support (the )?(image|vision|pdf|multimodal|document)|no endpoints found that support (image|file)|not a multimodal model|at most \d+ (image|pdf|document)\(?s?\)? may be provided` +
			`|missing data required for image|image exceeds max pixels|unknown variant .{0,3}image_url|cannot identify image file|image_url is only supported`),
		on: []int{0, 400, 404, 413, 415, 422, 500},
	},
	{
		// One request over the budget of a minute never succeeds by waiting.
		kind: llm.KindTooLarge,
		text: words(`request too large for .*(limit|requested)`),
	},
	{
		kind:  llm.KindContextOverflow,
		codes: []string{"context_length_exceeded", "exceed_context_size_error", "too_many_prompt_tokens", "context_window_exceeded", "model_context_window_exceeded", "context_overflow", "string_above_max_length", "tokens_limit_reached", "model_max_prompt_tokens_exceeded", "context_length_error", "input_too_long", "prompt_too_long"},
		off:   []int{401, 402, 403, 404},
	},
	{
		kind:  llm.KindContextOverflow,
		codes: []string{"too_many_tokens"},
		text: words(`(prompt|input|conversation) (is )?too long|prompt contains too many tokens` +
			`|(maximum|max|model'?s?) (model )?(context|prompt) (length|window|size)` +
			`|(exceed\w*|larger than|longer than|greater than|over|beyond) (the |this |its |your )?(model'?s? |available |maximum |max |allowed )*(context|input|prompt) ?(length|window|size|limit|tokens?)` +
			`|context (length|window|size|limit) (is |was |has been )?(exceed|overflow|reached|too small)` +
			`|input token count.*(exceeds|only supports up to)|input tokens exceeded|number of input tokens exceeds|exceeds? the maximum number of (input )?tokens` +
			`|total length of all messages is too long|reduce the length of (the |your )?(messages|prompt|input)` +
			`|too many tokens: size limit|too large for model with|tokens? (in .* )?exceeds? (the )?(model|context|maximum)` +
			`|request \(\d+ tokens\) exceeds|cannot truncate prompt|n_keep.*n_ctx` +
			`|token count of \d+ exceeds|exceeded model token limit|tokens in request more than max|prompt exceeds (the )?max(imum)? length|range of input length should be` +
			"|input tokens exceed|`inputs` tokens \\+|longer than the maximum model length|too many input tokens|max size: \\d+ tokens"),
		on: request,
	},
	{
		kind:  llm.KindTooLarge,
		codes: []string{"request_too_large", "payload_too_large", "requestentitytoolarge", "request_entity_too_large"},
		text:  words(`exceeds the maximum size|maximum allowed content length|total message size|(payload|entity|body) (is )?too large|payload size exceeds|request body .*(too large|exceed)`),
		on:    request,
	},
	{
		kind: llm.KindPermission,
		text: words(`insufficient permissions|missing scopes`),
		on:   []int{401, 403},
	},
	{
		kind:  llm.KindAuth,
		codes: []string{"invalid_api_key", "authentication_error", "unauthenticated", "unauthorized", "api_key_invalid", "invalid_authentication_error", "unrecognizedclientexception", "expiredtokenexception", "invalidsignatureexception", "missingauthenticationtokenexception", "invalidclienttokenid", "incompletesignatureexception"},
		text:  words(`(incorrect|invalid|missing|no|expired|wrong) (x-)?api[ -]?key|api[ -]?key (is )?(not valid|invalid|missing|expired|not found|required)|make sure your api key is valid|invalid x-api-key|signature expired|login fail|security token .*(invalid|expired)|(bearer|access|auth\w*) token .*(invalid|expired|malformed)`),
		on:    []int{0, 400, 401, 403},
	},
	{
		kind:  llm.KindNotFound,
		codes: []string{"model_not_found", "not_found_error", "not_found", "deploymentnotfound", "model_decommissioned", "model_not_available", "invalid_model", "resourcenotfoundexception", "model_not_supported", "unknown_model"},
		text:  words(`\bmodels?\b.{0,200}?(not found|does not exist|doesn't exist|no longer available|has been (removed|deprecated|decommissioned|retired)|is not a valid model|was removed)|^invalid model|(unknown|no such) model|not a valid model id|model identifier is invalid`),
		on:    []int{0, 400, 404, 410, 422, 500},
	},
	{
		// A server at home has not the memory that the model takes, and will not
		// have it in a second.
		kind: llm.KindInvalidRequest,
		text: words(`model requires more (system |gpu )?memory|insufficient (system|memory) resources|(insufficient|not enough) (system |gpu )?memory to load`),
		on:   []int{0, 400, 500, 503},
	},
	{
		kind:  llm.KindOverloaded,
		codes: []string{"overloaded_error", "overloaded", "engine_overloaded", "engine_overloaded_error", "server_overloaded", "server_is_overloaded", "slow_down", "unavailable", "serviceunavailableexception", "service_unavailable", "serviceunavailable", "service_unavailable_error", "modelnotreadyexception", "model_overloaded", "unavailable_error"},
		// A prompt that the words are quoted from may be in a 400.
		text: words(`\boverloaded\b|currently experiencing high demand|temporarily unavailable|no available (server|capacity|worker)|loading model|model is (still )?loading`),
		on:   []int{0, 429, 498, 500, 502, 503, 529},
	},
	{
		kind:  llm.KindRateLimit,
		codes: []string{"rate_limit_error", "rate_limit_exceeded", "rate_limit", "ratelimitreached", "resource_exhausted", "throttlingexception", "throttling", "toomanyrequestsexception", "too_many_requests", "too_many_tokens_error", "rate_limited", "tokens_per_minute"},
		text:  words(`rate[- ]?limit|too many requests|throttled`),
		on:    []int{0, 429},
		off:   []int{413},
	},
	{
		// With the status of a wrong request it is no matter of waiting.
		kind: llm.KindContextOverflow,
		text: words(`too many tokens`),
		on:   []int{400, 413, 422},
	},
	{
		kind:  llm.KindPermission,
		codes: []string{"permission_error", "permission_denied", "accessdeniedexception", "access_denied", "forbidden"},
	},
	{
		kind: llm.KindServer,
		codes: []string{
			"server_error", "api_error", "internal_error", "internal_server_error", "internal", "internalserverexception", "internalfailure", "internalserviceexception",
			"modelerrorexception", "modelstreamerrorexception", "modeltimeoutexception", "timeout_error", "deadline_exceeded", "upstream_error", "bad_gateway", "provider_unavailable",
		},
		// A gateway's word for its own failure is nothing against a 4xx.
		off: []int{400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 429, 503, 529},
	},
	{
		kind:  llm.KindInvalidRequest,
		codes: []string{"invalid_request_error", "invalid_argument", "badrequesterror", "bad_request", "validationexception", "tool_use_failed", "invalid_request", "failed_precondition", "unprocessable_entity", "invalid_prompt", "validation_error"},
		on:    []int{0},
	},
}

// resourceExhausted stands in a rule's off list for Google's status of that
// name, which is no HTTP status.
const resourceExhausted = -1

func (d *details) kind() (kind llm.Kind, rejects string) {
	for i := range rules {
		if rules[i].matches(d) {
			return rules[i].kind, rules[i].rejects
		}
	}
	return statusKind(d.status), ""
}

func (r *rule) matches(d *details) bool {
	for _, s := range r.off {
		if s == d.status || s == resourceExhausted && d.codes["resource_exhausted"] {
			return false
		}
	}
	// A status of 5xx says that the server failed, whatever type a gateway
	// puts beside it.
	if r.kind == llm.KindInvalidRequest && r.text == nil && d.status != 0 {
		return false
	}
	for _, c := range r.codes {
		if d.codes[c] {
			return true
		}
	}
	if r.text == nil || !r.counts(d.status) {
		return false
	}
	return r.text().MatchString(d.words())
}

func (r *rule) counts(status int) bool {
	if r.on == nil {
		return true
	}
	for _, s := range r.on {
		if s == status {
			return true
		}
	}
	return false
}

// statusKind is the kind of an error that says nothing more than its status;
// status 0 is an error in mid-stream.
func statusKind(status int) llm.Kind {
	switch status {
	case 0:
		return llm.KindStream
	case 401, 407:
		return llm.KindAuth
	case 402:
		return llm.KindQuota
	case 403, 451:
		return llm.KindPermission
	case 404, 410:
		return llm.KindNotFound
	case 413:
		return llm.KindTooLarge
	case 429:
		return llm.KindRateLimit
	case 408, 409, 425, 499:
		return llm.KindServer
	case 498, 503, 529:
		return llm.KindOverloaded
	}
	if status >= 500 {
		return llm.KindServer
	}
	return llm.KindInvalidRequest
}
