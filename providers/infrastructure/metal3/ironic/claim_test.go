package ironic_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// tryAll has all of tries done at once, and returns what came of each.
func tryAll(t *testing.T, tries ...func() error) []error {
	t.Helper()
	out := make([]error, len(tries))
	var all sync.WaitGroup
	begin := make(chan struct{})
	for n, try := range tries {
		all.Go(func() {
			<-begin
			for ironic.IsLocked(out[n]) || out[n] == nil {
				if out[n] = try(); out[n] == nil {
					return
				}
			}
		})
	}
	close(begin)
	all.Wait()
	return out
}

// TestClaimHasOneWinner: of machines that claim one host at once exactly one has it, with
// all that its claim says, and the others are told.
func TestClaimHasOneWinner(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	available(t, i, c, "race")
	for round := range 10 {
		var tries []func() error
		for n := range 5 {
			agent, m := client(t, i, ironic.Options{}), claim(i, fmt.Sprintf("race-%d-%d", round, n))
			tries = append(tries, func() error { _, err := agent.Claim(t.Context(), "metal~race", m); return err })
		}
		results := tryAll(t, tries...)
		winner := slices.Index(results, nil)
		n := await(t, c, "race", "claimed", func(n ironic.Node) bool { return n.Instance != "" })
		name := fmt.Sprintf("race-%d-%d", round, winner)
		if extra, _ := n.Extra["fairlead"].(map[string]any); n.Instance != ironic.InstanceID("prod", "eu/one", name) || extra["machine"] != name {
			t.Fatalf("%s won, the host is of %s, %v", name, n.Instance, n.Extra)
		}
		for loser, err := range results {
			if loser != winner && (!ironic.IsAssociated(err) || fleet.KindOf(err) != fleet.Conflict) {
				t.Fatalf("machine %d beside %s: %v", loser, name, err)
			}
		}
		must(t, func() error { return c.Unclaim(t.Context(), "metal~race", n.Instance) })
	}
}

// TestMachineHasOneHost: of the hosts that a machine claims at once it has one.
func TestMachineHasOneHost(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	hosts := []string{"one-a", "one-b", "one-c"}
	for _, h := range hosts {
		available(t, i, c, h)
	}
	for round := range 5 {
		m := claim(i, fmt.Sprintf("one-%d", round))
		var tries []func() error
		for _, h := range hosts {
			agent := client(t, i, ironic.Options{})
			tries = append(tries, func() error { _, err := agent.Claim(t.Context(), "metal~"+h, m); return err })
		}
		results := tryAll(t, tries...)
		winners := 0
		for n, err := range results {
			switch {
			case err == nil:
				winners++
				must(t, func() error { return c.Unclaim(t.Context(), "metal~"+hosts[n], m.Instance) })
			case !ironic.HasHost(err) || fleet.KindOf(err) != fleet.Conflict:
				t.Fatalf("host %s: %v", hosts[n], err)
			}
		}
		if winners != 1 {
			t.Fatalf("the machine has %d hosts: %v", winners, results)
		}
	}
}

// TestClaimOnceMore: who lost the answer of its claim asks again, and has the host.
func TestClaimOnceMore(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	available(t, i, c, "once-more")
	m := claim(i, "once-more-0")
	lost := i.FailCalls(metal3test.CallFault{Method: "PATCH /v1/nodes/metal~once-more", Times: 1, Lose: true})
	defer lost.End()
	if err := again(t, func() error { _, err := c.Claim(t.Context(), "metal~once-more", m); return err }); fleet.KindOf(err) != fleet.Unanswered {
		t.Fatalf("a claim whose answer is lost: %v", err)
	}
	for range 2 {
		var n ironic.Node
		must(t, func() (err error) { n, err = c.Claim(t.Context(), "metal~once-more", m); return err })
		if n.Instance != m.Instance {
			t.Errorf("claimed: %+v", n)
		}
	}
	_, err := c.Claim(t.Context(), "metal~once-more", ironic.Claim{})
	wantError(t, err, fleet.Invalid, "cannot claim host metal~once-more: no instance_uuid is given, which would release it")
}

// TestUnclaim: what is given back is one's own, and not deployed.
func TestUnclaim(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	available(t, i, c, "unclaim")
	m, other := claim(i, "unclaim-0"), claim(i, "unclaim-1")
	must(t, func() error { _, err := c.Claim(t.Context(), "metal~unclaim", m); return err })
	must(t, func() error { return c.Unclaim(t.Context(), "metal~unclaim", other.Instance) })
	if n := reach(t, c, "unclaim", ironic.Available); n.Instance != m.Instance {
		t.Errorf("another machine's host was given back: %+v", n)
	}
	must(t, func() error { return c.Unclaim(t.Context(), "metal~unclaim", m.Instance) })
	if n := reach(t, c, "unclaim", ironic.Available); n.Instance != "" || len(n.Info) != 0 {
		t.Errorf("given back: %+v", n)
	}
	must(t, func() error { return c.Unclaim(t.Context(), "metal~nowhere", m.Instance) })

	must(t, func() error { _, err := c.Claim(t.Context(), "metal~unclaim", m); return err })
	must(t, func() error { return c.Deploy(t.Context(), "metal~unclaim", "") })
	reach(t, c, "unclaim", ironic.Active)
	err := c.Unclaim(t.Context(), "metal~unclaim", m.Instance)
	wantError(t, err, fleet.Conflict, "cannot give back host metal~unclaim: it is active, and has to be released")
}
