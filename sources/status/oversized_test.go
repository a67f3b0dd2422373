package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// problemWatcher notes the problems that people are told to be found and solved.
type problemWatcher struct{ found, solved []string }

func (w *problemWatcher) notifications() *status.Notifications {
	missing := func(in, from []fleet.Problem) (out []string) {
		had := make(map[fleet.Problem]bool, len(from))
		for _, p := range from {
			had[p.WithoutLine()] = true
		}
		for _, p := range in {
			if !had[p.WithoutLine()] {
				out = append(out, p.String())
			}
		}
		return out
	}
	return &status.Notifications{
		Events: func(c status.Change) []fleet.Event {
			w.found, w.solved = append(w.found, missing(c.After, c.Before)...), append(w.solved, missing(c.Before, c.After)...)
			return nil
		},
		Targets: func(fleet.Event) []string { return []string{"chat"} },
		Enabled: func() (bool, bool) { return true, true },
		Pending: func([]fleet.Notification) {},
	}
}

// TestOversizedIsNotToldAsSolved: somebody else pushes to the status branch while a file is too large. The
// problem is there all the time.
func TestOversizedIsNotToldAsSolved(t *testing.T) {
	b, told := owned(t), &problemWatcher{}
	w := writer(b, status.Options{Notifications: told.notifications()})
	r := report(fleet.PhaseProvisioned)
	r.Hosts = []fleet.Host{host("a", func(h *fleet.Host) {
		for i := range 7_000 {
			h.Hardware.Disks = append(h.Hardware.Disks, fleet.HostDisk{Name: fmt.Sprintf("/dev/sd%d", i), Bytes: 1 << 30})
		}
	})}
	w.Put(r)
	w.PutFleet(sources.FleetStatus{Fleet: "demo"})
	flush(t, w)
	for i := range 2 { // two people ask for something
		if err := status.NewRequests(b).Ask(t.Context(), fleet.Request{Kind: fleet.RequestReconcile, Cluster: fleet.Key{Namespace: "prod", Name: fmt.Sprint("c-", i)}, By: "ada", At: clock(), Reason: fmt.Sprint(time.Now())}); err != nil {
			t.Fatal(err)
		}
		other := report(fleet.Phase(fmt.Sprint(time.Now())))
		other.Cluster = us1
		w.Put(other)
		flush(t, w)
	}
	if len(told.solved) > 0 {
		t.Errorf("solved: %q", told.solved)
	}
}

// TestFleetFileEnds: fleet.yaml that is too large for another reason than its problems is an error.
func TestFleetFileEnds(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	s := sources.FleetStatus{Fleet: "demo", Problems: []fleet.Problem{{Message: "one"}, {Message: "two"}}}
	for i := range 70_000 {
		s.Behind = append(s.Behind, fleet.Key{Namespace: strings.Repeat("n", 60), Name: fmt.Sprint(strings.Repeat("c", 200), i)})
	}
	w.PutFleet(s)
	if _, err := w.Flush(t.Context()); fleet.KindOf(err) != fleet.Exhausted {
		t.Error(err)
	}
}

// TestOversizedIsToldOnceAfterARestart: a process that starts while a file is too large has the problem once, and
// has it no more when the file fits.
func TestOversizedIsToldOnceAfterARestart(t *testing.T) {
	b := owned(t)
	of := func(disks int) fleet.Report {
		r := report(fleet.PhaseProvisioned)
		r.Hosts = []fleet.Host{host("a", func(h *fleet.Host) {
			for i := range disks {
				h.Hardware.Disks = append(h.Hardware.Disks, fleet.HostDisk{Name: fmt.Sprintf("/dev/sd%d", i), Bytes: 1 << 30})
			}
		})}
		return r
	}
	w := writer(b, status.Options{})
	w.Put(of(7_000))
	w.PutFleet(sources.FleetStatus{Fleet: "demo"})
	flush(t, w)
	w = writer(b, status.Options{})
	for _, c := range []struct{ disks, problems int }{{7_000, 1}, {1, 0}} {
		other := report(fleet.Phase(fmt.Sprint(c)))
		other.Cluster = us1
		w.Put(other)
		w.Put(of(c.disks))
		flush(t, w)
		_, files, _ := b.Read(t.Context())
		s, err := status.Read(files)
		if err != nil || len(s.Fleet.Problems) != c.problems {
			t.Errorf("%d disks: %d problems, want %d (%v)", c.disks, len(s.Fleet.Problems), c.problems, err)
		}
	}
}
