package wire

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/cantle-dev/cantle/llm"
)

// Tokens is the number in that field of an answer that counts the tokens of
// a request. It closes the stream.
func (s *Stream) Tokens(field string) (int, error) {
	defer s.Close()
	ev, err := s.Next()
	if err == io.EOF {
		return 0, s.Truncated()
	}
	if err != nil {
		return 0, err
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(ev.Data, &got); err != nil {
		return 0, s.Undecodable(ev, err)
	}
	var n Count
	if got[field] == nil || json.Unmarshal(got[field], &n) != nil {
		return 0, s.Undecodable(ev, errors.New("it has no "+field))
	}
	return int(n), nil
}

// Uncounted reports whether err says that an endpoint does not count: it is not
// there, not for this model or not for this account.
func Uncounted(err error) bool {
	return llm.IsKind(err, llm.KindNotFound) || llm.IsKind(err, llm.KindInvalidRequest) || llm.IsKind(err, llm.KindPermission)
}
