package metal3

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// userDataLimit is how many bytes of user data a config drive has room for.
// Source: Ironic, common/images.py and its agent: a config drive has at most 64 MiB; its text is
// kept in the database, which takes less.
const userDataLimit = 1 << 20

// Create implements driver.Driver: it claims the first free host that fits, with all that the machine
// boots with, and has it deployed. A machine with addresses of pools is deployed when a later look shows
// that no other machine has them: that is Upkeep.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, got *observation) error {
	spec, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return err
	}
	data, err := userData(what, r.UserData)
	if err != nil {
		return err
	}
	q := &search{p: p.Provider, o: got, request: r, op: op, spec: spec, userData: data}
	return wrap(what, q.run(ctx))
}

// limitUserData refuses user data that a config drive has no room for.
func limitUserData(u providers.UserData) error {
	_, err := userData("make a config drive", u)
	return err
}

// userData returns u as the text that a config drive has.
func userData(what string, u providers.UserData) (string, error) {
	data, err := u.Fit(userDataLimit)
	switch plain := u.Content.Reveal(); {
	case err != nil:
		return "", err
	case len(data) != len(plain): // Ironic receives it in JSON, which has no bytes
		return "", fleet.Errorf(fleet.Invalid, what, "its user data has %d bytes, and %d is the limit: move large files into the image, or let preKubeadmCommands fetch them", len(plain), userDataLimit)
	}
	return string(data), nil
}

// A search looks for a host for one machine.
type search struct {
	p        *Provider
	o        *observation
	request  providers.MachineRequest
	op       fleet.OperationID
	spec     *api.MachineSpec
	userData string
	nics     map[string]string // MAC addresses of the host that is tried, by the names of its network cards
}

// run tries the hosts in their order. Those that refuse are passed over.
func (q *search) run(ctx context.Context) error {
	const op = "claim a host"
	if err := q.awaited(); err != nil {
		return err
	}
	claimed, why, err := claims.First(q.order(), func(h *observedHost) string { return h.Name }, func(h *observedHost) (string, error) {
		if reason, err := q.mismatch(h); reason != "" || err != nil {
			return reason, err
		}
		return q.try(ctx, h)
	})
	switch {
	case claimed || err != nil:
		return err
	case len(q.o.hosts) == 0:
		return fleet.Errorf(fleet.Exhausted, op, "Git has no BareMetalHost in namespace %s", q.o.cluster.Key.Namespace)
	}
	const most = 8
	return fleet.Errorf(fleet.Exhausted, op, "no host is free for it: %s", claims.Why(why, most))
}

// order returns hosts for the tries: in the order of Git, with nodeReuse
// those first that a machine of the pool had before, and last those whose last deployment
// failed.
func (q *search) order() []*observedHost {
	rank := func(h *observedHost) int {
		switch {
		case h.record.failed:
			return 2
		case q.spec.NodeReuse && q.o.hadPool(h) == q.request.Pool.Name:
			return 0
		}
		return 1
	}
	var out []*observedHost
	for i := range q.o.hosts {
		out = append(out, &q.o.hosts[i])
	}
	slices.SortStableFunc(out, func(a, b *observedHost) int { return rank(a) - rank(b) })
	return out
}

// unfit says why the machine cannot have h, whether it is free or not; empty: it can.
func (q *search) unfit(h *observedHost) (string, error) {
	why, err := q.o.unsuited(q.spec, q.request.Pool.Name, h)
	if domain := q.request.FailureDomain; why == "" && err == nil && domain != "" && h.object.Labels[api.FailureDomainLabel] != domain {
		why = "is not in failure domain " + domain
	}
	return why, err
}

// mismatch returns why a machine cannot have h, or "".
func (q *search) mismatch(h *observedHost) (string, error) {
	if h.object == nil {
		return q.o.whyNotFree(h), nil
	}
	if why, err := q.unfit(h); why != "" || err != nil {
		return why, err
	}
	if why := q.o.whyNotFree(h); why != "" {
		return why, nil
	}
	return q.o.reusedBy(h, q.request.Pool.Name)
}

// try claims one host, and has it deployed. A reason says that the next one is to be tried; an
// error, that none is.
func (q *search) try(ctx context.Context, h *observedHost) (reason string, err error) {
	p, id := q.p, h.node.UUID
	if !p.deciding.TryLock(id) {
		return "is being claimed for another machine", nil
	}
	defer p.deciding.Unlock(id)
	if p.isClaimed(id, time.Now()) {
		return "was claimed for another machine just now", nil
	}
	if h, err = p.again(ctx, q.o, h); err != nil {
		return "", err
	}
	if reason, err := q.mismatch(h); reason != "" || err != nil { // a claim asks for no state
		return reason, err
	}
	if err := q.interfaces(ctx, h); err != nil {
		return "", err
	}
	claim, held, err := q.assign(h)
	if err != nil {
		return "", err
	}
	owner := snapshot.OwnerOf(q.o.cluster).Part(q.request.Name)
	defer q.o.listings.Changed(owner)
	_, err = q.o.client.Claim(ctx, id, claim)
	switch {
	case err == nil:
	case ironic.HasHost(err):
		p.undo(id, held)
		return "", q.elsewhere(ctx, claim.Instance)
	case ironic.IsAssociated(err), ironic.IsLocked(err), fleet.KindOf(err) == fleet.NotFound:
		p.undo(id, held)
		return "refuses: " + err.Error(), nil
	default:
		if fleet.Refused(err) {
			p.undo(id, held)
		}
		return "", err
	}
	if len(held) > 0 {
		return "", nil
	}
	if err := q.o.client.Deploy(ctx, id, q.spec.CustomDeploy.Method); err != nil && !ironic.IsLocked(err) && !ironic.IsWrongState(err) {
		return "", err
	}
	return "", nil
}

