package cli

import (
	"errors"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// advise is an error with the way out of it, for who runs a session.
func advise(err error) string {
	text := adviseAlways(err)
	if _, ok := errors.AsType[*session.LockedError](err); ok {
		text += "\n  Go on in a copy with --fork."
	}
	return text
}

// adviseAlways is an error with the way out of it, whatever the command.
func adviseAlways(err error) string {
	text := err.Error()
	var e *llm.Error
	var corrupt *session.CorruptError
	switch {
	case errors.As(err, &e):
		if a := wayOut(e); a != "" {
			text += "\n  " + a
		}
	case errors.As(err, &corrupt):
		text += "\n  Copy what can be read into a new session: cantle sessions salvage " + corrupt.Session
	}
	return text
}

func wayOut(e *llm.Error) string {
	switch e.Kind {
	case llm.KindAuth:
		if e.NoKey {
			return "No key is configured for " + e.Provider + ": name the variable that has it in providers." + e.Provider + ".apiKeyEnv, or store one with cantle login " + e.Provider + "."
		}
		return "Check the key of " + e.Provider + ": cantle doctor says which variable it is read from."
	case llm.KindPermission:
		return "The key may not use this model: use another one, or ask whoever manages the account."
	case llm.KindNotFound:
		address := "the address: it is providers." + e.Provider + ".baseUrl in the settings, or else the provider's own, and ends before the path of the wire."
		if strings.Contains(e.Message, "check the base URL") { // it was no API that answered
			return "Check " + address
		}
		return "Check the model's name: cantle models says how models are named. Check also " + address
	case llm.KindContextOverflow:
		return "The conversation is longer than the model's window: begin a new session, or use a model with a larger one."
	case llm.KindTooLarge:
		return "The request is too large: leave files or images out, or begin a new session."
	case llm.KindRateLimit:
		return "Wait a little and go on with --continue."
	case llm.KindQuota:
		return "The account has no credit left: waiting does not help."
	case llm.KindOverloaded, llm.KindServer:
		return "The provider has trouble: go on with --continue later, or use another model."
	case llm.KindNetwork:
		return "Check the address, the network and the proxy; the session is kept: go on with --continue."
	case llm.KindStalled, llm.KindTruncated, llm.KindStream, llm.KindCorrupt:
		return "The answer broke off; the session is kept: go on with --continue."
	case llm.KindContentFilter:
		return "The provider's filter blocked the prompt: put it otherwise."
	}
	return ""
}
