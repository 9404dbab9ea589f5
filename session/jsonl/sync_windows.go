package jsonl

// syncDir does nothing: the system journals names itself, and has no call for
// it.
func syncDir(string) error { return nil }
