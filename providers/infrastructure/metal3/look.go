package metal3

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// An observation is what was seen of a cluster and of the hosts of its namespace.
type observation struct {
	*site
	cluster    *fleet.Cluster
	spec       *api.Metal3ClusterSpec
	secret     fleet.SecretData // of the Ironic
	listing    *listing
	at         fleet.Place // the Ironic among the places of the cluster
	memory     remembered
	hosts      []observedHost // those of Git in its order, then those that left Git
	machines   []*observedHost
	unenrolled computers // of hosts of Git that Ironic does not have
	// elsewhere returns what other clusters of the namespace remember. It is read where a host is new.
	elsewhere func() (remembered, error)
}

// An observedHost is a host with what Git and Ironic say about it.
type observedHost struct {
	fleet.Key
	object   *fleet.Object // nil: removed from Git
	spec     *api.BareMetalHostSpec
	bmc      api.BMC      // of spec; zero: it cannot be read
	node     *ironic.Node // nil: Ironic has none
	record   record
	tags     map[string]string // of the machine of the cluster that is on it; nil: none is
	lost     bool              // the machine is remembered alone
	machine  fleet.Machine     // of tags
	declared host.Declared
	next     host.Decision
	git      machine.Preparation       // what Git wants of it before machines have it
	wish     machine.Preparation       // the part that may be done now: with a machine on the host, the serviceable part
	prepared machine.PreparationRecord // what of it was done
	moves    bool                      // people say that its BMC has another address than Ironic has
	outdated string                    // what Ironic was told of it and is not so any more; empty: nothing
}

// look looks at the Ironic of c. o is c, or the machine of it that something is to be asked of.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	s, secret, err := p.siteOf(ctx, c)
	if err != nil {
		return nil, err
	}
	l, err := s.listings.Get(ctx, o)
	if err != nil {
		return nil, err
	}
	at, err := s.placeOf(c, l)
	if err != nil {
		return nil, err
	}
	memory, err := remember(c, at)
	if err != nil {
		return nil, err
	}
	p.watch.Looked(snapshot.OwnerOf(c), []*site{s})
	p.ledger.Saw(s.endpoint, l.holders)
	out := &observation{site: s, cluster: c, spec: spec, secret: secret, listing: l, at: at, memory: memory}
	out.elsewhere = sync.OnceValues(func() (remembered, error) { return elsewhere(c) })
	if err := out.join(); err != nil {
		return nil, err
	}
	out.unenrolled = unenrolledOf(out.hosts)
	for i := range out.hosts {
		h := &out.hosts[i]
		p.decide(ctx, out, h)
		if h.tags != nil {
			out.machines = append(out.machines, h)
		}
	}
	p.keepGoing(out)
	return out, nil
}

// join finds the node of each host, and the hosts that left Git.
func (o *observation) join() error {
	known := make(map[string]bool)
	firmware, err := api.ReadFirmware(o.cluster.Companions)
	if err != nil {
		return err
	}
	for _, object := range api.Hosts(o.cluster.Companions) {
		if object.Namespace != o.cluster.Key.Namespace {
			continue
		}
		spec, err := api.ReadHost(object)
		if err != nil {
			return err
		}
		if isKeptOff(&object) {
			spec.Online = false
		}
		k := fleet.Key{Namespace: object.Namespace, Name: object.Name}
		known[machine.NodeName(k.Namespace, k.Name)] = true
		h := o.seen(k, &object, spec)
		if h.bmc, err = api.ParseBMC(spec.BMC.Address, true); err != nil {
			h.bmc = api.BMC{} // enrolling the host reports it
		}
		h.git = machine.Preparation{RAID: spec.RAID, Settings: firmware[k].Settings, Updates: firmware[k].Components}
		o.hosts = append(o.hosts, h)
	}
	var gone []fleet.Key
	note := func(name string) {
		namespace, host, ok := machine.ParseNodeName(name)
		if ok && namespace == o.cluster.Key.Namespace && !known[name] {
			known[name] = true
			gone = append(gone, fleet.Key{Namespace: namespace, Name: host})
		}
	}
	for _, n := range o.listing.hosts[o.cluster.Key.Namespace] {
		if known[n.Name] {
			continue
		}
		_, host, _ := machine.ParseNodeName(n.Name)
		r := o.listing.records[n.UUID]
		if n.UUID == ironic.NodeID(string(o.cluster.Fleet), o.cluster.Key.Namespace, host) || o.cluster.Owns(r.ownerTags(n)) {
			note(n.Name)
		}
	}
	for name := range o.memory {
		note(name)
	}
	slices.SortFunc(gone, fleet.Key.Compare)
	for _, k := range gone {
		o.hosts = append(o.hosts, o.seen(k, nil, &api.BareMetalHostSpec{}))
	}
	return nil
}

