package driver

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
)

// A Driver is what one infrastructure knows of its machines that others do not. O is what was observed of
// a cluster, and T the thing that a machine is.
type Driver[O, T any] interface {
	// Look observes c, with all changes of o: c, or the machine of it that something is requested of.
	// It returns everything or an error.
	Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (O, error)
	// Seen returns the machines of c in got, with those that are being created.
	Seen(c *fleet.Cluster, got O) []Seen[T]
	// Exists reports whether what the machines of c share is there.
	Exists(c *fleet.Cluster, got O) bool
	// Create requests the machine of r, which is not there, and does not wait for it.
	Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, got O) error
	// Remove takes the next step of the deletion of m, if it is still what was observed.
	Remove(ctx context.Context, what string, c *fleet.Cluster, got O, m Seen[T]) error
	// RemoveShared deletes what the machines of c shared, of which there are none, and their parts.
	RemoveShared(ctx context.Context, what string, c *fleet.Cluster, got O) error
	// Wrap adds what could not be done to an error of the infrastructure; nil stays nil.
	Wrap(what string, err error) error
}

// Machines creates and deletes the machines of an infrastructure, as [providers.Infrastructure] requires:
// one thing at a time for a machine, by what a look shows that saw all changes of it.
type Machines[O, T any] struct {
	driver Driver[O, T]
	busy   Locks[snapshot.Owner]
}

// New returns Machines by d.
func New[O, T any](d Driver[O, T]) *Machines[O, T] { return &Machines[O, T]{driver: d} }

// Locks returns the locks of machines, for what else is done to them.
func (m *Machines[O, T]) Locks() *Locks[snapshot.Owner] { return &m.busy }

// Try calls do for machine o, unless something is being done to it: the call that does that does this, too.
func (m *Machines[O, T]) Try(o snapshot.Owner, do func() error) error {
	if !m.busy.TryLock(o) {
		return nil
	}
	defer m.busy.Unlock(o)
	return do()
}

// CreateMachine implements providers.Infrastructure.
func (m *Machines[O, T]) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	c := r.Cluster
	what := "create machine " + c.Key.Namespace + "/" + string(r.Name)
	o := snapshot.OwnerOf(c).Part(r.Name)
	end, err := m.busy.Begin(what, o)
	if err != nil {
		return err
	}
	defer end()
	got, err := m.driver.Look(ctx, c, o)
	if err != nil {
		return m.driver.Wrap(what, err)
	}
	if there, err := IsThere(what, r.Name, r.Pool.Template, m.driver.Seen(c, got)); there || err != nil {
		return err
	}
	if !m.driver.Exists(c, got) {
		return fleet.Errorf(fleet.Conflict, what, "the infrastructure of the cluster is not there")
	}
	return m.driver.Create(ctx, what, op, r, got)
}

// DeleteMachine implements providers.Infrastructure.
func (m *Machines[O, T]) DeleteMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	what := "delete machine " + c.Key.Namespace + "/" + string(name)
	if name == "" {
		return fleet.Errorf(fleet.Invalid, what, "no name was given")
	}
	o := snapshot.OwnerOf(c).Part(name)
	end, err := m.busy.Begin(what, o)
	if err != nil {
		return err
	}
	defer end()
	got, err := m.driver.Look(ctx, c, o)
	if err != nil {
		return m.driver.Wrap(what, err)
	}
	var errs []error
	for _, is := range m.driver.Seen(c, got) {
		if is.Name == name && (id == "" || is.ProviderID == id) {
			errs = append(errs, m.driver.Remove(ctx, what, c, got, is))
		}
	}
	return m.driver.Wrap(what, fleet.JoinErrors(errs...))
}

// DeleteInfrastructure implements providers.Infrastructure.
func (m *Machines[O, T]) DeleteInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	what := "delete infrastructure of " + c.Key.String()
	got, err := m.driver.Look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return m.driver.Wrap(what, err)
	}
	for _, is := range m.driver.Seen(c, got) {
		if !is.Parts {
			return fleet.Errorf(fleet.Conflict, what, "there are still machines, %s is the first", is.Name)
		}
	}
	return m.driver.Wrap(what, m.driver.RemoveShared(ctx, what, c, got))
}
