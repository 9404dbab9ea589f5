package app

import (
	"io"
	"path/filepath"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/permission/permissiontest"
)

// Explanation is a decision of the permission rules and how they came to it.
type Explanation = permission.Explanation

// Report is what came of a file of cases.
type Report = permissiontest.Report

// Explain says how the rules of the settings decide on a command line that the
// agent would run. Nothing is run.
func (o Options) Explain(command string) (Explanation, error) {
	if err := o.resolve(); err != nil {
		return Explanation{}, err
	}
	g, _, err := o.gate()
	if err != nil {
		return Explanation{}, err
	}
	return g.ExplainCommand(command, o.Dir), nil
}

// TestRules holds the rules of the settings to a file of cases: see package
// permissiontest. Nothing is run.
func (o Options) TestRules(r io.Reader) (*Report, error) {
	if err := o.resolve(); err != nil {
		return nil, err
	}
	po, err := o.permissions()
	if err != nil {
		return nil, err
	}
	report, err := permissiontest.Run(r, permissiontest.Options{Base: po})
	if err != nil {
		return nil, Usage("%w", err)
	}
	return report, nil
}

// resolve takes the links out of the working directory.
func (o *Options) resolve() error {
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return Usage("the working directory: %w", err)
	}
	o.Dir = dir
	return nil
}
