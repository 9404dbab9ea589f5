package app

import (
	"fmt"

	"github.com/cantle-dev/cantle/internal/config"
)

// Trust says how the working directory stands: what it brings, and whether that
// takes effect.
func (o Options) Trust() (config.TrustState, error) { return config.TrustOf(o.Home, o.Dir) }

// SetTrust trusts the working directory with what it brings, or takes that back.
// The digest is that of what the user was shown: if it brings something else by
// now, that is an error, and nothing is trusted.
func (o Options) SetTrust(digest string, yes bool) error {
	if !yes {
		return config.Distrust(o.Home, o.Dir)
	}
	s, err := config.SurveyOf(o.Home, o.Dir)
	if err != nil {
		return err
	}
	if s.Digest != digest {
		return fmt.Errorf("trust: %s brings something else by now: look at it again", o.Dir)
	}
	return config.Trust(o.Home, o.Dir, s)
}
