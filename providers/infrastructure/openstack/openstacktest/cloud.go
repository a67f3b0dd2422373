package openstacktest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Options say what a cloud is like. Zero values are a fast cloud of one region.
type Options struct {
	Name      string        // what ids follow from: clouds of one name have the same ones
	Regions   []string      // default "RegionOne"
	Without   []string      // service types that the catalogue lacks, as in "load-balancer"
	PageSize  int           // the most that one page of a listing has; default 1000
	TokenLife time.Duration // default one hour
	Hosts     int           // hypervisors of each availability zone, for anti-affinity; default 2
	Delays    Delays

	// WithoutServiceIDs says that the catalogue tells no ids, as Keystone's templated one.
	WithoutServiceIDs bool
	// Extensions that Neutron lacks, as in "standard-attr-tag".
	WithoutExtensions []string
	// Reclaim is for how long Nova keeps a server that was deleted, which is then
	// SOFT_DELETED (reclaim_instance_interval); 0: it is not kept.
	Reclaim time.Duration
	// CellDown says that Nova cannot look up a server: its cell is down. A listing
	// says only that it is there; pages after the first leave it out.
	CellDown func(server Object) bool

	// FailServer returns the message of the fault that a server ends in ERROR
	// with, "" for one that works. FailBinding says that Neutron cannot bind a
	// port, FailLoadBalancer and FailVolume that a thing ends in ERROR.
	FailServer       func(server Object) string
	FailBinding      func(port Object) bool
	FailLoadBalancer func(lb Object) bool
	FailVolume       func(volume Object) bool

	// ImportMethods are the ways in which Glance takes the content of images; default
	// glance-direct and web-download. FailImport returns why Glance cannot download
	// what a URL gives, "" where it can; Download what comes of it, in place of a
	// content of its own for each URL.
	ImportMethods []string
	FailImport    func(image Object, url string) string
	Download      func(url string) []byte
}

// Delays say how slow a cloud is.
type Delays struct {
	Call         time.Duration // each call, before it does anything
	Listing      time.Duration // until a create or delete shows in listings
	Server       time.Duration // from BUILD to ACTIVE or ERROR
	ServerDelete time.Duration // from the answer to being gone
	Volume       time.Duration // from creating to available, and deleting to gone
	LoadBalancer time.Duration // each change of a load balancer: PENDING_… to ACTIVE
	Import       time.Duration // from queued to importing, and from there to active or back
}

// A Cloud is an OpenStack in memory. It is safe for concurrent use.
type Cloud struct {
	mu       sync.Mutex
	options  Options
	services []*service
	kinds    map[Kind]*spec
	regions  []*region
	identity identity
	events   []event
	at       time.Time // of the event that happens, else zero
	ids      int
	log      callLog
	faults   []*injected
}

// region holds what one region has.
type region struct {
	name   string
	tables map[Kind]*table
	quotas map[string]int // "project/resource"
}

// event is something that happens by itself.
type event struct {
	at time.Time
	do func()
}

// New returns a cloud with the projects, users and things that the package's
// documentation lists.
func New(o Options) *Cloud {
	if len(o.Regions) == 0 {
		o.Regions = []string{"RegionOne"}
	}
	if o.PageSize == 0 {
		o.PageSize = 1000
	}
	if o.TokenLife == 0 {
		o.TokenLife = time.Hour
	}
	if o.Hosts == 0 {
		o.Hosts = 2
	}
	if o.ImportMethods == nil {
		o.ImportMethods = []string{"glance-direct", "web-download"}
	}
	c := &Cloud{options: o, kinds: make(map[Kind]*spec)}
	for _, s := range []*service{
		c.identityService(), c.computeService(), c.networkService(), c.imageService(), c.loadBalancerService(), c.volumeService(),
	} {
		c.services = append(c.services, s.start())
	}
	c.seedIdentity()
	for _, name := range o.Regions {
		r := &region{name: name, tables: make(map[Kind]*table), quotas: make(map[string]int)}
		for k := range c.kinds {
			r.tables[k] = &table{kind: k}
		}
		c.regions = append(c.regions, r)
		c.seedRegion(r)
	}
	return c
}

// Set changes the options of a cloud that is in use; regions stay unchanged.
func (c *Cloud) Set(change func(o *Options)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.options)
}

