package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
	"github.com/tailscale/hujson"
)

// ErrNotThere is wrapped by the error of [Remove] where there is no such item.
var ErrNotThere = errors.New("it is not there")

// Set writes a setting into a settings file. The key and the value are as those
// of a [Flag]. All that the file holds otherwise stays byte by byte: comments,
// order, layout.
//
// A file that is not there is made, for its user alone, with its folder. What
// reading would refuse is not written, nor is a file that is no JSON touched.
// Another writer is waited for, some seconds at most. A symbolic link is
// followed, but not made a file of where it leads nowhere.
func Set(file, key, value string) error { return set(own(file), key, value) }

func set(file target, key, value string) error {
	path, raw, err := setting(key, value)
	if err != nil {
		return err
	}
	return edit(file, path, raw, func(text []byte, root *hujson.Value) ([]byte, error) { return put(text, root, path, raw) })
}

// Add writes an item into a list of a settings file, at its end, as [Set] does.
// An item that is there already is not added again.
func Add(file, key, item string) error { return add(own(file), key, item) }

func add(file target, key, item string) error {
	path, raw, err := listItem(key, item)
	if err != nil {
		return err
	}
	return edit(file, path, raw, func(text []byte, root *hujson.Value) ([]byte, error) {
		list, rest := lookUp(root, path)
		if len(rest) > 0 {
			return put(text, root, path, raw)
		}
		at, err := itemsOf(list, item)
		if err != nil || len(at) > 0 {
			return text, err
		}
		g, _ := groupOf(list)
		return insert(text, g, func(string, string) string { return string(textJSON(item)) }), nil
	})
}

// Remove takes an item out of a list of a settings file, as often as it is in
// it. Comments stay. That it is not there is [ErrNotThere].
func Remove(file, key, item string) error { return take(own(file), key, item) }

func take(file target, key, item string) error {
	path, _, err := listItem(key, item)
	if err != nil {
		return err
	}
	const most = 1000
	return edit(file, path, nil, func(text []byte, root *hujson.Value) ([]byte, error) {
		for n := range most {
			list, rest := lookUp(root, path)
			var at []int
			if len(rest) == 0 {
				if at, err = itemsOf(list, item); err != nil {
					return nil, err
				}
			}
			switch {
			case len(at) == 0 && n == 0:
				return nil, fmt.Errorf("%s: %w", quoted(item), ErrNotThere)
			case len(at) == 0:
				return text, nil
			}
			g, _ := groupOf(list)
			text = remove(text, g, at[len(at)-1])
			again, err := parse(file.name, text)
			if err != nil {
				return nil, err
			}
			root = &again
		}
		return nil, fmt.Errorf("%s is in it more than %d times: take it out by hand", quoted(item), most)
	})
}

// setting is the path of a key and the JSON of its value.
func setting(key, value string) (path []string, raw json.RawMessage, err error) {
	parts := strings.Split(key, ".")
	raw = json.RawMessage(value)
	path, t, ok := find(reflect.TypeFor[Config](), parts, json.Valid(raw) && kindOf(raw) == "an object")
	if !ok {
		return nil, nil, &Error{Key: dotted(parts), Text: unknownKey(reflect.TypeFor[Config](), parts)}
	}
	if t.Kind() == reflect.String && t != reflect.TypeFor[json.Number]() && !leaf(t) || !json.Valid(raw) {
		raw = textJSON(value)
	}
	if t.Kind() == reflect.Slice && kindOf(raw) == "text" {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	return path, raw, nil
}

// listItem is the path of a list, and a list with the item alone.
func listItem(key, item string) (path []string, raw json.RawMessage, err error) {
	parts := strings.Split(key, ".")
	path, t, ok := find(reflect.TypeFor[Config](), parts, false)
	switch {
	case !ok:
		return nil, nil, &Error{Key: dotted(parts), Text: unknownKey(reflect.TypeFor[Config](), parts)}
	case t.Kind() != reflect.Slice:
		return nil, nil, &Error{Key: dotted(parts), Text: "it is not a list: set it as a whole"}
	}
	return path, json.RawMessage("[" + string(textJSON(item)) + "]"), nil
}

// within is a value in the objects that the path names.
func within(path []string, raw json.RawMessage) json.RawMessage {
	for _, k := range slices.Backward(path) {
		raw = json.RawMessage("{" + string(textJSON(k)) + ":" + string(raw) + "}")
	}
	return raw
}

// lookUp goes down the path as far as there is something, and returns what is
// left of it.
func lookUp(root *hujson.Value, path []string) (v *hujson.Value, rest []string) {
	v = root
	for len(path) > 0 {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			break
		}
		i := -1
		for j, m := range obj.Members {
			if l, ok := m.Name.Value.(hujson.Literal); ok && l.String() == path[0] {
				i = j // of two the last counts
			}
		}
		if i < 0 {
			break
		}
		v, path = &obj.Members[i].Value, path[1:]
	}
	return v, path
}

