package staging_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/staging"
)

// TestScripts reads "stage to=v1.35.4 versions=(v1.33.4,v1.34.4) concurrency=1 defer=(a)",
// followed by a pool a line, "cp v1.33.4 v1.34.4", with the versions of its machines; the
// first is the control plane, which "hosted" says is hosted. It prints the version that each pool is to have, and why one
// waits or stays.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c, machines := read(d)
			s := staging.New(c, machines)
			if s == nil {
				return "not known\n"
			}
			var b strings.Builder
			now := s.Cluster()
			if now.Hosted != nil {
				fmt.Fprintf(&b, "hosted %s\n", now.Hosted.Version)
			}
			for _, p := range now.Pools() {
				fmt.Fprintf(&b, "%s %s", p.Name, p.Version)
				if s.Keeps(p.Name) {
					b.WriteString(" kept")
				}
				for _, why := range []string{s.Holds(p.Name), s.Frozen(p.Name)} {
					if why != "" {
						fmt.Fprintf(&b, "; %s", why)
					}
				}
				b.WriteString("\n")
			}
			if reason, message := s.Progress(); reason != "" {
				fmt.Fprintf(&b, "%s: %s\n", reason, message)
			}
			return b.String()
		})
	})
}

func read(d *datadriven.TestData) (*fleet.Cluster, []staging.Machine) {
	var to string
	var versions, deferred []string
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "to":
			to = a.Vals[0]
		case "versions":
			versions = a.Vals
		case "defer":
			deferred = a.Vals
		}
	}
	c := &fleet.Cluster{Topology: &fleet.Topology{
		Class: fleet.Key{Namespace: "prod", Name: "dev"}, Listed: len(versions) > 0, Concurrency: 1, Deferred: map[fleet.PoolName]string{},
	}}
	var machines []staging.Machine
	for i, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		f := strings.Fields(line)
		p := fleet.Pool{Name: fleet.PoolName(f[0]), Role: fleet.RoleWorker, Version: to, Strategy: fleet.RollingUpdate}
		if i == 0 {
			p.Role = fleet.RoleControlPlane
			c.ControlPlane = p
		} else {
			c.Workers = append(c.Workers, p)
			c.Topology.Order = append(c.Topology.Order, p.Name)
		}
		for _, v := range f[1:] {
			machines = append(machines, staging.Machine{Pool: p.Name, Version: v})
		}
	}
	for _, v := range versions {
		older := fleet.ClassVersion{Version: v, Pools: map[fleet.PoolName]fleet.Blueprint{}}
		for _, p := range c.Pools() {
			older.Pools[p.Name] = fleet.Blueprint{Template: fleet.TemplateHash(v)}
		}
		c.Topology.Older = append(c.Topology.Older, older)
	}
	if d.HasArg("hosted") {
		c.Hosted = &fleet.HostedControlPlane{Object: fleet.Object{Name: string(c.ControlPlane.Name)}, Version: to}
		c.Topology.Version, c.ControlPlane = to, fleet.Pool{}
		for i := range c.Topology.Older {
			c.Topology.Older[i].Hosted = &fleet.HostedControlPlane{Object: c.Hosted.Object, Version: c.Topology.Older[i].Version}
		}
		machines[0].Pool = ""
	}
	for _, name := range deferred {
		c.Topology.Deferred[fleet.PoolName(name)] = "an annotation"
	}
	return c, machines
}
