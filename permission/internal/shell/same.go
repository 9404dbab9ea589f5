package shell

import (
	"reflect"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var (
	posType     = reflect.TypeFor[syntax.Pos]()
	commentType = reflect.TypeFor[[]syntax.Comment]()
)

// sameTree says that two trees mean the same: that they differ in nothing but
// places, comments, and two spellings of one thing.
func sameTree(a, b *syntax.File) bool {
	return sameValue(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func sameValue(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	if a.Type() == posType || a.Type() == commentType {
		return true
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		if x, ok := a.Interface().(*syntax.Redirect); ok {
			y := b.Interface().(*syntax.Redirect)
			if x.Op == syntax.DashHdoc && y.Op == syntax.DashHdoc {
				return sameDocument(x, y)
			}
		}
		return sameValue(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			switch a.Type().Field(i).Name {
			case "Backquotes", "Bracket":
				continue
			}
			if !sameValue(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Uint32, reflect.Uint8, reflect.Uint:
		return a.Uint() == b.Uint()
	case reflect.Int:
		return a.Int() == b.Int()
	}
	return false
}

// sameDocument compares here-documents whose leading tabs mean nothing.
func sameDocument(a, b *syntax.Redirect) bool {
	if !sameValue(reflect.ValueOf(a.Word).Elem(), reflect.ValueOf(b.Word).Elem()) || (a.Hdoc == nil) != (b.Hdoc == nil) {
		return false
	}
	if (a.N == nil) != (b.N == nil) || a.N != nil && a.N.Value != b.N.Value {
		return false
	}
	if a.Hdoc == nil {
		return true
	}
	x, y := untabbed(a.Hdoc), untabbed(b.Hdoc)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !sameValue(reflect.ValueOf(x[i]).Elem(), reflect.ValueOf(y[i]).Elem()) {
			return false
		}
	}
	return true
}

// untabbed is a here-document's body with its text joined, and without the tabs
// at the start of lines.
func untabbed(word *syntax.Word) []syntax.WordPart {
	var out []syntax.WordPart
	fresh := true // at the start of a line
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			out = append(out, part)
			fresh = false
			continue
		}
		var b strings.Builder
		for i := range len(lit.Value) {
			c := lit.Value[i]
			if fresh && c == '\t' {
				continue
			}
			fresh = c == '\n'
			b.WriteByte(c)
		}
		if n := len(out); n > 0 {
			if last, ok := out[n-1].(*syntax.Lit); ok {
				out[n-1] = &syntax.Lit{Value: last.Value + b.String()}
				continue
			}
		}
		if b.Len() > 0 {
			out = append(out, &syntax.Lit{Value: b.String()})
		}
	}
	return out
}
