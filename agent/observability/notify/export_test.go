package notify

import (
	"errors"
	"time"
)

// Refused is the error of an answer that says no, and when to ask again.
func Refused(status int, after time.Duration) error { return &refusal{status: status, after: after} }

// After returns when the target of err is to be asked again.
func After(err error) time.Duration {
	no, _ := errors.AsType[*refusal](err)
	return no.after
}

// Hide returns text without the secrets of c.
func (c Credentials) Hide(text string) string { return c.hider().Replace(text) }
