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
		w.r = append(w.r, &seen{
			host:  &machineHost{Pool: "pool", Name: name, HostDetails: api.HostDetails{Address: fmt.Sprintf("10.0.0.%d", i)}},
			state: new(host.State),
		})
	}
	k := w.claim(0, "0123456789abcdef", w.tags("cp-0"))
	for _, s := range w.r[1:] {
		s.state.Notes = append(s.state.Notes, *k)
	}
	return w
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
		"WellFormed": {func(w *town) { w.claim(1, other, w.tags("cp-1")) }, "no other host of HostPool pool notes its claim", "cp-0"},
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
		"Noted": {func(w *town) {
			k := w.claim(1, other, w.tags("cp-1"))
			w.r[2].state.Notes = append(w.r[2].state.Notes, *k)
		}, "", "cp-0 cp-1"},
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
			for _, f := range b.trusted(w.r.unnoted(w.c)) {
				if test.doubt != "" && f.host == w.r[1].host {
					t.Error("the forged claim is noted on other hosts")
				}
			}
		})
	}
}
