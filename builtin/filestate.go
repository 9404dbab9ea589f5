package builtin

// Files remembers what each agent has read, so that nothing is replaced that
// the model has not seen. It is safe for concurrent use.
type Files struct{}

// NewFiles makes an empty memory.
func NewFiles() *Files { return &Files{} }
