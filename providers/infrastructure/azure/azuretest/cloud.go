package azuretest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options of a Cloud. Zero values mean the defaults.
type Options struct {
	Zones  []string      // of the sizes; default 1, 2 and 3
	Faults int           // domains that an availability set has at most; default 3
	Page   int           // resources in a page; default 50
	Lag    time.Duration // until what is new is listed
	Make   time.Duration // of a resource of the network
	Start  time.Duration // of a VM
	Delete time.Duration // of anything
	// Managed is how long an operation of AKS takes.
	Managed time.Duration
	// Fast gives budgets of requests that are never used up.
	Fast bool
	// Place returns the private address of a new VM, and whether there is room for one. nil has room for all. Where it is
	// set, VMs live: one is being created until it reports to the wire server.
	Place func() (address string, ok bool)
}

// What the cloud knows from its beginning.
const (
	Subscription = "0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11"
	Tenant       = "3b7f0a52-6f1f-4c58-8a0e-0c7f2f7a9d10"
	ClientID     = "6b2f1f0e-2c1a-4f37-9f0d-5a4c9b8e7d20"
	Password     = "password-of-the-double"
	Location     = "westeurope"
)

type object = map[string]any

// A resource is one of Azure.
type resource struct {
	id    string // as it was written
	kind  string // "virtualmachines", in lower case
	body  object
	made  time.Time
	until time.Time // when its operation ends
	then  func()    // at its end, once
	runs  string    // custom data of a VM
	place string    // the address that a VM was given by Options.Place

	instances []string // of a scale set
}

// Cloud is one subscription. It is safe for concurrent use.
type Cloud struct {
	mu      sync.Mutex
	o       Options
	n       int
	res     map[string]*resource // by id in lower case
	sizes   []string
	full    map[string]string // why "size zone" has no capacity: the code; at once, or with "later" before it
	role    []string          // actions of the role of the principal; nil: all
	used    []string          // actions that requests needed
	usages  map[string][2]int // current and limit, by the names of quotas
	denied  map[string]bool   // kinds that cannot be read or changed
	locked  map[string]bool   // kinds that cannot be deleted
	jammed  bool
	failing string // the code with which the next VMs fail
	tokens  map[string]time.Time
	logins  int
	secret  string
	trust   trust
	buckets map[string]*bucket
	faults  []*injected

	failingAKS   int // operations of AKS that end in the state Failed
	certificates int // that admins of clusters of AKS had before

	calls []Call
	watch func(Call)
}

// New returns an empty cloud.
func New(o Options) *Cloud {
	o.Page, o.Faults = cmp.Or(o.Page, 50), cmp.Or(o.Faults, 3)
	if o.Zones == nil {
		o.Zones = []string{"1", "2", "3"}
	}
	return &Cloud{
		o: o, res: map[string]*resource{}, sizes: []string{"Standard_D4s_v5", "Standard_D2s_v5", "Standard_D8s_v5"}, full: map[string]string{}, usages: map[string][2]int{"cores": {0, 1000}, "lowPriorityCores": {0, 1000}, "standardDSv5Family": {0, 1000}}, denied: map[string]bool{}, locked: map[string]bool{},
		tokens: map[string]time.Time{}, secret: Password, buckets: map[string]*bucket{},
	}
}

// SetPassword changes the password of the service principal, and ends its tokens.
func (c *Cloud) SetPassword(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secret = text
	clear(c.tokens)
}

// Logins returns how often a token was asked for.
func (c *Cloud) Logins() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logins
}

// Fill takes the capacity for a size in a zone away: a PUT is refused with code at once, or the VM fails later. An
// empty code gives it back.
func (c *Cloud) Fill(size, zone, code string, later bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.full, size+" "+zone)
	if code != "" && later {
		code = "later " + code
	}
	if code != "" {
		c.full[size+" "+zone] = code
	}
}

// SetUsage sets how much of a quota is used, and its limit.
func (c *Cloud) SetUsage(name string, current, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usages[name] = [2]int{current, limit}
}

// SetZones changes the zones of the location.
func (c *Cloud) SetZones(zones ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.o.Zones = zones
}

// FailVMs makes the next VMs fail with code after their PUT was taken; empty: they start.
func (c *Cloud) FailVMs(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = code
}

// Deny takes the right to anything with a kind away, "virtualmachines", or gives it back.
func (c *Cloud) Deny(kind string, denied bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied[kind] = denied
}

// Lock keeps resources of a kind from being deleted.
func (c *Cloud) Lock(kind string, locked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.locked[kind] = locked
}

// Jam has the cloud refuse every change of a network interface that exists, and of a load balancer.
func (c *Cloud) Jam(jammed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jammed = jammed
}

// A Resource is what tests see of one.
type Resource struct {
	ID, Kind, Name string
	Tags           map[string]string
	State          string
	Zone           string
	Body           map[string]any
	Runs           string // custom data of a VM
}

// Resources returns those of a kind, or all, sorted by id.
func (c *Cloud) Resources(kind string) []Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	var out []Resource
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		if r := c.res[k]; kind == "" || r.kind == strings.ToLower(kind) {
			out = append(out, r.seen())
		}
	}
	return out
}

