package fleet

import (
	"errors"
	"fmt"
)

// A FieldError is what is wrong with one field of a manifest.
type FieldError struct {
	Field string // path of the field: "files[0]"; below the field of the FieldError around it
	Item  string // name of the item of a list, for people: "/etc/motd"; empty: it has no name
	Err   error
}

// FieldErrorf returns a *FieldError of field with a formatted cause.
func FieldErrorf(field, format string, args ...any) error {
	return &FieldError{Field: field, Err: fmt.Errorf(format, args...)}
}

// Error implements error.
func (e *FieldError) Error() string {
	if e.Item != "" {
		return fmt.Sprintf("%s (%s): %s", e.Field, e.Item, e.Err)
	}
	return e.Field + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// FieldOf returns the path of the field that err is about, and what is wrong with that field.
// The path is empty if err names no field.
func FieldOf(err error) (string, error) {
	path := ""
	for {
		e, ok := errors.AsType[*FieldError](err)
		if !ok {
			return path, err
		}
		if path != "" {
			path += "."
		}
		path, err = path+e.Field, e.Err
	}
}
