package llmtest

import (
	"encoding/json"
	"fmt"

	"github.com/cantle-dev/cantle/internal/x/sample"
)

// Sample returns a small value that is valid for a JSON Schema, and always the
// same one: required properties only, the first of an enum or of alternatives,
// the least number, the shortest string. It understands the keywords that tool
// schemas use, $ref into the same document among them; it is an error if a
// schema can only be satisfied by an endless value, or has a keyword that it
// cannot honour.
func Sample(schema json.RawMessage) (json.RawMessage, error) {
	v, err := sample.Value(schema, sample.Options{})
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	return v, nil
}
