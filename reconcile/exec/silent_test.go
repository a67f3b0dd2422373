package exec_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/exec"
)

// silent is an infrastructure, and a control plane that somebody else keeps, that take each
// call and never answer.
type silent struct{ providers.Infrastructure }

func (silent) wait(ctx context.Context) error {
	<-ctx.Done()
	return fleet.Errorf(fleet.Unanswered, "call", "%w", ctx.Err())
}

func (s silent) CreateMachine(ctx context.Context, _ fleet.OperationID, _ providers.MachineRequest) error {
	return s.wait(ctx)
}

func (s silent) DeleteMachine(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster, _ fleet.MachineName, _ fleet.ProviderID) error {
	return s.wait(ctx)
}

func (s silent) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster) error {
	return s.wait(ctx)
}

func (s silent) DeleteInfrastructure(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster) error {
	return s.wait(ctx)
}

func (s silent) SwitchMachine(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster, _ fleet.MachineName, _ fleet.ProviderID, _ fleet.HostPower) error {
	return s.wait(ctx)
}

func (s silent) EnsurePool(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster, _ fleet.KeptPool) error {
	return s.wait(ctx)
}

func (s silent) DeletePool(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster, _ fleet.PoolName) error {
	return s.wait(ctx)
}

func (s silent) LeaveEndpoint(ctx context.Context, _ *fleet.Cluster, _ fleet.MachineName, _ fleet.ProviderID) error {
	return s.wait(ctx)
}

func (s silent) Abilities() providers.Abilities {
	return providers.Abilities{Rebooter: s, PoolKeeper: s, EndpointKeeper: s}
}

// keeper keeps a control plane as silent does machines.
type keeper struct{ silent }

func (k keeper) Settle() time.Duration { return 0 }

func (k keeper) Observe(context.Context, *fleet.Cluster, providers.SecretReader) (providers.HostedObservation, error) {
	return providers.HostedObservation{}, nil
}

func (k keeper) Ensure(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster) error {
	return k.wait(ctx)
}

func (k keeper) Delete(ctx context.Context, _ fleet.OperationID, _ *fleet.Cluster) error {
	return k.wait(ctx)
}

// TestSilenceEnds: no change of an infrastructure that takes a call and never answers lasts for
// ever, whatever limits its provider has. What it was asked stays open.
func TestSilenceEnds(t *testing.T) {
	pool := fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}
	for _, kind := range []fleet.ActionKind{
		fleet.EnsureInfrastructure, fleet.DeleteInfrastructure, fleet.CreateMachine, fleet.DeleteMachine, fleet.SwitchOff, fleet.SwitchOn,
		fleet.EnsureControlPlane, fleet.DeleteControlPlane, fleet.EnsurePool, fleet.DeletePool, fleet.RemoveMember,
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				key := fleet.Key{Namespace: "prod", Name: "eu-1"}
				c := &fleet.Cluster{Key: key, ControlPlane: pool, KeptPools: []fleet.KeptPool{{Name: "mp"}}, Delete: kind == fleet.DeleteInfrastructure || kind == fleet.DeleteControlPlane}
				name := pool.Name
				if kind == fleet.EnsurePool || kind == fleet.DeletePool {
					name = "mp"
				}
				if kind == fleet.DeletePool {
					c.KeptPools = nil // it left Git
				}
				e := exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
				on := exec.Environment{
					Cluster: c, Infrastructure: silent{}, ControlPlane: keeper{}, Distribution: &writer{}, Seen: time.Now(),
					Secrets: store{"ca": true, "etcd": true, "proxy": true, "sa": true, "kubeconfig": true}, Memory: &ledger{ended: map[fleet.MachineName]error{}},
				}
				out := e.Run(t.Context(), on, []fleet.Action{{Kind: kind, Cluster: key, Pool: name, Machine: "m", ProviderID: "silent://m", Join: fleet.JoinInit}})
				err, want := out[0].Err, fleet.Unanswered
				if kind == fleet.RemoveMember { // the endpoint is asked first, and etcd nothing
					want = fleet.Unavailable
				}
				if !errors.Is(err, context.DeadlineExceeded) || fleet.KindOf(err) != want {
					t.Fatalf("got %v, want the kind %s", err, want)
				}
				if want := "given up after 10m0s without an answer"; !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			})
		})
	}
}
