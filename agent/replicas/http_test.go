package replicas

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/agent/replicas/leasetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// telling is a reconciler that tells what it was given.
type telling struct {
	reconcile.Unattended
	got chan *fleet.Cluster
}

func (r telling) Pass(_ context.Context, c *fleet.Cluster, _ fleet.Memory) reconcile.Result {
	r.got <- c
	return reconcile.Result{Report: fleet.Report{Cluster: c.Key, Phase: fleet.PhaseWorkers}, Err: fleet.Errorf(fleet.Exhausted, "create machine", "no room")}
}

func (telling) Forget(fleet.Key) {}

func config(t *testing.T, seed byte) *tls.Config {
	t.Helper()
	c, err := TLS(bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOverTheWire makes a pass at another replica, with TLS and secrets.
func TestOverTheWire(t *testing.T) {
	api, r := leasetest.New(), telling{got: make(chan *fleet.Cluster, 1)}
	var frozen []string // as each pass was told
	m := New(Options{
		Freeze: func(why string) { frozen = append(frozen, why) },
		Leases: api.Client(), Namespace: "n", Agent: "fairlead", Identity: "b", Shards: 2, Workers: 1,
		Reconciler: func(func(fleet.Key) error, func(fleet.Key)) reconcile.Passes { return r },
	})
	if err := m.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.leases.leader = "a"
	server := httptest.NewUnstartedServer(m.Handler())
	server.TLS = config(t, 1)
	server.StartTLS()
	t.Cleanup(server.Close)
	identity := NewIdentity("b", server.Listener.Addr().String())
	dial := func(seed byte) Peer {
		p, err := NewDialer(config(t, seed)).Dial(identity)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Secrets: map[string]fleet.SecretData{"s": {"k": fleet.NewSecret([]byte("hidden"))}}}

	if res := dial(1).Pass(t.Context(), "a", c, fleet.Memory{}, ""); res.Err == nil || len(r.got) > 0 {
		t.Error("a pass was made before the leader answered a question")
	}
	q, _, err := dial(1).Heartbeat(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	m.notify(c.Key)
	_, changed, err := dial(1).Heartbeat(t.Context(), "a", q)
	if err != nil || len(changed) != 1 || changed[0] != c.Key {
		t.Errorf("changed %v, error %v", changed, err)
	}
	res := dial(1).Pass(t.Context(), "a", c, fleet.Memory{}, "they are being moved")
	if len(frozen) != 1 || frozen[0] != "they are being moved" {
		t.Errorf("of secrets the replica was told %q", frozen)
	}
	if res.Report.Phase != fleet.PhaseWorkers || fleet.KindOf(res.Err) != fleet.Exhausted {
		t.Errorf("result %+v", res)
	}
	if got := <-r.got; string(got.Secrets["s"]["k"].Reveal()) != "hidden" {
		t.Errorf("the Secret came as %q", got.Secrets["s"]["k"].Reveal())
	}
	if res := dial(1).Pass(t.Context(), "somebody", c, fleet.Memory{}, ""); res.Err == nil || len(r.got) > 0 {
		t.Error("a pass was made for one that is not the leader")
	}
	if _, _, err := dial(2).Heartbeat(t.Context(), "a", ""); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("one with another secret was let in: %v", err)
	}
	plain := server.Client()
	plain.Transport.(*http.Transport).TLSClientConfig.Certificates = nil
	plain.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	if res, err := plain.Post(server.URL+heartbeatPath, "", nil); err == nil {
		t.Errorf("one without a certificate was answered %s", res.Status)
	}
}

// A listener is a replica that notes what the leader says of secrets.
type listener struct {
	Peer
	frozen string
}

func (l *listener) Pass(_ context.Context, _ string, _ *fleet.Cluster, _ fleet.Memory, frozen string) reconcile.Result {
	l.frozen = frozen
	return reconcile.Result{}
}

// TestLeaderSaysThatSecretsAreFrozen: each pass that the leader hands on says what holds of
// secrets then.
func TestLeaderSaysThatSecretsAreFrozen(t *testing.T) {
	own := New(Options{Leases: leasetest.New().Client(), Namespace: "n", Agent: "fairlead", Identity: "a", Shards: 1, Workers: 1})
	why := ""
	r := NewRouter(own, nil, func(fleet.Key) error { return nil }, func(fleet.Key) {}, func() string { return why })
	l := &listener{}
	r.peers["b"], r.holders[0] = &peer{Peer: l, ctx: t.Context()}, "b"
	for _, why = range []string{"", "they are being moved", ""} {
		if res := r.Pass(t.Context(), &fleet.Cluster{}, fleet.Memory{}); res.Err != nil || l.frozen != why {
			t.Errorf("the replica was told %q, want %q: %v", l.frozen, why, res.Err)
		}
	}
}
