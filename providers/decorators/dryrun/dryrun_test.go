package dryrun_test

import (
	"context"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/dryrun"
)

// reading is a provider that can be looked at; any change of it is a crash.
type reading struct{ providers.Infrastructure }

func (reading) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	return fleet.Infrastructure{Exists: true}, nil
}

func TestNothingIsChanged(t *testing.T) {
	p := dryrun.New(reading{})
	ctx, c := t.Context(), &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
	if got, err := p.Observe(ctx, c); err != nil || !got.Exists {
		t.Errorf("Observe = %+v, %v, want what the provider shows", got, err)
	}
	for want, err := range map[string]error{
		"cannot create infrastructure of prod/eu-1: this is a dry run, which changes nothing": p.EnsureInfrastructure(ctx, "", c),
		"cannot delete infrastructure of prod/eu-1: this is a dry run, which changes nothing": p.DeleteInfrastructure(ctx, "", c),
		"cannot create machine m-0: this is a dry run, which changes nothing":                 p.CreateMachine(ctx, "", providers.MachineRequest{Name: "m-0"}),
		"cannot delete machine m-1: this is a dry run, which changes nothing":                 p.DeleteMachine(ctx, "", c, "m-1", ""),
	} {
		if err == nil || err.Error() != want || !fleet.Refused(err) {
			t.Errorf("error = %v, want %s, known to be refused", err, want)
		}
	}
	if p.Abilities() != (providers.Abilities{}) {
		t.Error("a provider that declares no abilities is said to have some")
	}
}

// sweeping finds orphans; to remove one is a crash.
type sweeping struct {
	reading
	providers.OrphanRemover
}

func (s sweeping) Abilities() providers.Abilities { return providers.Abilities{OrphanRemover: s} }

func (sweeping) Orphans(context.Context, fleet.ID, []*fleet.Cluster) ([]fleet.Orphan, error) {
	return []fleet.Orphan{{Kind: "port", ID: "1"}}, nil
}

func TestNoOrphanIsRemoved(t *testing.T) {
	s := dryrun.New(sweeping{}).Abilities().OrphanRemover
	found, err := s.Orphans(t.Context(), "f", nil)
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v", found, err)
	}
	const want = "cannot remove port 1: this is a dry run, which changes nothing"
	if err := s.RemoveOrphan(t.Context(), "f", nil, found[0]); err == nil || err.Error() != want || !fleet.Refused(err) {
		t.Errorf("error = %v, want %s, known to be refused", err, want)
	}
}
