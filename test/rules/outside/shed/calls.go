package shed

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
)

// calls are what a shed knows of its machines, for package driver.
type calls struct{ *Provider }

var _ driver.Driver[observation, thing] = calls{}

// An observation is what a shed has of one cluster.
type observation struct{ shared, made []thing }

// Look implements driver.Driver. A folder shows every change at once.
func (p calls) Look(ctx context.Context, c *fleet.Cluster, _ snapshot.Owner) (observation, error) {
	shared, err := p.shed.list(ctx, clusters, c.Owns)
	if err != nil {
		return observation{}, err
	}
	made, err := p.shed.list(ctx, machines, c.Owns)
	return observation{shared, made}, err
}

// Seen implements driver.Driver.
func (p calls) Seen(_ *fleet.Cluster, got observation) []driver.Seen[thing] {
	var out []driver.Seen[thing]
	for _, t := range got.made {
		out = append(out, driver.Seen[thing]{Machine: t.machine(), Where: t.file, Thing: t})
	}
	return out
}

// Exists implements driver.Driver.
func (p calls) Exists(_ *fleet.Cluster, got observation) bool { return len(got.shared) > 0 }

// Create implements driver.Driver.
func (p calls) Create(_ context.Context, what string, op fleet.OperationID, r providers.MachineRequest, _ observation) error {
	if _, err := r.UserData.Fit(userDataLimit); err != nil { // what the machine would boot with
		return err
	}
	spec, err := objects.Read[MachineSpec](r.Pool.Infrastructure, templateKind)
	if err != nil {
		return err
	}
	name := fileName(r.Cluster, string(r.Name))
	put, err := p.shed.put(machines, name, thing{
		ID: rand.Text(), Tags: r.Tags(op), Created: time.Now().UTC(), Size: spec.Size, Shelf: r.FailureDomain, Fault: p.fault(),
	})
	if err == nil && !put {
		return fleet.Errorf(fleet.Conflict, what, "%s is there, and was made just now, or does not say that it is this machine", name)
	}
	return classify(what, err)
}

// fault says why machines of this shed do not start; empty where they do.
func (p calls) fault() string {
	text, _ := os.ReadFile(filepath.Join(string(p.shed), "fault")) // without the file they do
	return string(text)
}

// Remove implements driver.Driver.
func (p calls) Remove(_ context.Context, _ string, _ *fleet.Cluster, _ observation, m driver.Seen[thing]) error {
	return m.Thing.remove()
}

// RemoveShared implements driver.Driver.
func (p calls) RemoveShared(_ context.Context, _ string, _ *fleet.Cluster, got observation) error {
	var errs []error
	for _, t := range got.shared {
		errs = append(errs, t.remove())
	}
	return fleet.JoinErrors(errs...)
}

// Wrap implements driver.Driver.
func (p calls) Wrap(what string, err error) error { return classify(what, err) }
