package app

import (
	"context"
	"slices"

	"github.com/cantle-dev/cantle/builtin"
)

// ToolNames lists the tools that the settings give a run, in order. Those of MCP
// servers are not among them.
func (o Options) ToolNames() ([]string, error) {
	_, b, end, err := o.judging(context.Background())
	if err != nil {
		return nil, err
	}
	defer end()
	var names []string
	for _, s := range specs(builtin.Tools(b)) {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names, nil
}
