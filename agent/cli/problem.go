package cli

import "fairlead.dev/fleet"

// problem is a fleet.Problem as JSON and YAML show it.
type problem struct {
	Overlay string `json:"overlay,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	File    string `json:"file,omitempty"`
	Object  string `json:"object,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	line    string
}

// String returns the problem on one line.
func (p problem) String() string { return p.line }

func problemsOf(list []fleet.Problem) []problem {
	out := make([]problem, 0, len(list))
	for _, p := range list {
		v := problem{
			Overlay: p.Overlay, File: p.File, Object: p.Object, Field: p.Field, Message: p.Message, Hint: p.Hint, line: p.String(),
		}
		if p.Cluster != (fleet.Key{}) {
			v.Cluster = p.Cluster.String()
		}
		out = append(out, v)
	}
	return out
}
