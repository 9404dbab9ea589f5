package session_test

import (
	"testing"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/sessiontest"
)

func TestMemory(t *testing.T) {
	sessiontest.TestStore(t, sessiontest.Options{Open: func(*testing.T) session.Store { return new(session.Memory) }})
}
