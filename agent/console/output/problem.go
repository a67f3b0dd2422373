package output

import (
	"fmt"

	"fairlead.dev/fleet"
)

// A Problem is a fleet.Problem as JSON and YAML show it.
type Problem struct {
	Overlay string `json:"overlay,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Object  string `json:"object,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	text    string
	same    string
}

// String returns the problem on one line.
func (p Problem) String() string { return p.text }

// Unplaced returns the problem on one line without its line number: to compare the problems
// of two revisions.
func (p Problem) Unplaced() string { return p.same }

// Problems returns list for output.
func Problems(list []fleet.Problem) []Problem {
	out := make([]Problem, 0, len(list))
	for _, p := range list {
		v := Problem{
			Overlay: p.Overlay, File: p.File, Line: p.Line, Object: p.Object, Field: p.Field, Message: p.Message, Hint: p.Hint, text: p.String(), same: p.WithoutLine().String(),
		}
		if p.Cluster != (fleet.Key{}) {
			v.Cluster = p.Cluster.String()
		}
		out = append(out, v)
	}
	return out
}

// Count returns "1 cluster", "2 clusters".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
