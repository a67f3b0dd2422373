package page

import (
	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
)

// Problems is the view of what of the newest revision is not used, and why.
type Problems struct {
	Revision string       `json:"revision"`
	Problems []ProblemRow `json:"problems"`
}

// A ProblemRow is one problem, with the way to its file.
type ProblemRow struct {
	output.Problem
	URL string `json:"url,omitempty"` // of the line, or the file, at the revision
}

func problemsView() view {
	return view{name: "problems", title: "Problems", build: func(s *state, q query) (any, bool) {
		f := s.Status.Fleet
		out := Problems{Revision: f.Revision.String(), Problems: []ProblemRow{}}
		for _, p := range problems(s) {
			out.Problems = append(out.Problems, problemRow(p, f.Revision, q.options))
		}
		return out, true
	}}
}

// problems returns those of the fleet and of its clusters, each once.
func problems(s *state) []fleet.Problem {
	seen := make(map[fleet.Problem]bool)
	var out []fleet.Problem
	add := func(p fleet.Problem) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	for _, p := range s.Status.Fleet.Problems {
		add(p)
	}
	for _, c := range s.clusters {
		for _, p := range c.Report.Problems {
			add(p)
		}
		if c.damage != "" {
			add(fleet.Problem{Cluster: c.Report.Cluster, Message: c.damage, Hint: "repair or delete the file on the status branch"})
		}
	}
	return out
}

func countProblems(s *state) int { return len(problems(s)) }

func problemRow(p fleet.Problem, rev fleet.Revision, o *Options) ProblemRow {
	out := ProblemRow{Problem: output.Problems([]fleet.Problem{p})[0]}
	if p.File != "" {
		out.URL = o.Forge.Line(rev.Hash(), o.Path, p.File, p.Line)
	}
	return out
}
