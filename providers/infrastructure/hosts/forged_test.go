package hosts

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// A town is three hosts and a gate. cp-0 is on h0, and the others note it.
type town struct {
	c    *fleet.Cluster
	spec *api.HostClusterSpec
	r    roster
}

func (w *town) tags(name fleet.MachineName) map[string]string {
	p := fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Template: "1-cp", Version: "v1.34.1"}
	return w.c.MachineTags(p, name, "op")
}

// claim has host i carry a machine, and returns its claim.
func (w *town) claim(i int, id string, tags map[string]string) *host.Claim {
	h := w.r[i].host
	k := &host.Claim{ID: id, Pool: h.Pool, Host: h.Name, Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Tags: tags}
	w.r[i].state.Claimed, w.r[i].state.Claim, w.r[i].state.Progress = true, k, host.Done
	return k
}

func newTown() *town {
	w := &town{
		c:    &fleet.Cluster{Fleet: "fleet", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}},
		spec: &api.HostClusterSpec{LoadBalancer: &api.LoadBalancer{PoolName: "pool", HostName: "gate"}, ControlPlaneEndpoint: api.APIEndpoint{Port: 6443}},
	}
	for i, name := range []string{"h0", "h1", "h2", "gate"} {
		w.r = append(w.r, &observedHost{
			host:  &machineHost{Pool: "pool", Name: name, HostDetails: api.HostDetails{Address: fmt.Sprintf("10.0.0.%d", i)}},
			state: new(host.State),
		})
	}
	k := w.claim(0, "0123456789abcdef", w.tags("cp-0"))
	for _, s := range w.r[1:] {
		s.state.Notes = append(s.state.Notes, *k)
	}
	for _, s := range w.r {
		s.state.Notes = append(s.state.Notes, sharedNote(w.c, "op"))
	}
	return w
}

// note has the hosts keep a note of k as change leaves it.
func (w *town) note(k host.Claim, change func(k *host.Claim), hosts ...int) {
	k.Tags = maps.Clone(k.Tags)
	change(&k)
	for _, i := range hosts {
		w.r[i].state.Notes = append([]host.Claim{k}, w.r[i].state.Notes...)
	}
}

// as makes a claim that of another machine.
func (w *town) as(name fleet.MachineName) func(*host.Claim) {
	return func(k *host.Claim) { k.Tags = w.tags(name) }
}

func asItIs(*host.Claim) {}

// silence has host i not answer.
func (w *town) silence(i int) { w.r[i].state, w.r[i].err = nil, silentAs(i) }

// join adds hosts that nobody told anything yet.
func (w *town) join(pool string, names ...string) {
	for _, name := range names {
		w.r = append(w.r, &observedHost{
			host:  &machineHost{Pool: pool, Name: name, HostDetails: api.HostDetails{Address: fmt.Sprintf("10.0.0.%d", len(w.r))}},
			state: new(host.State),
		})
	}
}

