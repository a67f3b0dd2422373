package exec_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/exec"
)

// keeping is a site whose cloud keeps pools.
type keeping struct{ *site }

func (k keeping) Abilities() providers.Abilities { return providers.Abilities{PoolKeeper: k} }

func (k keeping) EnsurePool(_ context.Context, _ fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
	return k.note("ensure pool "+string(p.Name)+" "+p.Version, c)
}

func (k keeping) DeletePool(_ context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error {
	return k.note("delete pool "+string(name), c)
}

// TestKeptPools: a pool that the cloud keeps is changed as the definition says, and deleted only where Git has it
// no more, or the cluster is to go.
func TestKeptPools(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		cluster fleet.Cluster
		kind    fleet.ActionKind
		pool    fleet.PoolName
		without bool // the ability
		want    []string
	}{
		"in Git":           {"it is changed", fleet.Cluster{}, fleet.EnsurePool, "mp", false, []string{"cloud: ensure pool mp v1.34.1 of near with "}},
		"not in Git":       {"nobody says what it is to be", fleet.Cluster{}, fleet.EnsurePool, "other", false, nil},
		"no keeper":        {"its provider keeps no pools", fleet.Cluster{}, fleet.EnsurePool, "mp", true, nil},
		"deletion":         {"Git has it", fleet.Cluster{}, fleet.DeletePool, "mp", false, nil},
		"protected":        {"the cluster is protected", fleet.Cluster{Delete: true, Protect: true}, fleet.DeletePool, "mp", false, nil},
		"left Git":         {"Git has it no more", fleet.Cluster{}, fleet.DeletePool, "other", false, []string{"cloud: delete pool other of near with "}},
		"the cluster goes": {"all of it goes", fleet.Cluster{Delete: true}, fleet.DeletePool, "mp", false, []string{"cloud: delete pool mp of near with "}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &tc.cluster
			c.Key, c.Provider, c.Hosted = fleet.Key{Namespace: "prod", Name: "eu-1"}, "near", &fleet.HostedControlPlane{}
			c.KeptPools = []fleet.KeptPool{{Name: "mp", Version: "v1.34.1"}}
			var asked []string
			var infra providers.Infrastructure = keeping{&site{name: "cloud", asked: &asked}}
			if tc.without {
				infra = &site{name: "cloud", asked: &asked}
			}
			e := exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			w := exec.Environment{Cluster: c, Infrastructure: infra, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: time.Now()}
			err := e.Run(t.Context(), w, []fleet.Action{{Kind: tc.kind, Cluster: c.Key, Pool: tc.pool, Operation: "op"}})[0].Err
			if !slices.Equal(asked, tc.want) || (err == nil) != (tc.want != nil) {
				t.Errorf("%s: asked %q, error %v", tc.reason, asked, err)
			}
		})
	}
}

// giving is a plane that gives tokens.
type giving struct{ plane }

func (giving) Token(_ context.Context, c *fleet.Cluster, _ fleet.Secret) (providers.Token, error) {
	return providers.Token{Value: fleet.NewSecret([]byte("token of " + c.Key.Name))}, nil
}

// TestAccessWithTokens: the access to a cluster whose control plane gives tokens has them, and no other one has.
func TestAccessWithTokens(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
	v := &vault{has: map[fleet.SecretName]fleet.SecretData{fleet.Kubeconfig: value("config")}}
	for reason, p := range map[string]providers.HostedControlPlane{"machines": nil, "a kubeconfig": &plane{}} {
		if a, err := exec.Access(t.Context(), v, c, p, nil); err != nil || a.Tokens != nil {
			t.Errorf("%s: tokens %t, error %v", reason, a.Tokens != nil, err)
		}
	}
	a, err := exec.Access(t.Context(), v, c, &giving{}, nil)
	if err != nil || a.Tokens == nil {
		t.Fatalf("no tokens, error %v", err)
	}
	if token, err := a.Tokens(t.Context(), fleet.Secret{}); err != nil || string(token.Value.Reveal()) != "token of eu-1" {
		t.Errorf("token %q, error %v", token.Value.Reveal(), err)
	}
}