// seen returns a host with its node and the machine of the cluster that is on it.
func (o *observation) seen(k fleet.Key, object *fleet.Object, spec *api.BareMetalHostSpec) observedHost {
	h := observedHost{Key: k, object: object, spec: spec, node: o.listing.byName[machine.NodeName(k.Namespace, k.Name)]}
	if h.node != nil {
		h.record = o.listing.records[h.node.UUID]
	}
	o.recognise(&h)
	return h
}

// recognise finds the machine of the cluster that is on h.
func (o *observation) recognise(h *observedHost) {
	was := o.memory[machine.NodeName(h.Namespace, h.Name)]
	h.tags, h.lost = nil, false
	switch n := h.node; {
	case n == nil:
		h.tags, h.lost = was, was != nil
	case h.record.occupied(n) && o.cluster.Owns(h.record.ownerTags(n)):
		h.tags = h.record.ownerTags(n)
	case h.record.occupied(n) && was != nil && (instanceOf(was) == n.Instance || n.Instance == ""):
		h.tags = was // its own tags do not tell any more
	case n.Instance == "" && h.record.isZero() && was != nil && !released(n, was):
		h.tags, h.lost = was, true
	}
}

// released reports whether n, which nothing is on, shows that the machine with tags was released: it was cleaned, or is
// available and off, and that since the machine was made. A database that was restored from a backup has states and
// power of before.
func released(n *ironic.Node, tags map[string]string) bool {
	return (cleans(n) || n.State == ironic.Available && n.Power == ironic.PowerOff) && !n.Updated.Before(createdOf(tags))
}

// again looks at h once more, by the id of its node, and decides again: the listing may be old, and
// another process or people may have been at the host since. A host without a node is as it was.
func (p *Provider) again(ctx context.Context, o *observation, h *observedHost) (*observedHost, error) {
	if h.node == nil {
		return h, nil
	}
	n, err := o.client.Node(ctx, h.node.UUID)
	if fleet.KindOf(err) == fleet.NotFound { // that Ironic does not know it is no proof of anything
		return nil, fleet.Errorf(fleet.Unavailable, "look again at host "+h.String(), "Ironic listed it, and does not know it now")
	}
	if err != nil {
		return nil, err
	}
	now := &observedHost{Key: h.Key, object: h.object, spec: h.spec, git: h.git, bmc: h.bmc, node: &n, record: recordOf(&n)}
	o.recognise(now)
	p.decide(ctx, o, now)
	return now, nil
}

// sameMachine reports whether the same machine is on a and b, two looks at one host, or none is.
func sameMachine(a, b *observedHost) bool {
	if a.tags == nil || b.tags == nil {
		return a.tags == nil && b.tags == nil
	}
	return lifeOf(a.tags) == lifeOf(b.tags)
}

