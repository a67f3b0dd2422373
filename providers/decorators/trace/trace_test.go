package trace_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/trace"
)

type inner struct{}

func (inner) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	time.Sleep(time.Second)
	return fleet.Infrastructure{Exists: true}, nil
}

func (inner) EnsureInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	return fleet.Errorf(fleet.Exhausted, "create", "quota")
}

func (inner) DeleteInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	return fleet.Errorf(fleet.Conflict, "delete", "machines")
}

func (inner) CreateMachine(context.Context, fleet.OperationID, providers.MachineRequest) error {
	return context.Canceled
}

func (inner) DeleteMachine(context.Context, fleet.OperationID, *fleet.Cluster, fleet.MachineName, fleet.ProviderID) error {
	return nil
}

func (inner) Settle() time.Duration { return time.Minute }

func TestCallsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []trace.Call
		p := trace.New(inner{}, func(_ context.Context, c trace.Call) { got = append(got, c) })
		ctx, c := t.Context(), &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
		if o, err := p.Observe(ctx, c); !o.Exists || err != nil {
			t.Errorf("Observe = %+v, %v, want what the provider says", o, err)
		}
		if err := p.EnsureInfrastructure(ctx, "", c); fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("EnsureInfrastructure = %v, want the provider's error", err)
		}
		if err := p.DeleteInfrastructure(ctx, "", c); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("DeleteInfrastructure = %v, want the provider's error", err)
		}
		if err := p.CreateMachine(ctx, "", providers.MachineRequest{Cluster: c}); err == nil {
			t.Error("CreateMachine = nil, want the provider's error")
		}
		if err := p.DeleteMachine(ctx, "", c, "m", ""); err != nil {
			t.Errorf("DeleteMachine = %v, want no error", err)
		}
		if p.Settle() != time.Minute {
			t.Errorf("Settle = %s, want the provider's", p.Settle())
		}
		want := []trace.Call{
			{Operation: "Observe", Cluster: c.Key, Duration: time.Second},
			{Operation: "EnsureInfrastructure", Cluster: c.Key, Kind: "Exhausted"},
			{Operation: "DeleteInfrastructure", Cluster: c.Key, Kind: "Conflict"},
			{Operation: "CreateMachine", Cluster: c.Key, Kind: "Unknown"},
			{Operation: "DeleteMachine", Cluster: c.Key},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("calls told: %s", d)
		}
	})
}
