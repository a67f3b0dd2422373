package openstack_test

import (
	"fmt"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/openstack/lab"
)

// describe says how a cluster is, in a line.
func describe(r fleet.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s", r.Phase, r.Endpoint.Host)
	for _, p := range r.Pools {
		fmt.Fprintf(&b, ", %s %d/%d ready, %d up to date", p.Name, p.Ready, p.Desired, p.UpToDate)
	}
	for _, c := range r.Conditions {
		if c.Status != "True" && c.Message != "" {
			fmt.Fprintf(&b, "\n  %s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, m := range r.Machines {
		fmt.Fprintf(&b, "\n  %s %s %s %s", m.Machine.Name, m.Phase, m.Machine.State, m.Machine.Message)
	}
	if len(r.Waiting) > 0 {
		fmt.Fprintf(&b, "\n  waiting: %v", r.Waiting)
	}
	if r.Failure != "" {
		fmt.Fprintf(&b, "\n  failure: %s", r.Failure)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n  problem: %v", p)
	}
	return b.String()
}

// complete reports whether r is c, whole and up to date, with machines ready.
func complete(c cluster) func(fleet.Report) bool {
	version := c.Version
	if version == "" {
		version = older
	}
	return func(r fleet.Report) bool {
		want := map[fleet.Role]int{fleet.RoleControlPlane: c.CP, fleet.RoleWorker: c.Workers}
		for _, p := range r.Pools {
			n := want[p.Role]
			if p.Desired != n || p.Current != n || p.Ready != n || p.UpToDate != n || p.Version != version {
				return false
			}
		}
		for _, m := range r.Machines {
			if m.Phase != fleet.MachinePhaseRunning || m.Version != version {
				return false
			}
		}
		return r.Phase == fleet.PhaseProvisioned && len(r.Machines) == c.CP+c.Workers && r.Failure == "" && len(r.Problems) == 0
	}
}

// things lists what is in the project, but for what keep names.
func (w *world) things(keep ...string) []lab.Thing {
	w.t.Helper()
	all, err := w.project.Things(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var out []lab.Thing
next:
	for _, x := range all {
		for _, k := range keep {
			if strings.HasPrefix(x.Name, k) || x.ID == k {
				continue next
			}
		}
		out = append(out, x)
	}
	return out
}

// wantNothingLeft fails if anything is in the project, but for what keep names.
func (w *world) wantNothingLeft(keep ...string) {
	w.t.Helper()
	if left := w.things(keep...); len(left) > 0 {
		w.t.Errorf("left behind: %v", left)
	}
}