// decide returns the next step of a host.
func (p *Provider) decide(ctx context.Context, o *observation, h *observedHost) {
	d := &h.declared
	d.Gone, d.Online, d.External, d.Inspect = h.object == nil, h.spec.Online, h.spec.ExternallyProvisioned, h.spec.InspectionMode != api.InspectDisabled
	if h.object != nil {
		_, paused := h.object.Annotations[api.PausedAnnotation]
		_, detached := h.object.Annotations[api.DetachedAnnotation]
		if at, err := api.InspectAfter(h.object.Annotations); err == nil && h.node != nil {
			d.InspectAgain = h.node.Inspected.Before(at) && !at.After(time.Now()) // of a time to come it is too early
		}
		d.Paused = paused || detached
		if at, err := api.EraseWish(h.object.Annotations); err == nil && h.node != nil && h.tags == nil && h.node.Instance == "" { // what was enrolled later it is not about
			made, err := o.createdAt(ctx, h.node)
			d.Erase = err == nil && made.Before(at) && !at.After(time.Now()) // without an answer nothing is erased
		}
	}
	d.Tags = tagsOf(h)
	h.compare()
	if n := h.node; n != nil && h.tags == nil && n.Instance == "" && h.record.isZero() {
		d.RememberedBy = o.rememberedElsewhere(machine.NodeName(h.Namespace, h.Name))
		d.New = n.Inspected.IsZero() && h.prepared == (machine.PreparationRecord{})
		d.TooNew = d.New && p.isNew(n, time.Now())
	}
	if h.tags != nil {
		_, ran := o.memory[machine.NodeName(h.Namespace, h.Name)]
		d.Online = d.Online && !o.cluster.RebootOf(fleet.MachineName(h.tags[fleet.TagMachine]), providerIDOf(h.Key, h.tags)).Off
		d.Machine = &host.Machine{Instance: instanceOf(h.tags), Name: h.tags[fleet.TagMachine], Running: ran && (h.lost || adopts(h.node))}
	}
	d.Shared, d.Unproven = o.shared(h), o.unproven(h)
	d.Moved, h.moves = o.moved(h)
	h.next = host.Next(*d, h.node)
	h.outdated = p.outdated(ctx, o, h)
	if h.tags != nil {
		h.machine = p.machineOf(o, h)
	}
}

// compare finds out how far h is prepared as Git says. While a machine is on it, its disks are no
// matter.
func (h *observedHost) compare() {
	if h.object == nil || h.node == nil || h.spec.ExternallyProvisioned {
		return
	}
	d := &h.declared
	h.prepared = machine.ReadPreparation(h.node.DriverInfo)
	d.Outstanding, d.KeptOff = h.git.What(h.prepared), !h.spec.Online
	if h.wish = h.git; h.tags != nil || h.isTaken() {
		h.wish = h.wish.Serviceable()
	}
	d.Preparation = h.wish.Compare(h.prepared, h.node.Updated)
}

// isKeptOff reports whether people keep a host off until they say otherwise, by an annotation with a
// name of theirs.
func isKeptOff(host *fleet.Object) bool {
	for name := range host.Annotations {
		if strings.HasPrefix(name, api.RebootAnnotation+"/") {
			return true
		}
	}
	return false
}

// underWay reports whether Ironic is at n, which ends by itself. What failed has a target too.
func underWay(n *ironic.Node) bool {
	switch n.State {
	case ironic.Verifying, ironic.Inspecting, ironic.InspectWait, ironic.Deploying, ironic.DeployWait, ironic.Adopting, ironic.Cleaning, ironic.CleanWait, ironic.Deleting,
		ironic.Servicing, ironic.ServiceWait:
		return true
	}
	return false
}

// adopts reports whether n is being adopted as the machine on its host.
func adopts(n *ironic.Node) bool {
	switch n.State {
	case ironic.Enroll, ironic.Verifying, ironic.Manageable, ironic.Adopting, ironic.AdoptFailed:
		return true
	}
	return false
}

