package statusview

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// An Outcome says how far what was pushed is. The zero Outcome is: every cluster is as
// the newest revision says.
type Outcome struct {
	Refused string // why it will not be, however long one waits
	Lacks   string // what it is not yet
}

// Judge compares what s says of the part in with rev, the newest revision of the source.
// A phase alone proves nothing: that of a cluster which no pass has seen since rev
// was pushed is of another revision.
func Judge(rev fleet.Revision, s status.Status, in scope.Scope) Outcome {
	f := s.Fleet
	switch {
	case s.Owner.Agent == "":
		return Outcome{Lacks: "no agent has followed this fleet yet"}
	case f.Revision.Digest != rev.Digest:
		return Outcome{Lacks: fmt.Sprintf("the agent has not seen revision %s yet, it is at %s", rev.Short(), f.Revision.Short())}
	case f.Applied.IsZero():
		return Outcome{Lacks: "the agent of this fleet is of a version that does not tell what it has applied"}
	case f.Applied.Digest != rev.Digest && !f.Broken:
		return Outcome{Lacks: fmt.Sprintf("the agent cannot get revision %s yet, everything is at %s: %s", rev.Short(), f.Applied.Short(), problems(f.Problems))}
	case f.Applied.Digest != rev.Digest:
		return Outcome{Refused: fmt.Sprintf("revision %s is refused, everything stays at %s: %s", rev.Short(), f.Applied.Short(), problems(f.Problems))}
	}
	if broken := brokenIn(f, in); len(broken) > 0 {
		return Outcome{Refused: fmt.Sprintf("revision %s is not applied as a whole: %s", rev.Short(), problems(broken))}
	}
	for _, k := range f.Behind {
		if c, known := s.Cluster(k); known || in == scope.All {
			return Outcome{Lacks: fmt.Sprintf("no look has found cluster %s as revision %s says yet%s", k, rev.Short(), waitsFor(c.Report))}
		}
	}
	for _, c := range s.Clusters {
		r := c.Report
		switch {
		case slices.Contains(f.Orphans, r.Cluster): // it was removed from Git, and stays unchanged
		case r.Phase != fleet.PhaseProvisioned && r.Phase != fleet.PhaseDeleted && r.Phase != fleet.PhaseAbandoned:
			return Outcome{Lacks: fmt.Sprintf("cluster %s is %s%s", r.Cluster, r.Phase, waitsFor(r))}
		case r.Failure != "":
			return Outcome{Lacks: fmt.Sprintf("cluster %s: %s", r.Cluster, r.Failure)}
		case len(r.Problems) > 0:
			return Outcome{Lacks: fmt.Sprintf("cluster %s: %s", r.Cluster, problems(r.Problems))}
		case Refused(r) != "":
			return Outcome{Refused: fmt.Sprintf("cluster %s: %s", r.Cluster, Refused(r))}
		case HeldBack(r) != "":
			return Outcome{Lacks: fmt.Sprintf("cluster %s: %s", r.Cluster, HeldBack(r))}
		}
	}
	return Outcome{}
}

// brokenIn returns the problems of the applied revision that concern the part.
func brokenIn(f sources.FleetStatus, in scope.Scope) []fleet.Problem {
	if !f.Broken {
		return nil // what there is concerns what the agent does beside, such as the escrow
	}
	return slices.DeleteFunc(slices.Clone(f.Problems), func(q fleet.Problem) bool { return q.Overlay != "" && !in.Has(q.Overlay) })
}

// problems says list on a line.
func problems(list []fleet.Problem) string {
	if len(list) == 0 {
		return "fairlead validate says why"
	}
	text, _, _ := strings.Cut(list[0].String(), "\n")
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf(", and %s more", output.Count(n, "problem"))
	}
	return text
}

// waitsFor says what keeps the cluster from being done, if that is known.
func waitsFor(r fleet.Report) string {
	switch {
	case r.Failure != "":
		return ": " + r.Failure
	case Refused(r) != "":
		return ": " + Refused(r)
	case Stopped(r) != "":
		return ": " + Stopped(r)
	case len(r.Waiting) > 0:
		return ": waiting: " + r.Waiting[0]
	}
	return ""
}
