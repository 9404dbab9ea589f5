package app

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/permission/permissiontest"
	"github.com/cantle-dev/cantle/tool"
)

// Explanation is a decision of the permission rules and how they came to it.
type Explanation = permission.Explanation

// Report is what came of a file of cases.
type Report = permissiontest.Report

// Rule is a permission rule and where it was written.
type Rule = permission.Rule

// judging makes a gate that decides as that of a run would, and the options of
// the run's tools. What it returns ends what was opened.
func (o *Options) judging(ctx context.Context) (*permission.Gate, builtin.Options, func(), error) {
	var none builtin.Options
	if err := o.resolve(); err != nil {
		return nil, none, nil, err
	}
	po, err := o.permissions()
	if err != nil {
		return nil, none, nil, err
	}
	web, _, err := o.web()
	if err != nil {
		return nil, none, nil, err
	}
	var b *box
	if o.confined() {
		if b, err = o.box(ctx, po.Roots[1:]); err != nil {
			return nil, none, nil, err
		}
	}
	g, err := o.gate(po, b)
	if err != nil {
		return nil, none, nil, errors.Join(err, b.Close())
	}
	return g, o.toolOptions(po.Roots[1:], web, b), func() { _ = b.Close() }, nil // it ran nothing
}

// Rules lists the permission rules of the settings.
func (o Options) Rules() ([]Rule, error) {
	g, _, end, err := o.judging(context.Background())
	if err != nil {
		return nil, err
	}
	defer end()
	return g.Rules(""), nil
}

// RuleReport is what is to be said of the rules of the settings.
type RuleReport struct {
	Rules int `json:"rules"`
	// Unused are the rules that name no tool.
	Unused []Rule `json:"unused,omitempty"`
}

// CheckRules looks for rules that can decide nothing, such as for a mistyped
// name. A rule that is malformed is an error.
func (o Options) CheckRules() (*RuleReport, error) {
	g, b, end, err := o.judging(context.Background())
	if err != nil {
		return nil, err
	}
	defer end()
	return &RuleReport{Rules: len(g.Rules("")), Unused: unused(g, specs(builtin.Tools(b)))}, nil
}

func specs(tools []tool.Tool) []tool.Spec {
	out := make([]tool.Spec, len(tools))
	for i, t := range tools {
		out[i] = t.Spec()
	}
	return out
}

// Explain says how the rules of the settings decide on a command line that the
// agent would run. Nothing is run.
func (o Options) Explain(command string) (Explanation, error) {
	return o.ExplainCall("Bash", []byte(command))
}

// ExplainCall says how the rules of the settings decide on a call of a tool. The
// input is a JSON object, or the one argument that matters. Nothing is run. Of
// a tool of an MCP server nothing is known but its name.
func (o Options) ExplainCall(name string, input []byte) (Explanation, error) {
	ctx := context.Background()
	g, b, end, err := o.judging(ctx)
	if err != nil {
		return Explanation{}, err
	}
	defer end()
	why, err := g.ExplainCall(ctx, builtin.Tools(b), name, string(input), o.Dir)
	if err != nil {
		return Explanation{}, Usage("%w", err)
	}
	return why, nil
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
