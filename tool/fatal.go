package tool

import "errors"

// Fatal marks err as one that must end the run: the tool's machinery is
// broken, and a model could do nothing about it. Every other error that a tool
// returns is shown to the model.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatal{err}
}

// IsFatal reports whether err was marked by [Fatal].
func IsFatal(err error) bool {
	var f *fatal
	return errors.As(err, &f)
}

type fatal struct{ err error }

func (f *fatal) Error() string { return f.err.Error() }
func (f *fatal) Unwrap() error { return f.err }
