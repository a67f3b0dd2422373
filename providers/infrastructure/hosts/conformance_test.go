package hosts_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/hosts"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
)

// The suite makes ten machines at once, and two more things that are not ours; of its
// clusters there are at most four at a time.
const (
	conformanceHosts = 13
	conformanceGates = 4
)

// TestConformance runs the suite over real SSH servers. The hosts are the same for
// all of its tests, but nothing is left on them from one to the next.
func TestConformance(t *testing.T) {
	conformance.Run(t, suite(newBench(t, conformanceHosts), func() {}))
}

// TestConformanceWithLoadBalancer runs what of the suite is about the shared part and
// about others, with a load balancer for each cluster on a host of its own.
func TestConformanceWithLoadBalancer(t *testing.T) {
	needHAProxy(t)
	b := newBench(t, conformanceHosts)
	b.edit = func(h *api.PoolHost) {
		h.Unschedulable = slices.ContainsFunc(b.hosts[conformanceHosts:], func(g *hoststest.Host) bool { return g.Name == h.Name })
	}
	for i := range conformanceGates {
		b.boot(fmt.Sprintf("gate%d", i))
	}
	next := 0
	o := suite(b, func() {
		b.gate = fmt.Sprintf("gate%d", next%conformanceGates)
		next++
	})
	for _, c := range conformance.Checks() {
		if slices.Contains([]string{
			"ObservePartOfIt", "EnsureInfrastructureTwice", "DeleteInfrastructureTwice", "DeleteInfrastructureWithMachines",
			"CreateMachinesAtOnce", "OtherClusterIsUntouched", "ForeignMachineIsUntouched",
		}, c.Name) {
			t.Run(c.Name, func(t *testing.T) { c.Run(t, o) })
		}
	}
}

// suite is for the hosts of b, which before prepares for a cluster.
func suite(b *bench, before func()) conformance.Options {
	return conformance.Options{
		New: func(testing.TB) providers.Infrastructure {
			for _, h := range b.hosts {
				h.Set(hoststest.Fault{})
				h.Exec("pkill haproxy; rm -rf /var/lib/fairlead")
			}
			b.p = b.provider()
			return quiet{b.p, b}
		},
		Cluster: func() fleet.Cluster {
			before()
			return *b.cluster()
		},
		UserData: userData("true"),
		// A claim of another tool holds a host as well as one of Fairlead.
		Foreign: func(_ testing.TB, _ providers.Infrastructure, name string) func() bool {
			h := b.hosts[len(name)%2]
			h.Write("/var/lib/fairlead/host/claim", "taken by hand for "+name)
			return func() bool { return h.Read("/var/lib/fairlead/host/claim") == "taken by hand for "+name }
		},
		// What one host does not tell the others do. A listing fails when more than
		// half of the hosts are silent, and all hosts are one listing.
		FailListing: func(t testing.TB, _ providers.Infrastructure, nth int) {
			if nth > 1 {
				for _, h := range b.hosts {
					h.Set(hoststest.Fault{})
				}
			} else {
				for _, h := range b.hosts[:len(b.hosts)/2+1] {
					h.Set(hoststest.Fault{Refuse: true})
				}
			}
			b.p.Forget()
		},
	}
}

// quiet is a provider whose settle window ends when no host is being cleaned: how
// long that takes depends on the machine that the test runs on.
type quiet struct {
	*hosts.Provider
	b *bench
}

// Settle implements providers.Infrastructure.
func (q quiet) Settle() time.Duration {
	deadline := time.Now().Add(time.Minute)
	for _, h := range q.b.hosts {
		for {
			left, err := filepath.Glob(h.Path("/var/lib/fairlead/host/machines/*/releasing"))
			if err != nil {
				q.b.t.Fatal(err)
			}
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				q.b.t.Fatalf("host %s is being cleaned for a minute", h.Name)
			}
			time.Sleep(tick)
		}
	}
	return 2 * tick // until the next look is a new one
}
