package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// Events returns what happened by c, sorted: first of clusters, then problems and stages. It is pure.
func Events(c status.Change) []fleet.Event {
	var out []fleet.Event
	for _, of := range c.Clusters {
		out = append(out, clusterEvents(of)...)
	}
	return slices.Concat(out, problemEvents(c), stageEvents(c))
}

// stageEvents returns what happened to stages: people have to know of what does not go on by
// itself, and that it does again.
func stageEvents(c status.Change) []fleet.Event {
	before := make(map[string]fleet.StageState, len(c.StagesBefore))
	for _, s := range c.StagesBefore {
		before[s.Name] = s.State
	}
	var out []fleet.Event
	for _, s := range c.StagesAfter {
		e := fleet.Event{Message: s.Why, Revision: c.Revision}
		switch was := before[s.Name]; {
		case s.State == was:
			continue
		case s.State == fleet.StageHalted:
			e.Type = fleet.RolloutHalted
		case s.State == fleet.StageApproval:
			e.Type = fleet.RolloutApproval
			e.Message += fmt.Sprintf(": changes wait for %d of %d clusters", s.Waiting, s.Clusters)
		case was == fleet.StageHalted:
			e.Type, e.Message = fleet.RolloutResumed, "stage "+s.Name+" is no longer halted"
		default:
			continue
		}
		out = append(out, e)
	}
	return out
}

// clusterEvents returns what happened to one cluster.
func clusterEvents(c status.ClusterChange) []fleet.Event {
	is := func(t fleet.EventType, message string) fleet.Event {
		return fleet.Event{Type: t, Cluster: c.Old.Cluster, Message: message, Revision: c.New.Revision}
	}
	if c.Gone {
		if ended(c.Old.Phase) {
			return nil // that was told when it ended
		}
		e := is(fleet.ClusterDeleted, "it is deleted and removed from Git")
		e.Revision = c.Old.Revision
		return []fleet.Event{e}
	}
	c.Old.Cluster = c.New.Cluster
	var out []fleet.Event
	switch {
	case c.New.Phase == fleet.PhaseDeleted && c.Old.Phase != fleet.PhaseDeleted:
		out = append(out, is(fleet.ClusterDeleted, "all its resources are deleted: remove its folder"))
	case c.New.Phase == fleet.PhaseAbandoned && c.Old.Phase != fleet.PhaseAbandoned:
		out = append(out, is(fleet.ClusterAbandoned, "it is no longer managed; its resources remain"))
	case c.New.Phase != fleet.PhaseProvisioned:
	case c.Upgraded == "" && !c.New.Milestones.Provisioned.IsZero() && c.Old.Milestones.Provisioned.IsZero():
		out = append(out, is(fleet.ClusterProvisioned, "Kubernetes "+c.New.Version+", "+machines(c.New)))
	case c.Upgraded != "" && c.Upgraded != c.New.Version:
		out = append(out, is(fleet.ClusterUpgraded, "Kubernetes "+c.Upgraded+" → "+c.New.Version))
	}
	if c.New.Phase == fleet.PhaseDeleting || ended(c.New.Phase) {
		return out
	}
	for _, a := range c.Actions {
		if rest, ok := strings.CutPrefix(a, string(fleet.DeleteMachine)+" "); ok {
			name, why, _ := strings.Cut(rest, ": ")
			e := is(fleet.MachineDeleted, why)
			e.Machine = fleet.MachineName(name)
			if !slices.Contains(out, e) { // an action may be repeated
				out = append(out, e)
			}
		}
	}
	return out
}

// ended reports whether a cluster of that phase no longer exists.
func ended(p fleet.Phase) bool { return p == fleet.PhaseDeleted || p == fleet.PhaseAbandoned }

// machines counts those of r, for people.
func machines(r fleet.Report) string {
	if n := len(r.Machines); n != 1 {
		return fmt.Sprintf("%d machines", n)
	}
	return "1 machine"
}

// A place is where problems are reported together: those of one cluster, or of one file.
type place struct {
	cluster fleet.Key
	file    string
}

// problemEvents returns an event for each place that has a problem which it did not have,
// and one for each that has none any more.
func problemEvents(c status.Change) []fleet.Event {
	before, after := byPlace(c.Before), byPlace(c.After)
	var out []fleet.Event
	for _, p := range slices.SortedFunc(maps.Keys(after), comparePlaces) {
		fresh := slices.DeleteFunc(slices.Clone(after[p]), func(text string) bool { return slices.Contains(before[p], text) })
		if len(fresh) == 0 {
			continue
		}
		message := fresh[0]
		if more := len(after[p]) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
		out = append(out, fleet.Event{Type: fleet.ProblemFound, Cluster: p.cluster, Message: message, Revision: c.Revision})
	}
	for _, p := range slices.SortedFunc(maps.Keys(before), comparePlaces) {
		if len(after[p]) == 0 {
			out = append(out, fleet.Event{Type: fleet.ProblemSolved, Cluster: p.cluster, Message: before[p][0], Revision: c.Revision})
		}
	}
	return out
}

func comparePlaces(a, b place) int {
	return cmp.Or(a.cluster.Compare(b.cluster), cmp.Compare(a.file, b.file))
}

// byPlace returns the texts of problems from the status branch.
func byPlace(list []fleet.Problem) map[place][]string {
	out := map[place][]string{}
	for _, p := range list {
		at := place{cluster: p.Cluster}
		if at.cluster == (fleet.Key{}) {
			at.file = cmp.Or(p.Overlay, p.File)
		}
		out[at] = append(out[at], fleet.PlainText(p.WithoutLine().String()))
	}
	return out
}