// Move gives a service, by its type in the catalogue, another endpoint: prefix is the
// first part of its paths. What asks at the old one finds nothing.
func (c *Cloud) Move(kind, prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.services {
		if s.kind == kind {
			s.prefix = prefix
		}
	}
}

// SetQuota limits how many of a resource a project may have in each region.
// Resources: instances, cores, ram, server_groups; network, subnet, router, port,
// floatingip, security_group, security_group_rule, trunk; load_balancer;
// volumes, gigabytes. A negative limit is none, the initial state.
func (c *Cloud) SetQuota(project, resource string, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.regions {
		r.quotas[c.identity.projectID(project)+"/"+resource] = limit
	}
}

// quota returns the limit of a resource; ok is false where there is none.
func (r *region) quota(project, resource string) (limit int, ok bool) {
	limit, ok = r.quotas[project+"/"+resource]
	return limit, ok && limit >= 0
}

// Objects returns copies of all things of a kind in all regions, whosoever they
// are, in the order in which they were made.
func (c *Cloud) Objects(k Kind) []Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	var out []Object
	for _, r := range c.regions {
		for _, x := range r.tables[k].records {
			if x.gone.IsZero() {
				out = append(out, x.Object.clone())
			}
		}
	}
	return out
}

// Object returns a copy of one thing; ok is false where it is not there.
func (c *Cloud) Object(k Kind, id string) (o Object, ok bool) {
	all := c.Objects(k)
	i := slices.IndexFunc(all, func(o Object) bool { return o.ID() == id })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// Edit changes a thing without a request: a server that stops, a load
// balancer that fails. It reports whether it is there.
func (c *Cloud) Edit(k Kind, id string, change func(o Object)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	for _, r := range c.regions {
		if o := r.tables[k].get(id); o != nil {
			change(o)
			return true
		}
	}
	return false
}

// Remove makes a thing vanish behind everyone's back: nothing that hangs on it
// is looked after. It reports whether it was there.
func (c *Cloud) Remove(k Kind, id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	for _, r := range c.regions {
		if r.tables[k].get(id) != nil {
			r.tables[k].remove(id, time.Now(), 0)
			return true
		}
	}
	return false
}

// Add puts a thing of a project into the first region unchanged, with an id if it
// has none, and returns the id. Nothing is checked.
func (c *Cloud) Add(project string, k Kind, o Object) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	return c.put(c.regions[0], k, c.identity.projectID(project), o)
}

// put adds o to a table, with what every thing has.
func (c *Cloud) put(r *region, k Kind, project string, o Object) string {
	spec := c.kinds[k]
	x := make(Object)
	for key, v := range spec.defaults {
		x[key] = cloneValue(v)
	}
	for key, v := range o {
		x[key] = v
	}
	if x.ID() == "" {
		x["id"] = c.newID()
	}
	if project != "" || !x.has("project_id") {
		x["project_id"] = project
	}
	spec.service.stamp(x, c.clock())
	r.tables[k].add(x, c.clock().Add(c.options.Delays.Listing))
	return x.ID()
}

// newID returns a UUID. The same calls in the same order to a cloud of the same name give the same ones.
func (c *Cloud) newID() string {
	c.ids++
	h := sha256.Sum256(fmt.Append(nil, c.options.Name, c.ids))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// after lets something happen d from now: as soon as the cloud is asked
// something then or later.
func (c *Cloud) after(d time.Duration, do func()) {
	c.events = append(c.events, event{c.clock().Add(d), do})
	slices.SortStableFunc(c.events, func(a, b event) int { return a.at.Compare(b.at) })
}

// clock returns the time, which for an event is when it was due.
func (c *Cloud) clock() time.Time {
	if !c.at.IsZero() {
		return c.at
	}
	return time.Now()
}

// tick lets everything happen that is due.
func (c *Cloud) tick() {
	now := time.Now()
	for len(c.events) > 0 && !c.events[0].at.After(now) {
		e := c.events[0]
		c.events = c.events[1:]
		c.at = e.at
		e.do()
	}
	c.at = time.Time{}
	for _, r := range c.regions {
		for _, t := range r.tables {
			t.forget(now)
		}
	}
}
