package hosts

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

var workers = fleet.Pool{Name: "md", Role: fleet.RoleWorker, Template: "1-worker", Version: "v1.34.1"}

func silentAs(i int) error {
	return fleet.Errorf(fleet.Unavailable, fmt.Sprintf("reach h%d", i), "it is off")
}

// TestNoMachineForgotten goes through every pool of up to six hosts: whichever host is
// claimed, whichever of the others took the note, whichever are silent. A look either
// fails or tells of the machine, once; and it fails only when half of the hosts are silent.
func TestNoMachineForgotten(t *testing.T) {
	c := &fleet.Cluster{Fleet: "fleet", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
	claim := host.Claim{ID: "0123456789abcdef", Pool: "pool", Tags: c.MachineTags(workers, "m-0", "op"), Created: time.Now()}
	for n := 1; n <= 6; n++ {
		for claimed := range n {
			for noted := range 1 << n {
				if noted&(1<<claimed) != 0 || bits.OnesCount(uint(noted)) < n/2 {
					continue
				}
				for silent := range 1 << n {
					var r roster
					for i := range n {
						s := &observedHost{host: &machineHost{Pool: "pool", Name: fmt.Sprintf("h%d", i)}}
						if silent&(1<<i) != 0 {
							s.err = silentAs(i)
						} else {
							s.state = new(host.State)
						}
						r = append(r, s)
					}
					claim.Host = r[claimed].host.Name
					if r[claimed].answers() {
						r[claimed].state.Claimed, r[claimed].state.Claim = true, &claim
					}
					for i, s := range r {
						if noted&(1<<i) != 0 && s.answers() {
							s.state.Notes = append(s.state.Notes, claim)
						}
					}
					answers := n - bits.OnesCount(uint(silent))
					err := r.checkQuorum(new(api.HostClusterSpec))
					if (err != nil) != (answers < (n+1)/2) {
						t.Fatalf("%d of %d answer: complete() = %v", answers, n, err)
					}
					if got := r.machines(c); err == nil && (len(got) != 1 || got[0].claim.ID != claim.ID) {
						t.Fatalf("%d hosts, %d claimed, noted by %b, silent %b: machines = %+v, want the one", n, claimed, noted, silent, got)
					}
				}
			}
		}
	}
}

// TestNotes: which notes count, which are outdated, and which are missing.
func TestNotes(t *testing.T) {
	c := &fleet.Cluster{Fleet: "fleet", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	claim := host.Claim{ID: "0123456789abcdef", Pool: "pool", Host: "h0", Tags: c.MachineTags(workers, "m-0", "op"), Created: now.Add(-time.Hour)}
	releasing, young, foreign := claim, claim, claim
	releasing.Releasing = true
	young.Created = now.Add(-time.Minute)
	foreign.Tags = (&fleet.Cluster{Fleet: "other", Key: c.Key}).MachineTags(workers, "m-0", "op")
	type on struct {
		claim, note *host.Claim
		silent      bool
		lost        bool
	}
	for name, test := range map[string]struct {
		reason                   string
		hosts                    []on
		machines, stale, unnoted int
	}{
		"Noted":        {"all is well", []on{{claim: &claim}, {note: &claim}, {note: &claim}}, 1, 0, 0},
		"Unnoted":      {"too few would know", []on{{claim: &claim}, {}, {}}, 1, 0, 1},
		"UnnotedAlone": {"there is nobody else", []on{{claim: &claim}}, 1, 0, 0},
		"Free":         {"the host says that it is free", []on{{}, {note: &claim}, {note: &claim}}, 0, 1, 0},
		"JustAsked":    {"the claim may be on its way", []on{{}, {note: &young}, {note: &young}}, 0, 0, 0},
		"Silent":       {"the others tell", []on{{silent: true}, {note: &claim}, {note: &claim}}, 1, 0, 0},
		"TooFewNotes":  {"of five hosts two had to note it, so it was never claimed", []on{{silent: true}, {note: &claim}, {}, {}, {}}, 0, 0, 0},
		"PerhapsMore":  {"the other silent one may hold the second note", []on{{silent: true}, {note: &claim}, {silent: true}, {}, {}}, 1, 0, 0},
		"Lost":         {"a person said so", []on{{lost: true}, {note: &claim}, {note: &claim}}, 0, 1, 0},
		"Foreign":      {"it is of another fleet", []on{{silent: true}, {note: &foreign}, {note: &foreign}}, 0, 0, 0},
		"ForeignClaim": {"it is of another fleet", []on{{claim: &foreign}, {}, {}}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var r roster
			for i, o := range test.hosts {
				s := &observedHost{host: &machineHost{Pool: "pool", Name: fmt.Sprintf("h%d", i), HostDetails: api.HostDetails{Lost: o.lost}}}
				switch {
				case o.silent:
					s.err = silentAs(i)
				case !o.lost:
					s.state = &host.State{Claimed: o.claim != nil, Claim: o.claim}
					if o.note != nil {
						s.state.Notes = []host.Claim{*o.note}
					}
				}
				r = append(r, s)
			}
			if got := [3]int{len(r.machines(c)), len(r.staleNotes(c, now)), len(r.missingNotes(c))}; got != [3]int{test.machines, test.stale, test.unnoted} {
				t.Errorf("machines, outdated notes, missing notes = %v, want %d, %d, %d: %s", got, test.machines, test.stale, test.unnoted, test.reason)
			}
		})
	}

	// A host that left Git: what was to be removed is forgotten, the rest is told.
	r := roster{{host: &machineHost{Pool: "pool", Name: "h1"}, state: &host.State{Notes: []host.Claim{claim}}}}
	if got := r.machines(c); len(got) != 1 || got[0].host != nil {
		t.Errorf("machines with the host out of Git = %+v, want one without a host", got)
	}
	r[0].state.Notes[0] = releasing
	if got := r.machines(c); len(got) != 0 || len(r.staleNotes(c, now)) != 1 {
		t.Errorf("machines with a removed machine's host out of Git = %+v, want none, and an outdated note", got)
	}
}

// TestWitnesses: how many of the others have to note a claim, by the size of the pool.
func TestWitnesses(t *testing.T) {
	want := []int{0, 1, 1, 2, 2, 3, 3, 4}
	var r roster
	for i, enough := range want {
		r = append(r, &observedHost{host: &machineHost{Pool: "pool", Name: fmt.Sprintf("h%d", i)}})
		if others, got := r.witnesses("pool", "h0"); len(others) != i || got != enough {
			t.Errorf("witnesses in a pool of %d = %d of %d, want %d", len(r), got, len(others), enough)
		}
	}
}

// TestQuoteLog: a log that is shown holds no token of kubeadm.
func TestQuoteLog(t *testing.T) {
	got := quoteLog("kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef\nfailed\n")
	if long := quoteLog(strings.Repeat("it is broken\n", 1000)); len(long) > 1600 {
		t.Errorf("a long log is quoted with %d bytes", len(long))
	}
	if want := "; the last lines of its log:\nkubeadm join 10.0.0.1:6443 --token abcdef.REDACTED\nfailed"; got != want {
		t.Errorf("quoteLog = %q, want %q", got, want)
	}
}

// TestWaits: a machine that was made just now is not started a second time.
func TestWaits(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := &reader{settle: 25 * time.Second}
	for name, test := range map[string]struct {
		age       time.Duration
		progress  host.Progress
		releasing bool
		want      bool
	}{
		"JustMade":   {age: 10 * time.Second, progress: host.Waiting},
		"Forgotten":  {age: time.Minute, progress: host.Waiting, want: true},
		"ClockAhead": {age: -time.Minute, progress: host.Waiting, want: true},
		"Started":    {age: time.Minute, progress: host.Running},
		"ToGo":       {age: time.Minute, progress: host.Waiting, releasing: true},
	} {
		f := &hostMachine{claim: host.Claim{Created: now.Add(-test.age)}, state: &host.State{Progress: test.progress}, releasing: test.releasing}
		if got := r.waits(f, now); got != test.want {
			t.Errorf("%s: waits = %v, want %v", name, got, test.want)
		}
	}
}

// TestQuorumWithoutLoadBalancer: a pool that is the host of the load balancer alone is
// looked at, and waited for by nobody.
func TestQuorumWithoutLoadBalancer(t *testing.T) {
	r := roster{
		{host: &machineHost{Pool: "gates", Name: "gate"}, err: silentAs(0)},
		{host: &machineHost{Pool: "pool", Name: "h0"}, state: new(host.State)},
	}
	spec := &api.HostClusterSpec{LoadBalancer: &api.LoadBalancer{PoolName: "gates", HostName: "gate"}}
	if err := r.checkQuorum(spec); err != nil {
		t.Errorf("complete() with the load balancer silent = %v", err)
	}
	spec.LoadBalancer.HostName = "another"
	if err := r.checkQuorum(spec); err == nil {
		t.Error("complete() with a silent pool worked")
	}
	r[0].host.Pool, spec.LoadBalancer.HostName, r[1].err = "pool", "gate", silentAs(1)
	r[1].state, spec.LoadBalancer.PoolName = nil, "pool"
	if err := r.checkQuorum(spec); err == nil {
		t.Error("complete() with all of a pool silent, which has other hosts, worked")
	}
}