// assign returns the claim of h for the machine. What is free of pools and indexes is decided one
// by one.
func (q *search) assign(h *observedHost) (ironic.Claim, []addresses.Claim, error) {
	q.o.assigning.Lock()
	defer q.o.assigning.Unlock()
	claim, held, err := q.claim(h)
	if err == nil {
		tags, _ := claim.Info[infoKey].(map[string]string)
		at := time.Now()
		q.p.claimed.ForgetIf(func(_ string, c claimed) bool { return at.After(c.until) })
		q.p.claimed.Note(h.node.UUID, claimed{claim.Instance, tags[TagIndex], at.Add(q.p.o.Settle)})
	}
	return claim, held, err
}

// claim returns the claim of h for the machine, with the addresses that are held for it.
func (q *search) claim(h *observedHost) (ironic.Claim, []addresses.Claim, error) {
	r := q.request
	tags := maps.Clone(r.Tags(q.op))
	tags[TagCreated] = time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
	if d := h.object.Labels[api.FailureDomainLabel]; d != "" {
		tags[TagFailureDomain] = d
	}
	d := &machine.Data{Host: q.hostOf(h), Machine: machine.Machine{Name: r.Name, Labels: r.Pool.Labels, Annotations: r.Pool.Annotations}}
	if t := q.spec.DataTemplate; t != nil {
		prefix := q.o.cluster.Key.Namespace + "/" + t.Name + "/"
		d.Machine.Index = machine.NextIndex(q.p.indexes(q.o.listing, prefix))
		tags[TagIndex] = prefix + strconv.Itoa(int(d.Machine.Index))
	}
	held, err := q.p.reserve(q.o, r, d, q.spec)
	if err != nil {
		return ironic.Claim{}, nil, err
	}
	if len(held) > 0 {
		tags[addresses.Tag] = addresses.Format(held)
	}
	drive, err := d.ConfigDrive(q.spec.Data, q.userData)
	if err != nil {
		q.p.ledger.Release(held...)
		return ironic.Claim{}, nil, err
	}
	info := machine.InstanceInfo(q.spec, h.spec)
	info[infoKey], info[ironic.DriveKey] = tags, drive
	return ironic.Claim{
		Instance: instanceOf(tags), Info: info, Extra: extraOf(tags, false), Deploy: machine.DeployInterface(q.spec, h.node.Deploy), AutomatedClean: new(machine.CleansAutomatically(h.spec, q.spec)),
	}, held, nil
}

// hostOf returns the facts about h for its machine.
func (q *search) hostOf(h *observedHost) machine.Host {
	return machine.Host{
		Namespace: h.Namespace, Name: h.Name, UUID: h.node.UUID, Labels: h.object.Labels, Annotations: h.object.Annotations, BootMAC: h.spec.BootMACAddress,
		NICs: q.nics,
	}
}

// interfaces finds out what network cards h has, where its machine is to be told of them by name: as
// people say, or as a ramdisk found.
func (q *search) interfaces(ctx context.Context, h *observedHost) (err error) {
	if q.nics = nil; !q.spec.Data.NamesInterfaces() {
		return nil
	}
	if q.nics, err = api.Interfaces(h.object.Annotations); len(q.nics) > 0 || err != nil {
		return err
	}
	q.nics, err = q.o.client.Interfaces(ctx, h.node.UUID)
	return err
}

// indexes returns those that begin with prefix and that machines have, or were given just now.
func (p *Provider) indexes(l *listing, prefix string) map[int32]bool {
	out := make(map[int32]bool)
	add := func(index string) {
		if len(index) > len(prefix) && index[:len(prefix)] == prefix {
			if n, err := strconv.ParseInt(index[len(prefix):], 10, 32); err == nil {
				out[int32(n)] = true
			}
		}
	}
	for index := range l.indexes {
		add(index)
	}
	for _, c := range p.claimed.All() {
		if time.Now().Before(c.until) {
			add(c.index)
		}
	}
	return out
}

// isClaimed reports whether this process claimed a node that need not show it yet.
func (p *Provider) isClaimed(node string, at time.Time) bool {
	c, ok := p.claimed.Of(node)
	return ok && !at.After(c.until)
}

// undo forgets a claim that was refused, or given back.
func (p *Provider) undo(node string, held []addresses.Claim) {
	p.ledger.Release(held...)
	p.claimed.Forget(node)
}