// tagsOf says whose the tags of the node of h are. A host that is available or cleaned was off
// since its machine went, and one that is off runs none.
func tagsOf(h *observedHost) host.Tags {
	n := h.node
	switch {
	case n == nil || h.record.extra == nil:
		return host.NoTags
	case h.tags != nil:
		return host.Own
	case n.State == ironic.Available, cleans(n), n.Instance == "" && n.State != ironic.Error && n.State != ironic.Deleting && n.Power == ironic.PowerOff:
		return host.Past
	}
	return host.Unsettled
}

// machineOf returns the machine on h.
func (p *Provider) machineOf(o *observation, h *observedHost) fleet.Machine {
	read := h.tags
	if h.node != nil && h.record.extra != nil && !h.lost {
		read = h.record.extra
	}
	m := fleet.MachineFromTags(read)
	if h.node != nil && !h.lost {
		m.Damaged = strings.TrimPrefix(m.Damaged+"; "+h.record.damage(h.node, h.tags), "; ")
		m.Damaged = strings.TrimSuffix(m.Damaged, "; ")
	}
	if m.Damaged != "" {
		m.Name = fleet.MachineName(h.tags[fleet.TagMachine])
		m.Pool = fleet.PoolName(h.tags[fleet.TagPool])
	}
	m.ProviderID = providerIDOf(h.Key, h.tags)
	m.FailureDomain, m.Created = h.tags[TagFailureDomain], createdOf(h.tags)
	m.State, m.Message, m.Silent = stateOf(h)
	m.Addresses = addressesOf(h.tags)
	m.Power = powerOf(h)
	if m.Damaged != "" {
		return m
	}
	switch going := p.going.Has(lifeOf(h.tags)); {
	case m.State == fleet.MachineDeleting:
		m.Interrupted = h.node.State == ironic.Error && !m.Silent && !h.node.Locked
	case going:
		m.State, m.Interrupted = fleet.MachineDeleting, !m.Silent && !h.node.Locked
	}
	return m
}

// powerOf returns the power of the machine on h, where it may be rebooted: it runs, and Git does
// not keep it off.
func powerOf(h *observedHost) fleet.HostPower {
	if h.lost || h.node == nil || h.node.State != ironic.Active || h.object == nil || !h.spec.Online || h.declared.Paused || h.declared.Shared != "" {
		return fleet.HostPowerUnknown
	}
	switch {
	case h.node.PowerTarget != "": // a change is under way
	case h.node.Power == ironic.PowerOn:
		return fleet.HostOn
	case h.node.Power == ironic.PowerOff:
		return fleet.HostOff
	}
	return fleet.HostPowerUnknown
}

// stateOf says what the state of the host means for the machine on it.
func stateOf(h *observedHost) (s fleet.MachineState, message string, silent bool) {
	n := h.node
	if h.lost && n != nil && n.State == ironic.Available {
		return fleet.MachineRunning, "Ironic does not know that it is on host " + h.String() + ", and may have a database restored from a backup (if it runs there, set its node to manageable to have it adopted)", true
	}
	if h.lost {
		return fleet.MachineRunning, "Ironic does not know that it is on host " + h.String() + ", and may have lost its database: the host is enrolled and adopted as it runs", true
	}
	failed := ""
	if err := n.Failure(); err != nil {
		failed = err.Error()
	}
	silent = n.Fault == ironic.PowerFault
	switch n.State {
	case ironic.Active:
		s = fleet.MachineRunning
		if failed == "" && n.Power == ironic.PowerOff {
			failed = "its host is switched off"
		}
	case ironic.Adopting, ironic.AdoptFailed, ironic.Enroll, ironic.Verifying, ironic.Manageable:
		s = fleet.MachinePending
		if h.declared.Machine.Running {
			s = fleet.MachineRunning
		}
	case ironic.Servicing, ironic.ServiceWait, ironic.ServiceHold, ironic.ServiceFailed,
		ironic.Rescue, ironic.Rescuing, ironic.RescueWait, ironic.RescueFailed, ironic.Unrescuing, ironic.UnrescueFailed:
		s = fleet.MachineRunning
		if failed == "" {
			failed = "host " + h.String() + " is " + string(n.State)
		}
	case ironic.DeployFailed:
		s = fleet.MachinePending
		if h.next.Phase == host.Failed {
			s = fleet.MachineFailed
		}
	case ironic.Deleting, ironic.Error:
		s = fleet.MachineDeleting
	default:
		s = fleet.MachinePending
	}
	switch {
	case failed != "":
		return s, failed, silent
	case n.Maintenance && !silent:
		return s, "its host is in maintenance: " + n.MaintenanceReason, silent
	case s == fleet.MachinePending && h.next.Held != "":
		return s, h.next.Held, silent
	case s != fleet.MachineRunning:
		return s, "host " + h.String() + " is " + string(n.State), silent
	}
	return s, "", silent
}

