package app

import (
	"fmt"

	"github.com/cantle-dev/cantle/internal/config"
)

// Project is the folder whose settings hold in the working directory.
func (o Options) Project() string { return config.ProjectDir(o.Home, o.Dir) }

// Trust says how the project's folder stands: what it brings, and whether that
// takes effect.
func (o Options) Trust() (config.TrustState, error) { return config.TrustOf(o.Home, o.Project()) }

// SetTrust trusts the project's folder with what it brings, or takes that back.
// The digest is that of what the user was shown: if it brings something else by
// now, that is an error, and nothing is trusted.
func (o Options) SetTrust(digest string, yes bool) error {
	dir := o.Project()
	if !yes {
		return config.Distrust(o.Home, dir)
	}
	s, err := config.SurveyOf(o.Home, dir)
	if err != nil {
		return err
	}
	if s.Digest != digest {
		return fmt.Errorf("trust: %s brings something else by now: look at it again", dir)
	}
	return config.Trust(o.Home, dir, s)
}
