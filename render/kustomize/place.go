package kustomize

import (
	"fmt"
)

// A place is a field of a kustomization file.
type place struct{ file, field string }

func (p place) at(format string, args ...any) place {
	return place{p.file, fmt.Sprintf(format, args...)}
}

// A refusal is what a scan ends with.
type refusal struct {
	place
	message, hint string
}

func (r *refusal) Error() string { return r.message }

func (p place) refuse(hint, format string, args ...any) error {
	return &refusal{place: p, message: fmt.Sprintf(format, args...), hint: hint}
}
