package maas

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// userDataLimit is the largest size of user data. MAAS has no limit, and keeps it in its database.
const userDataLimit = 4 << 20

// mostReasons is how many hosts are named that a machine cannot have.
const mostReasons = 8

// limitUserData refuses user data that is too large.
func limitUserData(u providers.UserData) error {
	_, err := userData(u, "")
	return err
}

// userData returns u for a host in zone.
func userData(u providers.UserData, zone string) ([]byte, error) {
	if u.Format != "cloud-config" {
		return nil, fleet.Errorf(fleet.Invalid, "hand over the user data", "images of MAAS read cloud-config, and it is %q", u.Format)
	}
	u.Content = fleet.NewSecret(bytes.ReplaceAll(u.Content.Reveal(), []byte(zoneHere), []byte(zone)))
	return u.Fit(userDataLimit)
}

// A search looks for a host for one machine.
type search struct {
	p       *Provider
	o       *observation
	request providers.MachineRequest
	spec    *api.MaasMachineSpec
	zone    string
	tags    map[string]string
	agent   string
}

// Create implements driver.Driver.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, got *observation) error {
	spec, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return err
	}
	if err := limitUserData(r.UserData); err != nil {
		return err
	}
	q := &search{p: p.Provider, o: got, request: r, spec: spec, zone: cmp.Or(r.FailureDomain, spec.FailureDomain), tags: maps.Clone(r.Tags(op))}
	q.tags[tagCreated] = time.Now().UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
	q.tags[tagErase] = string(spec.EraseDisks)
	q.agent = agentOf(q.tags)
	defer got.changed(snapshot.OwnerOf(r.Cluster).Part(r.Name))
	return region.Wrap(what, q.run(ctx))
}

// run claims a free host, and deploys the machine on it.
func (q *search) run(ctx context.Context) error {
	const op = "claim a host"
	if err := q.hasImage(ctx); err != nil {
		return err
	}
	free, err := q.o.client.Machines(ctx, region.Filter{Free: true, Zone: q.zone, Pool: q.spec.ResourcePool})
	if err != nil {
		return region.WrapLook("list free hosts", err)
	}
	// A host that another agent claimed for the machine before that listing is seen by this one.
	if there, err := q.claimed(ctx); err != nil || len(there) > 0 {
		return err
	}
	q.order(free)
	found, why, err := claims.First(free, func(m region.Machine) string { return m.Hostname }, func(m region.Machine) (string, error) { return q.try(ctx, m) })
	switch {
	case found || err != nil:
		return err
	case len(free) == 0:
		return fleet.Errorf(fleet.Exhausted, op, "no host %sis Ready in MAAS", q.where())
	}
	return fleet.Errorf(fleet.Exhausted, op, "no host %sthat is Ready in MAAS fits: %s", q.where(), claims.Why(why, mostReasons))
}

// where says where hosts are looked for.
func (q *search) where() string {
	var out string
	if q.spec.ResourcePool != "" {
		out += "of resource pool " + q.spec.ResourcePool + " "
	}
	if q.zone != "" {
		out += "in zone " + q.zone + " "
	}
	return out
}

// hasImage returns an error if MAAS does not have the image: a deployment would fail after the claim.
func (q *search) hasImage(ctx context.Context) error {
	const op = "find the image"
	images, err := q.o.client.Names(ctx, region.Images)
	if err != nil {
		return region.WrapLook(op, err)
	}
	return hasImage(op, q.spec.Image, images)
}

// hasImage returns an error if name is none of images. MAAS lists images of people with and without a prefix.
func hasImage(op, name string, images []string) error {
	if slices.Contains(images, name) || slices.Contains(images, strings.TrimPrefix(name, "custom/")) {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, op, "MAAS has no image %q; it has %s", name, strings.Join(images, ", "))
}

// claimed returns the hosts that have the agent name of the machine.
func (q *search) claimed(ctx context.Context) ([]region.Machine, error) {
	all, err := q.o.client.Machines(ctx, region.Filter{Owner: q.o.listing.user.Name, Agent: q.agent})
	return all, region.WrapLook("list hosts that were claimed for the machine", err)
}

// order sorts hosts for the tries: by name, then those on which a deployment failed, and last those that MAAS
// does not know to be off. A BMC that does not answer can take a minute to be asked.
func (q *search) order(free []region.Machine) {
	q.p.failed.ForgetIf(func(_ string, at time.Time) bool { return time.Since(at) > mistrusted })
	rank := func(m region.Machine) int {
		switch {
		case m.Power != region.Off:
			return 2
		case q.p.failed.Has(m.SystemID):
			return 1
		}
		return 0
	}
	slices.SortFunc(free, func(a, b region.Machine) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(a.SystemID, b.SystemID))
	})
}