// released returns the machine that was on h, while h is busy with its release.
func (o *observation) released(h *observedHost) (fleet.Machine, bool) {
	if h.node == nil || !cleans(h.node) || h.node.Target == ironic.Manageable || !o.cluster.Owns(h.record.extra) {
		return fleet.Machine{}, false
	}
	m := fleet.MachineFromTags(h.record.extra)
	if m.Damaged != "" {
		return fleet.Machine{}, false
	}
	m.ProviderID = providerIDOf(h.Key, h.record.extra)
	m.FailureDomain, m.Created = h.record.extra[TagFailureDomain], createdOf(h.record.extra)
	m.State, m.Message = fleet.MachineReleased, "host "+h.String()+" is "+string(h.node.State)
	if err := h.node.Failure(); err != nil {
		m.Message = err.Error()
	}
	return m, true
}

// keepGoing forgets the machines of the cluster of o that are not there any more: people or another
// process may have released their hosts.
func (p *Provider) keepGoing(o *observation) {
	there := make(map[life]bool, len(o.machines))
	for _, h := range o.machines {
		there[lifeOf(h.tags)] = true
	}
	owner := snapshot.OwnerOf(o.cluster)
	p.going.ForgetIf(func(l life, of snapshot.Owner) bool { return of == owner && !there[l] })
}

// upkeep says what EnsureInfrastructure would do to h now; empty: nothing.
func (p *Provider) upkeep(o *observation, h *observedHost, at time.Time) string {
	if soon, _ := p.lastTry(o.nodeID(h), h, at); soon {
		return ""
	}
	if h.outdated != "" {
		return h.outdated + ": host " + h.String()
	}
	d := h.next
	goes := h.machine.State == fleet.MachineDeleting && (h.node == nil || !adopts(h.node)) // what Ironic does not know as active it cannot release
	if d.Step == host.None || h.machine.Damaged != "" || goes {
		return ""
	}
	if d.Err != nil && h.node != nil && at.Sub(h.node.Updated) < p.o.Retry {
		return "" // it failed just now
	}
	switch {
	case h.tags == nil:
		return string(d.Step) + ": host " + h.String()
	case d.Step == host.Deploy && o.mustGiveBackAddress(h):
		return "give back host " + h.String() + " of machine " + string(h.machine.Name) + ", whose address of a pool another machine has: it is created again"
	case d.Step == host.Deploy && !o.wants(h):
		return ""
	}
	return string(d.Step) + ": host " + h.String() + " of machine " + h.tags[fleet.TagMachine]
}

// wants reports whether Git has the pool of the machine on h.
func (o *observation) wants(h *observedHost) bool {
	_, ok := o.cluster.Pool(h.machine.Pool)
	return ok
}

// nodeID is the UUID of the node of h, or of the one that it is to be enrolled as.
func (o *observation) nodeID(h *observedHost) string {
	if h.node != nil {
		return h.node.UUID
	}
	return ironic.NodeID(string(o.cluster.Fleet), h.Namespace, h.Name)
}

// state is that of the node of h; empty: there is none.
func (h *observedHost) state() ironic.State {
	if h.node == nil {
		return ""
	}
	return h.node.State
}
