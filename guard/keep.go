package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/tool"
)

// keepMax is the size of the files that are looked at. A file with keys is small.
const keepMax = 4 << 20

// keep refuses a call that would write to a file what stands in the place of
// a key that the file has: the key would be lost.
func (r *Redactor) keep(ctx context.Context, t *agent.Turn, c *tool.Call) *tool.Result {
	if !bytes.Contains(c.Input, []byte("key of ")) {
		return nil
	}
	p := r.now()
	name := ""
	if r.opts.Keys != nil {
		for _, k := range r.opts.Keys() {
			if n := clean(k.Name); bytes.Contains(c.Input, []byte("key of "+n+"]")) {
				name = n
			}
		}
	}
	if name == "" {
		return nil
	}
	access := c.Access
	if access == nil {
		if tl := t.Tool(c.Name); tl != nil && tl.Spec().Access != nil {
			access, _ = tl.Spec().Access(ctx, c) // its error is told where the call is made
		}
	}
	for _, a := range access {
		if a.Op == tool.Write && a.Target != tool.Anywhere && p.holds(a.Target) {
			return tool.Error(fmt.Sprintf("Not run: %s has the key of %s in it, and [key of %s] stands in its place in what you are shown. Written as text it would take the key out of the file. "+
				"Change the lines around it with Edit, or leave that line to the user.", a.Target, name, name))
		}
	}
	return nil
}

// holds reports whether a file has a key in it. One that cannot be read has none.
func (p pass) holds(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, keepMax))
	if err != nil {
		return false
	}
	for _, f := range p.finders {
		if spans, _ := f.scan(string(b), true); len(spans) > 0 {
			return true
		}
	}
	return false
}
