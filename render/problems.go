package render

import (
	"fmt"
	"strings"
	"unicode"

	"fairlead.dev/fleet"
)

// What the problems of one overlay may come to: they go into status, logs and
// terminals, and hold what a repository says.
const (
	maxProblems    = 50   // of one cluster
	maxProblemText = 1000 // runes in each part of a problem
)

// bounded returns the problems of an overlay without what hide hides, without
// control characters, cut to a length that can be read. Of each cluster some stay: a cluster without
// problems would seem to be gone.
func bounded(problems []fleet.Problem, hide func(string) string) []fleet.Problem {
	counts := map[fleet.Key]int{}
	var out []fleet.Problem
	for _, p := range problems {
		counts[p.Cluster]++
		if counts[p.Cluster] > maxProblems {
			continue
		}
		for _, s := range []*string{&p.Object, &p.Field, &p.Message, &p.Hint} {
			*s = readable(hide(*s))
		}
		out = append(out, p)
	}
	for i := range out {
		k := out[i].Cluster
		if more := counts[k] - maxProblems; more > 0 {
			out = append(out, fleet.Problem{Overlay: out[i].Overlay, Cluster: k, File: out[i].File, Message: fmt.Sprintf("%d more problems", more)})
			delete(counts, k)
		}
	}
	return out
}

// readable returns s on one line, without characters that steer a terminal.
func readable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, s)
	if r := []rune(s); len(r) > maxProblemText {
		return string(r[:maxProblemText]) + "…"
	}
	return s
}
