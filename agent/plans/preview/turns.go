package preview

import (
	"time"

	"fairlead.dev/agent/loop/desired"
)

// A Turn is when a cluster gets what the plan says, in a rollout.
type Turn struct {
	Cluster string     `json:"cluster"`
	Stage   string     `json:"stage"`
	Now     bool       `json:"now"`            // it comes now, or is under way
	Back    bool       `json:"back,omitempty"` // it goes back to what it was
	Why     string     `json:"why,omitempty"`  // not now
	Until   *time.Time `json:"until,omitempty"`
}

func turnOf(t desired.Turn) Turn {
	out := Turn{Cluster: t.Cluster.String(), Stage: t.Stage, Now: t.Wait.Why == "", Back: t.Back, Why: t.Wait.Why}
	if !t.Wait.Until.IsZero() {
		until := t.Wait.Until.UTC()
		out.Until = &until
	}
	return out
}

// String says it on a line.
func (t Turn) String() string {
	text := t.Cluster + " (stage " + t.Stage + "): "
	switch {
	case t.Now && t.Back:
		return text + "now, back to what it was"
	case t.Now:
		return text + "now"
	case t.Until != nil:
		return text + "not now: " + t.Why + ", until " + t.Until.Format(time.RFC3339)
	}
	return text + "not now: " + t.Why
}
