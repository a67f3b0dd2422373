package status

import (
	"time"

	"fairlead.dev/fleet"
)

// milestones are when a new cluster first reached each phase, in RFC 3339.
type milestones struct {
	Began          string `json:"began"`
	Infrastructure string `json:"infrastructure,omitempty"`
	ControlPlane   string `json:"controlPlane,omitempty"`
	Provisioned    string `json:"provisioned,omitempty"`
}

func milestonesOf(m fleet.Milestones) *milestones {
	if m.Began.IsZero() {
		return nil
	}
	text := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return &milestones{text(m.Began), text(m.Infrastructure), text(m.ControlPlane), text(m.Provisioned)}
}

// fleet is the inverse of milestonesOf. A time that cannot be read is none.
func (m *milestones) fleet() fleet.Milestones {
	if m == nil {
		return fleet.Milestones{}
	}
	at := func(s string) time.Time {
		t, _ := time.Parse(time.RFC3339, s)
		return t.UTC()
	}
	return fleet.Milestones{Began: at(m.Began), Infrastructure: at(m.Infrastructure), ControlPlane: at(m.ControlPlane), Provisioned: at(m.Provisioned)}
}
