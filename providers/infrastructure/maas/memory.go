package maas

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// memoryID returns the id of the machines of a cluster among its places.
func (s *site) memoryID() string { return "machines of " + s.place().ID }

// remember adds the machines that ran when the cluster was last observed, and that MAAS does not list for
// it, although they may run: its database was restored or lost, or the account is another one.
func (o *observation) remember(ctx context.Context) error {
	memory, err := driver.Remember(o.cluster, o.memoryID())
	if err != nil {
		return err
	}
	o.untagged = make(driver.Remembered)
	for i := range o.listing.machines {
		id := o.listing.machines[i].SystemID
		if tags := memory[id]; tags != nil && o.listing.tags[id] == nil {
			o.untagged[id] = tags
		}
		delete(memory, id)
	}
	if len(memory) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(memory))
	shown, err := o.client.Machines(ctx, region.Filter{IDs: ids})
	if err != nil {
		return region.WrapLook("look for machines that ran", err)
	}
	for _, id := range ids {
		i := slices.IndexFunc(shown, func(m region.Machine) bool { return m.SystemID == id })
		m := region.Machine{SystemID: id}
		why := fmt.Sprintf("MAAS does not show it to user %s", o.listing.user.Name)
		if i >= 0 {
			m = shown[i]
			if why = o.mayHave(ctx, &m, memory[id]); why == "" {
				continue
			}
		}
		o.hosts = append(o.hosts, o.lostHost(m, memory[id], why))
	}
	return nil
}

// mayHave returns why the machine with tags may run on m, which MAAS shows and the account does not have; empty: it
// does not. A release removes the annotation, so that a host with it was never released.
func (o *observation) mayHave(ctx context.Context, m *region.Machine, tags map[string]string) string {
	switch {
	case m.Owner != "" && lifeOf(tagsOf(m)) == lifeOf(tags):
		return fmt.Sprintf("user %s of MAAS has it, and the key is of user %s (use a key of user %s)", m.Owner, o.listing.user.Name, m.Owner)
	case m.Owner != "": // it was given to somebody else
		return ""
	}
	on := o.mayRun(ctx, m)
	if on == "" {
		return ""
	}
	return fmt.Sprintf("it is %s in MAAS, and %s (if nothing of the cluster runs there, switch it off)", m.StateName, on)
}

// lostHost returns the host of a machine that is remembered alone.
func (o *observation) lostHost(m region.Machine, tags map[string]string, why string) *host {
	h := &host{Machine: m, tags: tags, machine: fleet.MachineFromTags(tags), lost: true}
	f := &h.machine
	f.ProviderID, f.FailureDomain, f.Created = providerIDOf(m.SystemID, tags), tags[tagZone], createdOf(tags)
	f.State, f.Silent = fleet.MachineRunning, true
	f.Message = fmt.Sprintf("%s had the machine: %s; if it is gone permanently, annotate the Cluster with %s: %s", h, why, fleet.ForgetPlaceAnnotation, o.memoryID())
	return h
}

// memory returns the machines that run, or may, as a place of the cluster.
func (o *observation) memory() []fleet.PlaceSeen {
	running := make(driver.Remembered)
	maps.Copy(running, o.untagged)
	for _, h := range o.hosts {
		if h.lost || h.Machine.State == region.Deployed || h.machine.Silent && h.machine.State != fleet.MachineDeleting {
			running[h.SystemID] = h.tags
		}
	}
	if len(running) == 0 {
		return nil
	}
	return []fleet.PlaceSeen{running.Seen(o.memoryID())}
}
