package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// oversized reports files that were not written because they could not be read, by path. Such a file
// stays as it was, and all others are written.
type oversized map[string]fleet.Problem

// tooLarge is what the message of each such problem begins with.
const tooLarge = "the status is too large to be read again, so the file on the status branch stays as it was: "

// left reports whether err says that the file at p, of cluster k, is too large, and notes that it is
// left as it was.
func (o oversized) left(p string, k fleet.Key, err error) bool {
	delete(o, p)
	if fleet.KindOf(err) != fleet.Exhausted {
		return false
	}
	o[p] = fleet.Problem{
		Cluster: k, File: p,
		Message: tooLarge + fleet.OneLine(err),
		Hint:    "the agent goes on, and an agent that starts later knows only what the file says",
	}
	return true
}

// with returns s with the problems of o.
func (o oversized) with(s sources.FleetStatus) sources.FleetStatus {
	s.Problems = slices.Clone(s.Problems)
	for _, p := range slices.Sorted(maps.Keys(o)) {
		s.Problems = append(s.Problems, o[p])
	}
	return s
}

// fewer returns less than half of the problems in list, of so many, and one that says how many are left out.
func fewer(list []problem, of int) []problem {
	kept := (len(list) - 1) / 2
	return append(slices.Clone(list[:kept]), problem{
		Message: fmt.Sprintf("%d more problems are left out: fleet.yaml of the status branch would be too large to be read again", of-kept),
		Hint:    "fairlead validate lists the problems of a revision",
	})
}

// withoutTooLarge returns list, as a process read it, without problems of files that are too large: those of
// an earlier process may be solved.
func withoutTooLarge(list []fleet.Problem) []fleet.Problem {
	return slices.DeleteFunc(slices.Clone(list), func(p fleet.Problem) bool { return strings.HasPrefix(p.Message, tooLarge) })
}
