// Package pdf takes pages out of PDF documents: as a document of their own,
// or as text. It reads the file structure of ISO 32000-1 with its
// cross-reference tables and streams, object streams and incremental updates;
// a document whose cross-reference table is damaged is searched for its
// objects.
//
//	doc, err := pdf.Open(ctx, data)
//	...
//	three, err := doc.Extract(ctx, 1, 3, 10<<20)
//
// Documents come from anywhere. Whatever is in one, the work, the memory and
// the depth of any nesting are bounded, and what passes a bound is an error.
// Nothing in a document is executed, and scripts, embedded files and actions
// are not taken over.
package pdf

import (
	"context"
	"errors"
	"fmt"
)

// ErrEncrypted means that a document is encrypted, and so can be taken apart
// only by a program that decrypts it.
var ErrEncrypted = errors.New("pdf: the document is encrypted")

// Bounds of what is done for one document.
const (
	maxWork    = 256 << 20 // bytes looked at, also repeatedly
	maxSpace   = 128 << 20 // bytes decoded, and taken up by what was parsed
	maxObjects = 1 << 20   // in the cross-reference table
	maxDepth   = 100       // of nesting
	valueSpace = 48        // bytes that a value takes up, or thereabouts
	workCheck  = 16 << 20  // bytes of work between two looks at the context
)

// Document is a PDF document. It is for one goroutine at a time.
type Document struct {
	data    []byte
	ctx     context.Context // of the call that is running
	entries map[int]entry
	trailer dict
	objects map[int]any
	streams map[int]*objectStream
	loading map[int]bool
	pages   []page
	work    int
	checked int
	space   int
}

// page is a page, or a node of the tree that they are in, with what it
// inherits.
type page struct {
	ref       ref
	inherited dict
}

// Open reads the structure of the document in data, which must not change as
// long as the document is used.
func Open(ctx context.Context, data []byte) (*Document, error) {
	d := &Document{data: data, ctx: ctx}
	err := d.open(false)
	if err != nil && !errors.Is(err, ErrEncrypted) {
		if again := d.open(true); again == nil || errors.Is(again, ErrEncrypted) {
			err = again
		} else if over := d.over(); over != nil {
			err = over
		}
	}
	if err != nil {
		return nil, wrap(err)
	}
	return d, nil
}

func (d *Document) open(search bool) error {
	d.entries, d.objects, d.streams, d.loading = map[int]entry{}, map[int]any{}, map[int]*objectStream{}, map[int]bool{}
	d.pages, d.trailer = nil, nil
	var err error
	if search {
		err = d.search()
	} else {
		err = d.readEntries()
	}
	if err != nil {
		return err
	}
	if d.trailer["Encrypt"] != nil {
		return ErrEncrypted
	}
	return d.findPages()
}

// Pages is how many pages the document has; at least 1.
func (d *Document) Pages() int { return len(d.pages) }

// begin holds a range of pages, the first of which is page 1, against the
// document, and begins a call.
func (d *Document) begin(ctx context.Context, from, to int) error {
	if from < 1 || to < from || to > len(d.pages) {
		return fmt.Errorf("pdf: pages %d-%d of a document that has %d", from, to, len(d.pages))
	}
	d.ctx, d.work, d.checked = ctx, 0, 0
	return nil
}

// spend counts bytes that are looked at; 0 only looks at the bounds.
func (d *Document) spend(n int) error {
	d.work += n
	if d.work > maxWork {
		return errors.New("it takes too much work")
	}
	if d.work-d.checked >= workCheck || n == 0 {
		d.checked = d.work
		if d.ctx.Err() != nil {
			return context.Cause(d.ctx)
		}
	}
	return nil
}

// over reports whether a bound was passed before.
func (d *Document) over() error {
	if err := d.take(0); err != nil {
		return err
	}
	return d.spend(0)
}

// take counts bytes of memory.
func (d *Document) take(n int) error {
	if d.space += n; d.space > maxSpace {
		return fmt.Errorf("it takes more than the %d MiB of memory that it may", maxSpace>>20)
	}
	return nil
}

// findPages walks the tree of pages. A node that is met again is passed over.
func (d *Document) findPages() error {
	root, err := d.dict(d.trailer["Root"])
	if err != nil {
		return err
	}
	top, ok := root["Pages"].(ref)
	if !ok {
		return errors.New("it has no pages")
	}
	seen := map[ref]bool{}
	todo := []page{{top, dict{}}}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		v, err := d.dict(n.ref)
		if err != nil {
			return err
		}
		kids, err := d.resolve(v["Kids"])
		if err != nil {
			return err
		}
		list, ok := kids.(array)
		if !ok {
			if t, _ := v["Type"].(name); t == "Pages" || v == nil {
				continue // an empty node
			}
			d.pages = append(d.pages, n)
			continue
		}
		if seen[n.ref] {
			continue
		}
		seen[n.ref] = true
		down := n.inherited
		for _, k := range inheritable {
			if v[k] == nil {
				continue
			}
			next := dict{k: v[k]}
			for o, val := range down {
				if o != k {
					next[o] = val
				}
			}
			down = next
		}
		if err := d.take(len(list) * valueSpace); err != nil {
			return err
		}
		for i := len(list) - 1; i >= 0; i-- {
			if r, ok := list[i].(ref); ok {
				todo = append(todo, page{r, down})
			}
		}
	}
	if len(d.pages) == 0 {
		return errors.New("it has no pages")
	}
	return nil
}

// inheritable are the attributes that a page has from the nodes above it.
var inheritable = []name{"Resources", "MediaBox", "CropBox", "Rotate"}

// attributes are those of a page, with what it inherits.
func (d *Document) attributes(p page) (dict, error) {
	own, err := d.dict(p.ref)
	if err != nil {
		return nil, err
	}
	all := dict{}
	for k, v := range p.inherited {
		all[k] = v
	}
	for k, v := range own {
		all[k] = v
	}
	return all, nil
}

// wrap names the package in an error that does not name it yet.
func wrap(err error) error {
	if errors.Is(err, ErrEncrypted) {
		return err
	}
	return fmt.Errorf("pdf: %w", err)
}
