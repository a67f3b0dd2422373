package status

import (
	"time"

	"fairlead.dev/fleet"
)

// An Upgrade is the last change of a cluster's Kubernetes version, by the clock of the agent
// that wrote of it. The zero Upgrade is that of a cluster whose version never changed, or of
// which older agents wrote.
type Upgrade struct {
	From, To string
	Began    time.Time // when another version was asked for
	Ended    time.Time // when all of the cluster was found to have it; zero: it was not yet
}

// Took returns how long the upgrade took; 0: it has not ended.
func (u Upgrade) Took() time.Duration {
	if u.Ended.IsZero() {
		return 0
	}
	return u.Ended.Sub(u.Began)
}

// upgradeOf returns the upgrade of a cluster with the report r after what was written before.
func upgradeOf(r fleet.Report, old Cluster, now time.Time) Upgrade {
	u, before := old.Upgrade, old.Report.Version
	now = now.UTC().Truncate(time.Second)
	switch open := !u.Began.IsZero() && u.Ended.IsZero(); {
	case before != "" && r.Version != "" && before != r.Version && open:
		u.To = r.Version // it goes on to another one
		if u.To == u.From {
			return Upgrade{} // it was taken back
		}
	case before != "" && r.Version != "" && before != r.Version:
		u = Upgrade{From: before, To: r.Version, Began: now}
	case open && upgraded(r, u):
		u.Ended = now
	}
	return u
}

// upgraded reports whether all of the cluster has the version that u leads to.
func upgraded(r fleet.Report, u Upgrade) bool {
	if r.Phase != fleet.PhaseProvisioned || r.Failure != "" {
		return false
	}
	for _, p := range r.Pools {
		if p.Current != p.Desired || p.UpToDate != p.Desired || p.Ready != p.Desired {
			return false
		}
	}
	for _, m := range r.Machines {
		if m.Machine.Version == u.From {
			return false // of a pool whose turn comes later
		}
	}
	return true
}

// upgrade is an Upgrade in a file, with times in RFC 3339.
type upgrade struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Began string `json:"began"`
	Ended string `json:"ended,omitempty"`
}

func upgradeFile(u Upgrade) *upgrade {
	if u.Began.IsZero() {
		return nil
	}
	f := &upgrade{From: u.From, To: u.To, Began: u.Began.UTC().Format(time.RFC3339)}
	if !u.Ended.IsZero() {
		f.Ended = u.Ended.UTC().Format(time.RFC3339)
	}
	return f
}

// status is the inverse of upgradeFile. A time that cannot be read is none.
func (f *upgrade) status() Upgrade {
	if f == nil {
		return Upgrade{}
	}
	at := func(s string) time.Time {
		t, _ := time.Parse(time.RFC3339, s)
		return t.UTC()
	}
	return Upgrade{From: f.From, To: f.To, Began: at(f.Began), Ended: at(f.Ended)}
}
