package sweep_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
	"fairlead.dev/test/run/short"
)

// stages are the life of a cluster. After each of them nothing is left to do.
var stages = []struct {
	name string
	next func(c *fleet.Cluster)
}{
	{"made", func(*fleet.Cluster) {}},
	{"scaled", func(c *fleet.Cluster) { c.ControlPlane.Replicas = 2 }},
	{"replaced", func(c *fleet.Cluster) { c.Workers[0].Template = "2-md" }},
	{"deleted", func(c *fleet.Cluster) { c.Delete = true }},
}

// live leads a cluster through its life and returns how much was there after
// each stage. Once there was trouble it goes on with the deletion.
func live(p *clusterLife) map[string]map[ost.Kind]int {
	p.Helper()
	out := make(map[string]map[ost.Kind]int)
	for i, stage := range stages {
		if p.Trouble && i < len(stages)-1 {
			continue
		}
		stage.next(&p.Cluster)
		p.Rest()
		out[stage.name] = counts(p.cloud)
	}
	return out
}

// Whatever goes wrong at whatever call that changes something: in the end there
// is what a life without trouble has, no name has two servers at any time,
// nothing is left over, and what is of others is as it was.
func TestSweep(t *testing.T) {
	var good map[string]map[ost.Kind]int
	changes := 0
	inBubble(t, func(p *clusterLife) {
		good = live(p)
		for _, err := range p.Errors {
			p.Errorf("without any trouble: %v", err)
		}
		for _, call := range p.client.Calls() {
			if call.Changes() {
				changes++
			}
		}
	})
	if good["made"][ost.Servers] == 0 || changes < 50 {
		t.Fatalf("a life of %d changes makes %v", changes, good["made"])
	}
	step := short.Number(t, 9, 1) // one trouble a call, but for FAIRLEAD_SWEEP=all
	for n := 1; n <= changes; n += step {
		for i, trouble := range troubles {
			if os.Getenv("FAIRLEAD_SWEEP") != "all" && n%len(troubles) != i {
				continue
			}
			t.Run(fmt.Sprintf("%d %s", n, trouble.name), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(p *clusterLife) {
					trouble.make(p, n)
					for stage, got := range live(p) {
						if !maps.Equal(got, good[stage]) {
							p.Errorf("%s: %v, want %v", stage, got, good[stage])
						}
					}
					if !p.Trouble {
						p.Error("nothing went wrong")
					}
					if t.Failed() {
						p.Logf("errors on the way: %v", p.Errors)
					}
				})
			})
		}
	}
}

// troubles are the ways in which the nth call that changes something goes wrong.
// One of them is tried at each call; FAIRLEAD_SWEEP=all tries all.
var troubles = []struct {
	name string
	make func(p *clusterLife, n int)
}{
	{"dies before", func(p *clusterLife, n int) { p.client.DieAtChange(n, ost.Before) }},
	{"dies after", func(p *clusterLife, n int) { p.client.DieAtChange(n, ost.After) }},
	{"request lost", func(p *clusterLife, n int) { p.inject(n, ost.Fault{Cut: ost.Before}) }},
	{"answer lost", func(p *clusterLife, n int) { p.inject(n, ost.Fault{Cut: ost.After}) }},
	{"internal error", func(p *clusterLife, n int) { p.inject(n, ost.Fault{Status: http.StatusInternalServerError}) }},
}

// inBubble runs f with things of others around it, which have to stay as they
// are, and nothing else may be left.
func inBubble(t *testing.T, f func(p *clusterLife)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := aCloud()
		cluster := newCluster(t, c)
		neighbors(c, &cluster)
		before := everything(c)
		f(newLife(t, c, cluster))
		same(t, "left", everything(c), before)
	})
}

// same fails where what is there is not what is wanted, byte by byte.
func same(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for k := range got {
		if want[k] == "" {
			t.Errorf("%s: %s: %s", what, k, got[k])
		}
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("of others: %s was %s, is %s", k, v, got[k])
		}
	}
}
