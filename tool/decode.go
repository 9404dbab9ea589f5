package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// InputError says what is wrong with a call's arguments. Its text is meant for
// the model: it names each field, what was wanted and what came.
type InputError struct{ Problems []string }

func (e *InputError) Error() string {
	if len(e.Problems) == 1 {
		return "invalid arguments: " + e.Problems[0]
	}
	return "invalid arguments:\n- " + strings.Join(e.Problems, "\n- ")
}

// Decode reads raw as a T, which must be a struct: see [SchemaFor]. At every
// depth aliases and lossless coercions are accepted ("5" or 5.0 for 5, "true"
// for true, 5 for "5", one value for a list of one, a list or an object that
// came as a string of JSON, null for an optional field that is not there) and
// defaults are filled in. Every other difference from the schema is said in an
// [*InputError], up to five at once. Empty input is {}.
func Decode[T any](raw json.RawMessage) (T, error) {
	var out T
	fixed, err := mend(shapeOf(reflect.TypeFor[T]()), raw)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(fixed, &out); err != nil {
		var zero T
		return zero, unmarshalError(err)
	}
	return out, nil
}

// unmarshalError says what encoding/json, or a type's own method, refused.
func unmarshalError(err error) error {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return &InputError{[]string{fmt.Sprintf("%s: %s does not fit here", clip(te.Field), te.Value)}}
	}
	return &InputError{[]string{clip(strings.TrimPrefix(err.Error(), "json: "))}}
}

// A Normalizer is a tool that can put arguments in the form that its schema
// gives: aliases replaced, coercions made, defaults filled in. Call does so by
// itself; a loop that does it before it shows the arguments to hooks and rules
// shows them what the tool will see. Tools that [New] makes are Normalizers.
type Normalizer interface {
	// Normalize returns an *InputError for arguments that do not fit.
	Normalize(raw json.RawMessage) (json.RawMessage, error)
}

// mend makes raw fit the shape, or says why it cannot.
func mend(n *node, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if !json.Valid(raw) {
		return nil, notJSON(raw)
	}
	if kindOf(raw) != "object" {
		return nil, &InputError{[]string{"an object is wanted, " + describe(raw) + " came"}}
	}
	c := newChecker(false, raw)
	out := c.check(n, raw, "", 0)
	return out, c.err()
}

func notJSON(raw json.RawMessage) error {
	return &InputError{[]string{"they are not JSON: " + clip(strings.ToValidUTF8(string(raw), "�"))}}
}

// Validate holds value against schema and says in an [*InputError] where it
// does not fit. It knows the keywords of JSON Schema 2020-12 that describe
// a tool's input: type, enum, const, properties, patternProperties,
// additionalProperties, required, items, prefixItems, the bounds of numbers,
// strings, lists and objects, pattern, anyOf, oneOf, allOf, not, $ref within
// the schema, and nullable. It ignores others, references to elsewhere, and
// patterns that package regexp does not know; and it accepts no coercions.
func Validate(schema, value json.RawMessage) error {
	value = bytes.TrimSpace(value)
	if !json.Valid(value) {
		return notJSON(value)
	}
	c := newChecker(true, value)
	c.check(compile(schema), value, "", 0)
	return c.err()
}
