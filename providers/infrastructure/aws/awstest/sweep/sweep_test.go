// Package sweep_test holds the whole provider of AWS to what it promises, whatever goes wrong at whatever call.
package sweep_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
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

// live leads a cluster through its life and returns how many things of each kind were there after each stage, as
// "kind number". What is stored for machines goes in time: it is left out but at the end.
func live(p *clusterLife) map[string]string {
	p.Helper()
	out := make(map[string]string)
	for i, stage := range stages {
		stage.next(&p.Cluster)
		p.Rest()
		count := make(map[string]int)
		for _, line := range p.cloud.Contents() {
			kind, _, _ := strings.Cut(line, " ")
			if kind != string(awstest.StoredSecrets) && kind != string(awstest.Parameters) || i == len(stages)-1 {
				count[kind]++
			}
		}
		out[stage.name] = fmt.Sprint(count)
	}
	return out
}

// aCloud is one in which everything takes its time.
func aCloud() *awstest.Cloud {
	return awstest.New(awstest.Options{Delays: awstest.Delays{
		Lag: 3 * time.Second, Start: 8 * time.Second, Terminate: 4 * time.Second, NAT: 20 * time.Second, Balancer: 10 * time.Second,
	}})
}

// inBubble runs f with things of others around it, and nothing else may be left.
func inBubble(t *testing.T, f func(p *clusterLife)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := aCloud()
		c.AddVPC("10.9.0.0/16")
		c.AddInstance("theirs")
		before := c.Contents()
		f(newLife(t, c, newCluster(t, `{region: eu-central-1, s3Bucket: {name: user-data, presignedURLDuration: 1h}, controlPlaneLoadBalancer: {loadBalancerType: nlb}, network: {vpc: {availabilityZoneUsageLimit: 2, ipv6: {}}}}`)))
		if after := c.Contents(); !slices.Equal(after, before) {
			t.Errorf("contents are %q, want what others have, %q", after, before)
		}
	})
}

// TestSweep: whatever goes wrong at whatever call that changes something, in the end there is what a life without
// trouble has, no name has two instances at any time, nothing is left over, and what is of others is as it was.
func TestSweep(t *testing.T) {
	var good map[string]string
	changes := 0
	inBubble(t, func(p *clusterLife) {
		good = live(p)
		for _, err := range p.Errors {
			p.Errorf("without any trouble: %v", err)
		}
		changes = p.client.Changes()
	})
	if !strings.Contains(good["made"], "i:3") || changes < 50 {
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
					if got := live(p); !maps.Equal(got, good) {
						p.Errorf("%v, want %v", got, good)
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

// troubles are the ways in which the nth call that changes something goes wrong. One of them is tried at each
// call; FAIRLEAD_SWEEP=all tries all.
var troubles = []struct {
	name string
	make func(p *clusterLife, n int)
}{
	{"dies before", func(p *clusterLife, n int) { p.client.DieAtChange(n, awstest.Before) }},
	{"dies after", func(p *clusterLife, n int) { p.client.DieAtChange(n, awstest.After) }},
	{"request lost", func(p *clusterLife, n int) { p.inject(n, awstest.Fault{Cut: awstest.Before}) }},
	{"answer lost", func(p *clusterLife, n int) { p.inject(n, awstest.Fault{Cut: awstest.After}) }},
	{"internal error", func(p *clusterLife, n int) {
		p.inject(n, awstest.Fault{Status: http.StatusInternalServerError, Code: "InternalError", Message: "An internal error has occurred"})
	}},
	{"throttled", func(p *clusterLife, n int) {
		p.inject(n, awstest.Fault{Status: http.StatusServiceUnavailable, Code: "RequestLimitExceeded", Message: "Request limit exceeded."})
	}},
}
