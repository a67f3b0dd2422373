package page

import (
	"fmt"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
)

// Agent is the view of who works on the fleet, and how far it is.
type Agent struct {
	Facts []Fact `json:"facts"`
}

func agentView() view {
	return view{name: "agent", title: "Agent", build: func(s *state, q query) (any, bool) {
		v := statusview.Of(s.Status)
		f := s.Status.Fleet
		out := Agent{Facts: []Fact{}}
		add := func(name, value string) {
			if value != "" {
				out.Facts = append(out.Facts, Fact{Name: name, Value: value})
			}
		}
		if v.Owner != "" {
			add("Owner", fmt.Sprintf("%s, epoch %d", v.Owner, v.Epoch))
		} else {
			add("Owner", "none: no agent has run for this fleet yet")
		}
		add("Secret store", s.Status.Owner.Place)
		add("Signature of the owner", v.Signed)
		if v.Moving != nil {
			add("Moving", "to "+v.Moving.To+", step "+v.Moving.Step)
		}
		if v.Home != nil {
			add("Home", v.Home.String())
		}
		add("Source", q.options.Source)
		add("Newest revision", v.Revision)
		if v.Applied != v.Revision {
			add("Applied", v.Applied)
		}
		add("Out of sync", output.Count(len(f.Behind), "cluster"))
		add("Removed from Git", output.Count(len(f.Orphans), "cluster"))
		for _, p := range f.Sources {
			add("Pinned source "+p.Name, p.URL+" "+p.Commit+p.Digest)
		}
		add("Status branch", s.Head.String())
		if len(s.History) > 0 {
			out.Facts = append(out.Facts, Fact{Name: "Last commit", At: s.History[0].At.UTC()})
		}
		out.Facts = append(out.Facts, s.Facts...)
		return out, true
	}}
}