// mismatch returns why a machine with spec cannot have a host that is free; empty: it can.
func mismatch(spec *api.MaasMachineSpec, m *region.Machine) string {
	const gigabyte = 1e9
	for _, tag := range spec.Tags {
		if !slices.Contains(m.Tags, tag) {
			return "has no tag " + tag
		}
	}
	switch disk := spec.MinDiskSizeInGB; {
	case m.State != region.Ready:
		return "is " + m.StateName
	case m.Locked:
		return "is locked"
	case m.PowerType == "" || m.PowerType == "manual":
		return "has power that MAAS cannot switch: it would run on after its release"
	case m.Power == region.On:
		return isOn
	case m.CPUs < float64(number(spec.MinCPU)):
		return fmt.Sprintf("has %.0f CPUs", m.CPUs)
	case m.Memory < float64(number(spec.MinMemoryInMB)):
		return fmt.Sprintf("has %.0f MiB of memory", m.Memory)
	case number(disk) > 0 && (m.BootDisk == nil || m.BootDisk.Size < float64(*disk)*gigabyte):
		return fmt.Sprintf("has no boot disk of %d GB", *disk)
	}
	return ""
}

// isOn is why a free host that is on is not used.
const isOn = "is on: something may run there that MAAS does not know"

// mayRun returns why something may run on m, which is free; empty: it is off. The BMC is asked: what MAAS knows
// is minutes old, or as old as the backup from which its database was restored.
func (s *site) mayRun(ctx context.Context, m *region.Machine) string {
	switch power, err := s.client.PowerState(ctx, m.SystemID); {
	case err != nil:
		return fmt.Sprintf("may be on, its BMC does not answer: %v", err)
	case power == region.On:
		return isOn
	case power != region.Off:
		return "may be on: its BMC does not answer, its power is " + cmp.Or(power, "unknown")
	}
	return ""
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func constraintsOf(spec *api.MaasMachineSpec, zone string) region.Constraints {
	return region.Constraints{
		Zone: zone, Pool: spec.ResourcePool, Tags: spec.Tags, CPUs: number(spec.MinCPU), Memory: number(spec.MinMemoryInMB), Disk: number(spec.MinDiskSizeInGB),
	}
}

// try claims a host, and deploys the machine on it. A reason says why the next host is to be tried.
func (q *search) try(ctx context.Context, m region.Machine) (reason string, err error) {
	if why := mismatch(q.spec, &m); why != "" {
		return why, nil
	}
	if !q.p.deciding.TryLock(m.SystemID) {
		return "is being claimed for another machine", nil
	}
	defer q.p.deciding.Unlock(m.SystemID)
	if why := q.o.mayRun(ctx, &m); why != "" {
		return why, ctx.Err()
	}
	q.tags[tagZone] = m.Zone.Name
	err = q.o.client.Allocate(ctx, m.SystemID, q.agent, textOf(q.tags), constraintsOf(q.spec, q.zone))
	switch {
	case region.IsTaken(err):
		there, look := q.claimed(ctx) // by another agent of the fleet, perhaps for this machine
		if look != nil || len(there) > 0 {
			return "", look
		}
		return "was taken just now", nil
	case err != nil:
		return "", region.Wrap("claim host "+m.Hostname, err)
	}
	return "", q.deploy(ctx, m)
}

// deploy deploys the machine on a host that was claimed for it. Where that is refused, the host is given back.
func (q *search) deploy(ctx context.Context, m region.Machine) error {
	there, err := q.claimed(ctx)
	if err == nil && len(there) > 1 {
		err = fleet.Errorf(fleet.Conflict, "claim a host", "another agent is creating the machine on another host")
	}
	if err == nil {
		err = region.Wrap("write the tags of host "+m.Hostname, q.o.client.Annotate(ctx, m.SystemID, map[string]string{annotation: textOf(q.tags)}))
	}
	var data []byte
	if err == nil {
		data, err = userData(q.request.UserData, m.Zone.Name)
	}
	if err == nil {
		err = region.Wrap("deploy host "+m.Hostname, q.o.client.Deploy(ctx, m.SystemID, q.spec.Image, data, *q.spec.DeployInMemory))
	}
	if err != nil && fleet.KindOf(err) != fleet.Unanswered {
		// A claim that stays here is released when its machine is deleted.
		if back := q.o.client.Release(ctx, m.SystemID, region.Erasure{}); back != nil {
			q.p.o.Log.Warn("keeping the claim of a host on which nothing was deployed", "cluster", q.request.Cluster.Key.String(), "host", m.Hostname, "error", back)
		}
	}
	return err
}
