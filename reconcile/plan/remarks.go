package plan

import (
	"fmt"
	"maps"
	"time"
)

// Remarks are what is said for people, and when to look again.
type remarks struct {
	waits map[string]bool // texts of Plan.Waiting
	notes map[string]bool // texts of Plan.Notes
	// refusals are those of notes that say what Git asks for and cannot be done.
	refusals map[string]bool
	after    time.Duration // Plan.After
}

func newRemarks() remarks {
	return remarks{waits: map[string]bool{}, notes: map[string]bool{}, refusals: map[string]bool{}}
}

func (r *remarks) clone() remarks {
	return remarks{waits: maps.Clone(r.waits), notes: maps.Clone(r.notes), refusals: maps.Clone(r.refusals), after: r.after}
}

// wait says what is expected to happen, and is looked for soon.
func (r *remarks) wait(format string, args ...any) { r.waits[fmt.Sprintf(format, args...)] = true }

// note says what stays unchanged until somebody changes it: nothing is to be
// expected, so that it is no reason to look again soon.
func (r *remarks) note(format string, args ...any) { r.notes[fmt.Sprintf(format, args...)] = true }

// refuse says that Git asks for what cannot be done, and what to do.
func (r *remarks) refuse(format string, args ...any) {
	r.note(format, args...)
	r.refusals[fmt.Sprintf(format, args...)] = true
}

// wake asks for another look after d > 0 at the latest.
func (r *remarks) wake(d time.Duration) {
	if r.after == 0 || d < r.after {
		r.after = d
	}
}