// put makes raw the value at the path.
func put(text []byte, root *hujson.Value, path []string, raw json.RawMessage) ([]byte, error) {
	v, rest := lookUp(root, path)
	if len(rest) == 0 {
		old := v.Clone()
		old.Minimize()
		var was bytes.Buffer
		if json.Compact(&was, raw) == nil && bytes.Equal(was.Bytes(), old.Pack()) {
			return text, nil
		}
		newline := "\n"
		if bytes.Contains(text, []byte("\r\n")) {
			newline = "\r\n"
		}
		if kindOf(raw) != "an object" {
			newline = "" // a short list is easier to read on a line
		}
		return apply(text, change{v.StartOffset, v.EndOffset, layOut(raw, newline, indentOf(text, v.StartOffset), unit(text))}), nil
	}
	g, ok := groupOf(v)
	if _, is := v.Value.(*hujson.Object); !ok || !is {
		at := path[:len(path)-len(rest)]
		return nil, &Error{Line: lineOf(root, text, at), Key: dotted(at), Text: "an object is wanted"}
	}
	name := string(textJSON(rest[0])) + ": "
	raw = within(rest[1:], raw)
	return insert(text, g, func(newline, indent string) string { return name + layOut(raw, newline, indent, unit(text)) }), nil
}

// itemsOf are the places of an item in a list.
func itemsOf(list *hujson.Value, item string) ([]int, error) {
	arr, ok := list.Value.(*hujson.Array)
	if !ok {
		return nil, errors.New("a list is wanted")
	}
	var at []int
	for i, e := range arr.Elements {
		if l, ok := e.Value.(hujson.Literal); ok && l.Kind() == '"' && l.String() == item {
			at = append(at, i)
		}
	}
	return at, nil
}

// A target is a settings file that can be changed.
type target struct {
	name  string
	lock  func() (unlock func(), err error) // makes the folder, and keeps others out of it
	read  func() ([]byte, error)            // nil without an error if there is none
	write func([]byte) error
	only  func(path []string, raw json.RawMessage) *fault // what is not to be written into it; nil is all right
}

// own is a file of the user's.
func own(file string) target {
	return target{
		name: file,
		lock: func() (func(), error) {
			if info, err := os.Lstat(file); err == nil && info.Mode()&os.ModeSymlink != 0 {
				if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
					return nil, errors.New("it is a symbolic link that leads nowhere: remove it, or make the file that it names")
				}
			}
			dir := filepath.Dir(file)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, err
			}
			return lockFolder(dir)
		},
		read:  func() ([]byte, error) { return readFile(file) },
		write: func(b []byte) error { return atomicfile.Write(file, b, atomicfile.Options{Mode: 0o600}) },
		only:  func([]string, json.RawMessage) *fault { return nil },
	}
}

// edit reads a file, has it changed, and writes it. raw is the value for the
// path, which must be one that reading takes; nil is none.
func edit(file target, path []string, raw json.RawMessage, with func(text []byte, root *hujson.Value) ([]byte, error)) (err error) {
	if raw != nil {
		ch := checker{map[reflect.Type]map[string]reflect.Type{}}
		f := ch.check(reflect.TypeFor[Config](), within(path, raw), nil, "")
		if f == nil {
			f = file.only(path, raw)
		}
		if f != nil {
			return &Error{Key: dotted(f.at), Text: f.text}
		}
	}
	told := func(err error) error {
		var e *Error
		if errors.As(err, &e) {
			return e
		}
		return &Error{File: file.name, Text: err.Error(), err: err}
	}
	unlock, err := file.lock()
	if err != nil {
		return told(err)
	}
	defer unlock()
	was, err := file.read()
	if err != nil {
		return told(err)
	}
	text := was
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, bom))) == 0 {
		text = []byte("{}\n")
	}
	root, err := parse(file.name, text)
	if err != nil {
		return err
	}
	now, err := with(text, &root)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.File = file.name
			return e
		}
		return &Error{File: file.name, Line: lineOf(&root, text, path), Key: dotted(path), Text: err.Error(), err: err}
	}
	if bytes.Equal(now, was) || bytes.Equal(now, text) && was == nil {
		return nil
	}
	if err := sound(file.name, now); err != nil {
		if before := sound(file.name, text); before != nil {
			return before // it was wrong already, and at a line that is in the file
		}
		return err
	}
	if err := file.write(now); err != nil {
		return told(err)
	}
	return nil
}

// sound reports what reading would refuse of a file that has this text.
func sound(file string, text []byte) error {
	if len(text) > maxFile {
		return tooLarge(file, maxFile)
	}
	c := &Config{From: map[string]string{}, places: map[string]place{}}
	return c.layer("user", file, text)
}

// lockWait is how long another writer is waited for.
const lockWait = 5 * time.Second

// lockFolder keeps other writers of settings out of a folder.
func lockFolder(dir string) (unlock func(), err error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		unlock, held, err := tryLock(dir)
		if err != nil {
			return nil, err
		}
		if !held {
			return unlock, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("another program has been writing settings in this folder for %v: try again when it has ended", lockWait)
		}
	}
}