// Resource returns the one with an id in any case.
func (c *Cloud) Resource(id string) (Resource, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	r := c.res[strings.ToLower(id)]
	if r == nil {
		return Resource{}, false
	}
	return r.seen(), true
}

func (r *resource) seen() Resource {
	out := Resource{ID: r.id, Kind: r.kind, Name: nameOf(r.id), Tags: tagsOf(r.body), State: r.state(), Body: clone(r.body), Runs: r.runs}
	if zones, ok := r.body["zones"].([]any); ok && len(zones) > 0 {
		out.Zone = fmt.Sprint(zones[0])
	}
	return out
}

// Edit changes the resource with an id, as people would, and reports whether it is there.
func (c *Cloud) Edit(id string, change func(body map[string]any)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	r := c.res[strings.ToLower(id)]
	if r == nil {
		return false
	}
	change(r.body)
	c.stamp(r)
	return true
}

// Retag changes the tags of a resource.
func (c *Cloud) Retag(id string, change func(tags map[string]string)) bool {
	return c.Edit(id, func(body map[string]any) {
		tags := tagsOf(body)
		if tags == nil {
			tags = map[string]string{}
		}
		change(tags)
		all := object{}
		for k, v := range tags {
			all[k] = v
		}
		body["tags"] = all
	})
}

// Put makes a resource that is ready, as people would. Its group is made with it.
func (c *Cloud) Put(id string, body map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seg := strings.Split(id, "/")
	if group := strings.Join(seg[:min(5, len(seg))], "/"); c.res[strings.ToLower(group)] == nil && group != id {
		c.store(group, object{"location": Location})
	}
	c.store(id, clone(body))
}

// Drop removes a resource alone, as if it had never been.
func (c *Cloud) Drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.res, strings.ToLower(id))
}

// Remove deletes a resource with what that means for others, as people would.
func (c *Cloud) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.res[strings.ToLower(id)]; r != nil {
		c.gone(r)
	}
}

func (c *Cloud) store(id string, body object) *resource {
	r := &resource{id: id, kind: kindOf(id), body: body, made: time.Now().Add(-time.Hour)}
	body["id"], body["name"] = id, nameOf(id)
	properties(body)["provisioningState"] = "Succeeded"
	c.res[strings.ToLower(id)] = r
	c.stamp(r)
	return r
}

// stamp gives r another ETag.
func (c *Cloud) stamp(r *resource) {
	c.n++
	in, name := r.etagIn()
	in[name] = fmt.Sprintf("W/\"%d\"", c.n)
}

// etagIn returns where r has its ETag: AKS has it elsewhere.
func (r *resource) etagIn() (in object, name string) {
	switch r.kind {
	case managedKind, memberKind:
		return r.body, "eTag"
	case poolKind:
		return properties(r.body), "eTag"
	}
	return r.body, "etag"
}

func (r *resource) state() string { return fmt.Sprint(properties(r.body)["provisioningState"]) }

// pass ends the operations whose time has come.
func (c *Cloud) pass() {
	now := time.Now()
	for {
		var due *resource
		for _, k := range slices.Sorted(maps.Keys(c.res)) {
			if r := c.res[k]; r.then != nil && !now.Before(r.until) && (due == nil || r.until.Before(due.until)) {
				due = r
			}
		}
		if due == nil {
			return
		}
		then := due.then
		due.then = nil
		then()
	}
}

// begin has then happen after d.
func (c *Cloud) begin(r *resource, state string, d time.Duration, then func()) {
	properties(r.body)["provisioningState"] = state
	r.until, r.then = time.Now().Add(d), then
	c.pass()
}

func (c *Cloud) succeed(r *resource) func() {
	return func() { properties(r.body)["provisioningState"] = "Succeeded"; c.stamp(r) }
}

// kindOf returns the last type of an id, in lower case.
func kindOf(id string) string {
	seg := strings.Split(strings.Trim(strings.ToLower(id), "/"), "/")
	if len(seg) < 2 {
		return ""
	}
	return seg[len(seg)-2]
}

func nameOf(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

func properties(o object) object {
	p, ok := o["properties"].(object)
	if !ok {
		p = object{}
		o["properties"] = p
	}
	return p
}

func tagsOf(body object) map[string]string {
	tags, _ := body["tags"].(object)
	out := make(map[string]string, len(tags))
	for k, v := range tags {
		out[k] = fmt.Sprint(v)
	}
	return out
}

func clone(o object) object {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // it came as JSON
	}
	var out object
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

// refs calls each with every reference to another resource in v.
func refs(v any, each func(id string)) {
	switch v := v.(type) {
	case object:
		for k, x := range v {
			if id, ok := x.(string); ok && (k == "id" || k == "vnetSubnetID") && strings.HasPrefix(strings.ToLower(id), "/subscriptions/") {
				each(id)
			}
			refs(x, each)
		}
	case []any:
		for _, x := range v {
			refs(x, each)
		}
	}
}