// TestForged: what root of one host writes into its claim or its notes is told, makes no
// backend of it, and does nothing to the machines of others.
func TestForged(t *testing.T) {
	const other = "fedcba9876543210"
	for name, test := range map[string]struct {
		forge    func(w *town)
		doubt    string // of the claim on h1; empty: none
		backends string
	}{
		"Nothing": {func(*town) {}, "", "cp-0"},
		"Line":    {func(w *town) { w.claim(1, other, w.tags("x 1.2.3.4:1\nlisten y")) }, "no text of one line", "cp-0"},
		"Words":   {func(w *town) { w.claim(1, other, w.tags("x 1.2.3.4:1")) }, "is no name", "cp-0"},
		"Role": {func(w *town) {
			tags := maps.Clone(w.tags("cp-1"))
			tags[fleet.TagRole] = "root"
			w.claim(1, other, tags)
		}, "its role", "cp-0"},
		"WellFormed": {func(w *town) { w.claim(1, other, w.tags("cp-1")) }, "too few other hosts of HostPool pool note its claim", "cp-0"},
		"Copied": {func(w *town) {
			*w.r[1].state = host.State{Claimed: true, Claim: w.r[0].state.Claim, Progress: host.Done}
			w.r[0].state.Claim = nil
		}, "it is that of host pool/h0", ""},
		"OtherNotes": {func(w *town) {
			k := w.claim(1, other, w.tags("cp-1"))
			noted := *k
			noted.Tags = w.tags("cp-2")
			w.r[0].state.Notes, w.r[2].state.Notes = append(w.r[0].state.Notes, noted), append(w.r[2].state.Notes, noted)
		}, "another claim with that id", "cp-0 cp-2"}, // what the others noted before it was made
		"Noted":      {func(w *town) { w.note(*w.claim(1, other, w.tags("cp-1")), asItIs, 0, 2) }, "", "cp-0 cp-1"},
		"NotedByOne": {func(w *town) { w.note(*w.claim(1, other, w.tags("cp-1")), asItIs, 2) }, "too few other hosts", "cp-0"},
		"NotedByItself": {func(w *town) {
			w.r[3].host.Pool, w.spec.LoadBalancer.PoolName = "gates", "gates" // one of three is not most
			k := w.claim(1, other, w.tags("cp-1"))
			k.Host = "nobody"
			w.note(*k, asItIs, 1)
		}, "too few other hosts", "cp-0"},
		"OfNoPool": {func(w *town) { w.claim(1, other, w.tags("cp-1")).Pool = "none" }, "too few other hosts", "cp-0"},
		"OfASmallPool": {func(w *town) {
			w.join("small", "s0")
			k := w.claim(1, other, w.tags("cp-1"))
			k.Pool, k.Host = "small", "s1"
		}, "too few other hosts", "cp-0"},
		"OfABigPool": {func(w *town) { // one host there is with it, of three
			w.join("big", "b0", "b1", "b2")
			for _, s := range w.r[4:] {
				s.state.Notes = append(s.state.Notes, sharedNote(w.c, "op"))
			}
			k := w.claim(1, other, w.tags("cp-1"))
			k.Pool, k.Host = "big", "b3"
			w.note(*k, asItIs, 4)
		}, "too few other hosts", "cp-0"},
		"WentOverToAnotherPool": {func(w *town) {
			w.r[0].host.Pool = "other"
		}, "", "cp-0"},
		"ThePoolGrew": {func(w *town) { w.join("pool", "h4", "h5", "h6", "h7", "h8", "h9") }, "", "cp-0"},
		"ManyOfOneHost": {func(w *town) {
			for _, name := range []fleet.MachineName{"x", "y", "z", "v"} {
				w.note(*w.r[0].state.Claim, w.as(name), 1)
			}
		}, "", "cp-0"},
		"ManyOfOneHostAboutASilentOne": {func(w *town) {
			for range 4 {
				w.note(*w.r[0].state.Claim, w.as("x"), 1)
			}
			w.silence(0)
		}, "", "cp-0"},
		"ManyOfAnotherPool": {func(w *town) {
			w.join("workers", "w0", "w1", "w2", "w3")
			w.note(*w.r[0].state.Claim, w.as("x"), 4, 5, 6, 7)
		}, "", "cp-0"},
		"ManyOfAnotherPoolAboutASilentOne": {func(w *town) {
			w.join("workers", "w0", "w1", "w2", "w3")
			w.note(*w.r[0].state.Claim, w.as("x"), 4, 5, 6, 7)
			w.silence(0)
		}, "", "cp-0"},
		"OneNotesASilentHost": {func(w *town) {
			w.silence(2)
			w.note(host.Claim{ID: other, Pool: "pool", Host: "h2", Tags: w.tags("cp-1")}, asItIs, 1)
		}, "", "cp-0"},
		"SomeNoteASilentHost": {func(w *town) { // as many as it takes for the machine to be shown
			w.join("pool", "h4")
			w.r[4].state.Notes = append(w.r[4].state.Notes, sharedNote(w.c, "op"))
			w.silence(2)
			w.note(host.Claim{ID: other, Pool: "pool", Host: "h2", Tags: w.tags("cp-1")}, asItIs, 1, 4)
		}, "too few other hosts", "cp-0"},
		"DamagedAndOneNotesAnother": {func(w *town) {
			k := *w.r[0].state.Claim
			damaged := k
			damaged.Tags = maps.Clone(k.Tags)
			delete(damaged.Tags, fleet.TagRole)
			w.r[0].state.Claim = &damaged
			w.note(k, w.as("x"), 1) // the first that is asked
		}, "its role", "cp-0"},
		"AWorkerThatSaysItIsNot": {func(w *town) {
			k := w.claim(1, other, w.tags("cp-1"))
			w.note(*k, func(k *host.Claim) { k.Tags[fleet.TagRole] = string(fleet.RoleWorker) }, 0, 2, 3)
		}, "another claim with that id", "cp-0"},
		"TheLoadBalancerIsNoted": {func(w *town) { // as a machine, which it is not
			w.r[3].state.Claimed, w.r[3].state.Progress, w.r[3].state.Balanced = true, host.Done, "before"
			k := w.claim(3, other, sharedNote(w.c, "op").Tags)
			w.note(*k, w.as("x"), 1)
		}, "", "cp-0"},
		"OneSaysThatItGoes": {func(w *town) { w.r[1].state.Notes[0].Releasing = true }, "", "cp-0"},
		"OneNotesAnother":   {func(w *town) { w.r[1].state.Notes[0].Tags = w.tags("x") }, "", "cp-0"},
		"SilentAndOneSaysThatItGoes": {func(w *town) {
			w.r[0].state, w.r[0].err = nil, silentAs(0)
			w.r[1].state.Notes[0].Releasing = true
		}, "", "cp-0"},
		"SilentAndOneNotesAnother": {func(w *town) {
			w.r[0].state, w.r[0].err = nil, silentAs(0)
			w.r[1].state.Notes[0].Tags = w.tags("x")
		}, "", "cp-0"},
		// The notes were lost, and the load balancer leads to it since before.
		"Forgotten": {func(w *town) {
			w.r[3].state.Balanced = "" // see below
			for _, s := range w.r {
				s.state.Notes = nil
			}
		}, "", "cp-0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown()
			before, err := w.r.balancer(w.c, w.spec)
			if err != nil {
				t.Fatal(err)
			}
			test.forge(w)
			if name == "Forgotten" {
				w.r[3].state.Balanced = host.Sum(before.config)
			}
			b, err := w.r.balancer(w.c, w.spec)
			if err != nil {
				t.Fatal(err)
			}
			if claimed := w.r[3].state.Claim != nil; claimed != (b.id != "") {
				t.Errorf("the load balancer is claimed: %v, and it is known: %v", claimed, b.id != "")
			}
			var backends []string
			for line := range strings.Lines(string(b.config)) {
				if f := strings.Fields(line); len(f) > 1 && f[0] == "server" {
					backends = append(backends, f[1])
				}
			}
			if got := strings.Join(backends, " "); got != test.backends {
				t.Errorf("backends = %q, want %q", got, test.backends)
			}
			doubt := ""
			for _, f := range w.r.machines(w.c) {
				if f.releasing {
					t.Errorf("machine %s is to be removed, as one host says", f.claim.Tags[fleet.TagMachine])
				}
				if d := b.doubt(&f); d != "" {
					doubt = d
				}
				f.forged = b.doubt(&f)
				if m := f.machine(); (m.Damaged == "") != (f.forged == "") {
					t.Errorf("machine = %+v, want it to be held where its claim is in doubt", m)
				}
			}
			if (doubt == "") != (test.doubt == "") || !strings.Contains(doubt, test.doubt) {
				t.Errorf("doubt = %q, want %q", doubt, test.doubt)
			}
			for _, f := range b.trusted(w.r.missingNotes(w.c)) {
				if test.doubt != "" && f.host == w.r[1].host {
					t.Error("the forged claim is noted on other hosts")
				}
			}
		})
	}
}
