package pdf

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Extract makes a document of the pages from and to and those between; the
// first page is 1. What would have more than limit bytes is an error. Forms,
// links, bookmarks, scripts and attached files stay behind.
func (d *Document) Extract(ctx context.Context, from, to, limit int) ([]byte, error) {
	if err := d.begin(ctx, from, to); err != nil {
		return nil, err
	}
	w := &writer{d: d, limit: limit, nums: map[ref]int{}, isPage: map[ref]bool{}, next: 3}
	for _, p := range d.pages {
		w.isPage[p.ref] = true
	}
	if err := w.write(d.pages[from-1 : to]); err != nil {
		return nil, fmt.Errorf("pdf: pages %d-%d: %w", from, to, err)
	}
	return w.out.Bytes(), nil
}

// writer copies objects into a new document.
type writer struct {
	d      *Document
	limit  int
	out    bytes.Buffer
	at     []int       // where the objects are in out, by their numbers; 0 if nowhere
	nums   map[ref]int // the new numbers of objects
	isPage map[ref]bool
	next   int
	todo   []ref
}

// left are the attributes of a page that lead out of it.
var left = []name{"Parent", "B", "StructParents", "AA", "PieceInfo", "Annots", "Thumb", "Metadata", "AF", "PresSteps", "DPart"}

func (w *writer) write(pages []page) error {
	w.out.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	kids := array{}
	for _, p := range pages {
		own, err := w.d.attributes(p)
		if err != nil {
			return err
		}
		own = maps.Clone(own)
		annots, err := w.annots(own["Annots"])
		if err != nil {
			return err
		}
		for _, k := range left {
			delete(own, k)
		}
		own["Type"], own["Parent"] = name("Page"), fresh(2)
		if len(annots) > 0 {
			own["Annots"] = annots
		}
		num := w.next
		w.next++
		kids = append(kids, fresh(num))
		if err := w.object(num, own); err != nil {
			return err
		}
	}
	catalog := dict{"Type": name("Catalog"), "Pages": fresh(2)}
	root, err := w.d.dict(w.d.trailer["Root"])
	if err != nil {
		return err
	}
	if oc := root["OCProperties"]; oc != nil { // which layers are hidden
		catalog["OCProperties"] = oc
	}
	if err := w.object(1, catalog); err != nil {
		return err
	}
	if err := w.object(2, dict{"Type": name("Pages"), "Kids": kids, "Count": number(strconv.Itoa(len(kids)))}); err != nil {
		return err
	}
	for len(w.todo) > 0 {
		r := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		v, err := w.d.resolve(r)
		if err != nil {
			return err
		}
		if err := w.object(w.nums[r], v); err != nil {
			return err
		}
	}
	w.table()
	return nil
}

// annots are the annotations that show something, without what they do.
func (w *writer) annots(v any) (array, error) {
	v, err := w.d.resolve(v)
	list, _ := v.(array)
	var out array
	for _, a := range list {
		m, err := w.d.dict(a)
		if err != nil {
			return nil, err
		}
		if m == nil || m["Subtype"] == name("Link") || m["Subtype"] == name("Popup") || m["Subtype"] == name("FileAttachment") {
			continue
		}
		m = maps.Clone(m)
		for _, k := range []name{"Parent", "P", "Popup", "A", "AA", "PA", "Dest", "StructParent", "IRT", "FS", "AF", "Kids"} {
			delete(m, k)
		}
		out = append(out, m)
	}
	return out, err
}

// fresh is a reference to an object of the new document.
type fresh int

func (w *writer) object(num int, v any) error {
	for len(w.at) <= num {
		w.at = append(w.at, 0)
	}
	w.at[num] = w.out.Len()
	fmt.Fprintf(&w.out, "%d 0 obj\n", num)
	if err := w.value(v, 0); err != nil {
		return err
	}
	w.out.WriteString("\nendobj\n")
	return nil
}

func (w *writer) value(v any, depth int) error {
	if err := w.d.spend(1); err != nil {
		return err
	}
	if w.out.Len() > w.limit {
		return &LargeError{w.limit}
	}
	if depth > 2*maxDepth {
		return fmt.Errorf("it is nested more than %d levels deep", 2*maxDepth)
	}
	switch v := v.(type) {
	case nil:
		w.out.WriteString("null")
	case bool:
		w.out.WriteString(strconv.FormatBool(v))
	case number:
		w.out.WriteString(string(v))
	case name:
		w.name(v)
	case text:
		fmt.Fprintf(&w.out, "<%x>", string(v))
	case fresh:
		fmt.Fprintf(&w.out, "%d 0 R", v)
	case ref:
		return w.ref(v)
	case array:
		w.out.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				w.out.WriteByte(' ')
			}
			if err := w.value(e, depth+1); err != nil {
				return err
			}
		}
		w.out.WriteByte(']')
	case dict:
		return w.dict(v, depth)
	case stream:
		m := maps.Clone(v.dict)
		m["Length"] = number(strconv.Itoa(len(v.raw)))
		if err := w.dict(m, depth); err != nil {
			return err
		}
		if w.out.Len()+len(v.raw) > w.limit {
			return &LargeError{w.limit}
		}
		w.out.WriteString("\nstream\n")
		w.out.Write(v.raw)
		w.out.WriteString("\nendstream")
	default:
		return fmt.Errorf("%.20q is among its values", fmt.Sprint(v))
	}
	return nil
}

// ref refers to an object and has it copied. Another page is not copied.
func (w *writer) ref(r ref) error {
	num, ok := w.nums[r]
	if !ok {
		v, err := w.d.dict(r)
		if err != nil {
			return err
		}
		if t := v["Type"]; w.isPage[r] || t == name("Pages") || t == name("Catalog") {
			w.out.WriteString("null")
			return nil
		}
		num = w.next
		w.next++
		w.nums[r] = num
		w.todo = append(w.todo, r)
	}
	fmt.Fprintf(&w.out, "%d 0 R", num)
	return nil
}

func (w *writer) dict(m dict, depth int) error {
	w.out.WriteString("<<")
	for _, k := range slices.SortedFunc(maps.Keys(m), func(a, b name) int { return cmp.Compare(a, b) }) {
		w.name(k)
		w.out.WriteByte(' ')
		if err := w.value(m[k], depth+1); err != nil {
			return err
		}
	}
	w.out.WriteString(">>")
	return nil
}

func (w *writer) name(n name) {
	w.out.WriteByte('/')
	for i := range len(n) {
		if c := n[i]; c > ' ' && c < 0x7F && c != '#' && !delimiter(c) {
			w.out.WriteByte(c)
		} else {
			fmt.Fprintf(&w.out, "#%02x", c)
		}
	}
}

// table writes the cross-reference table and the trailer.
func (w *writer) table() {
	at := w.out.Len()
	var b strings.Builder
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(w.at))
	for _, o := range w.at[1:] {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(w.at), at)
	w.out.WriteString(b.String())
}

// LargeError means that a document of the pages would have more bytes than the
// limit that was set.
type LargeError struct{ Limit int }

func (e *LargeError) Error() string { return fmt.Sprintf("they have more than %d bytes", e.Limit) }
