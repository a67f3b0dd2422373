package statusview

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A Rollout is the progress of a change through the clusters of a fleet.
type Rollout struct {
	Stages  []Stage `json:"stages,omitempty"`  // in their order
	Waiting []Wait  `json:"waiting,omitempty"` // clusters that wait for their newest definition, sorted
}

// A Stage is how one stage is.
type Stage struct {
	Name     string     `json:"name"`
	State    string     `json:"state"`
	Why      string     `json:"why,omitempty"`
	Until    *time.Time `json:"until,omitempty"` // when that ends by itself
	Since    *time.Time `json:"since,omitempty"` // since when the first of its clusters waits or is being changed
	Clusters int        `json:"clusters"`
	Changing int        `json:"changing"`
	Waiting  int        `json:"waiting"`
	Failed   []string   `json:"failed,omitempty"`
	Digest   string     `json:"digest,omitempty"` // of what waits, for a request to release it
}

// A Wait is a cluster that waits for its newest definition.
type Wait struct {
	Cluster  string     `json:"cluster"`
	Stage    string     `json:"stage"`
	Revision string     `json:"revision"`
	Why      string     `json:"why"`
	Until    *time.Time `json:"until,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
}

// RolloutOf returns what comes in waves as s says; nil: nothing does.
func RolloutOf(s status.Status) *Rollout { return rolloutOf(s.Fleet.Rollout) }

func rolloutOf(s fleet.RolloutStatus) *Rollout {
	if len(s.Stages) == 0 {
		return nil
	}
	out := &Rollout{}
	for _, st := range s.Stages {
		line := Stage{
			Name: st.Name, State: string(st.State), Why: st.Why, Until: timeOf(st.Until), Since: timeOf(st.Since),
			Clusters: st.Clusters, Changing: st.Changing, Waiting: st.Waiting, Digest: st.Digest,
		}
		for _, f := range st.Failed {
			line.Failed = append(line.Failed, f.Cluster.String())
		}
		out.Stages = append(out.Stages, line)
	}
	for _, w := range s.Waiting {
		out.Waiting = append(out.Waiting, Wait{
			Cluster: w.Cluster.String(), Stage: w.Stage, Revision: w.Revision.String(), Why: w.Why, Until: timeOf(w.Until), Since: timeOf(w.Since),
		})
	}
	return out
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Busy reports whether anything waits, is being changed, or is halted.
func (r *Rollout) Busy() bool {
	if r == nil {
		return false
	}
	for _, s := range r.Stages {
		if s.State != string(fleet.StageDone) {
			return true
		}
	}
	return false
}

// What says what people can do about how the stage is; empty: nothing, it goes on by itself.
func (s Stage) What() string {
	switch fleet.StageState(s.State) {
	case fleet.StageHalted:
		return fmt.Sprintf("push a fix or a revert, skip failed clusters (fairlead release NAMESPACE/NAME --skip), or continue (fairlead release %s --now)", s.Name)
	case fleet.StageApproval:
		return fmt.Sprintf("fairlead release %s --approve", s.Name)
	}
	return ""
}

// WaitText says what waits, since when and for what, for people.
func WaitText(w fleet.Wait) string {
	text := "revision " + w.Revision.Short() + " waits"
	if !w.Since.IsZero() {
		text += " since " + w.Since.UTC().Format(time.RFC3339)
	}
	return text + ": " + w.String()
}
