package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Kind is a kind of things, as their ids begin.
type Kind string

// The kinds of things.
const (
	Instances     Kind = "i"
	VPCs          Kind = "vpc"
	Pools         Kind = "ipam-pool"
	Subnets       Kind = "subnet"
	Gateways      Kind = "igw"
	Egresses      Kind = "eigw"
	NATs          Kind = "nat"
	RouteTables   Kind = "rtb"
	Groups        Kind = "sg"
	Addresses     Kind = "eipalloc"
	Interfaces    Kind = "eni"
	Volumes       Kind = "vol"
	Images        Kind = "ami"
	KeyPairs      Kind = "key"
	Balancers     Kind = "loadbalancer"
	TargetGroups  Kind = "targetgroup"
	Listeners     Kind = "listener"
	ClassicOnes   Kind = "classic"
	StoredSecrets Kind = "secret"
	Parameters    Kind = "parameter"
	Buckets       Kind = "bucket"
	Objects       Kind = "object"

	ManagedClusters Kind = "ekscluster"
	Nodegroups      Kind = "nodegroup"
	AccessEntries   Kind = "accessentry"
	Addons          Kind = "addon"
	Trusts          Kind = "oidc-provider"
	FargateProfiles Kind = "fargateprofile"

	IdentityProviders Kind = "identityproviderconfig"

	LaunchTemplates Kind = "lt"
)

// Options of a Cloud. Zero values mean the defaults.
type Options struct {
	Account string // default 123456789012
	Region  string // default eu-central-1
	Zones   []string
	Delays  Delays
	// Limits bound how many things of a kind there may be; those that are missing are AWS's own.
	Limits map[Kind]int
	// Page is how many results a page has at most.
	Page int
	// Place returns the private address of a new instance, and whether there is room for one. nil has room for all.
	Place func() (address string, ok bool)
	// Planes run the API servers of clusters of EKS. nil: there are none at their endpoints.
	Planes Planes
	// LeaveGroups has the security groups of clusters of EKS stay when these go.
	LeaveGroups bool
}

// Delays are how long things take.
type Delays struct {
	Lag       time.Duration // until what is new is listed, and found by its id
	Start     time.Duration // of an instance, until it runs
	Terminate time.Duration // of an instance, until it is terminated
	NAT       time.Duration // until a gateway is available, and until it is deleted
	Balancer  time.Duration // until a load balancer is active, and until its interfaces are gone
	Cluster   time.Duration // until a cluster of EKS is active, and until it is deleted
	Nodegroup time.Duration // the same of a node group
	Update    time.Duration // of a cluster or a node group of EKS
}

// shownFor is how long what was terminated is listed.
const shownFor = time.Hour

// A Thing is one thing in the cloud. Attr has its attributes by the names of the API, and Sets those
// that have several values.
type Thing struct {
	Kind Kind
	ID   string
	Tags map[string]string
	Attr map[string]string
	Sets map[string][]string
	Made time.Time
	Gone time.Time // when its deletion was asked for; zero: it was not

	seeded bool
}

func (t *Thing) clone() Thing {
	out := *t
	out.Tags, out.Attr = maps.Clone(t.Tags), maps.Clone(t.Attr)
	out.Sets = make(map[string][]string, len(t.Sets))
	for k, v := range t.Sets {
		out.Sets[k] = slices.Clone(v)
	}
	return out
}

// A token is what a client token made, and a digest of the request.
type token struct {
	made    *Thing
	request string
}

// tokenFor is how long a token of an instance is remembered, also once that is not listed any more.
// Source: EC2 API reference, "Ensuring idempotency".
const tokenFor = 24 * time.Hour

// An answered is a request to EKS with a token, and its answer.
type answered struct {
	body string
	out  any
}

// Cloud is one account in one region. It is an http.Handler, and safe for concurrent use.
type Cloud struct {
	can            map[string]action // by service and name
	mu             sync.Mutex
	o              Options
	n              int
	things         map[string]*Thing   // by id
	tokens         map[string]token    // by zone and token
	answered       map[string]answered // of EKS, by action and token
	full           map[string]bool     // "zone type", or "zone", without capacity
	failing        string              // why instances end as soon as they begin
	failingSix     string              // why VPCs get no range of IPv6
	failingGroups  string              // why node groups cannot be made
	failingAddons  string              // why addons cannot be made or changed
	failingFargate string              // why Fargate profiles cannot be made
	denied         map[string]bool     // actions that no account may do
	keys           map[string]string   // by access key, who has it
	buckets        map[string]*bucket
	faults         []*fault
	calls          []Call
}

// The credentials that the cloud knows from its beginning.
const (
	AccessKey = "AKIAFAIRLEADTEST0001"
	SecretKey = "secret-of-the-double"
)

// New returns a cloud with images of machines and of Ubuntu, a key pair called default and one called ops, and nothing else.
func New(o Options) *Cloud {
	o.Account, o.Region, o.Page = cmp.Or(o.Account, "123456789012"), cmp.Or(o.Region, "eu-central-1"), cmp.Or(o.Page, 1000)
	if o.Zones == nil {
		o.Zones = []string{o.Region + "a", o.Region + "b", o.Region + "c"}
	}
	c := &Cloud{
		o: o, things: make(map[string]*Thing), tokens: make(map[string]token), answered: make(map[string]answered), full: make(map[string]bool), denied: make(map[string]bool),
		keys: map[string]string{AccessKey: "arn:aws:iam::" + o.Account + ":user/fairlead"}, buckets: make(map[string]*bucket),
	}
	for i, name := range []string{"capa-ami-ubuntu-24.04-1.34.1-1750000000", "capa-ami-ubuntu-24.04-v1.34.1-1760000000", "capa-ami-flatcar-stable-1.34.1-1750000000"} {
		c.addImage(name, i)
	}
	c.seed(Images, map[string]string{
		"name": "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260101", "ownerId": "099720109477", "architecture": "x86_64", "rootDeviceName": "/dev/sda1", "imageState": "available",
		"creationDate": "2026-01-01T00:00:00.000Z",
	})
	for _, name := range []string{"default", "ops"} {
		c.seed(KeyPairs, map[string]string{"keyName": name})
	}
	c.can = c.actions()
	return c
}

// Region returns the region of the cloud.
func (c *Cloud) Region() string { return c.o.Region }

// AddImage adds an image of CAPA's own account, which is older than others that a lookup by name finds.
func (c *Cloud) AddImage(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addImage(name, 0)
}

func (c *Cloud) addImage(name string, day int) {
	c.seed(Images, map[string]string{
		"name": name, "ownerId": "819546954734", "architecture": "x86_64", "rootDeviceName": "/dev/sda1", "imageState": "available",
		"creationDate": time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC).Format("2006-01-02T15:04:05.000Z"),
	})
}

func (c *Cloud) seed(k Kind, attr map[string]string) *Thing {
	t := c.add(k, attr, nil)
	t.seeded, t.Made = true, time.Time{}
	return t
}

// id returns a new id of a kind.
func (c *Cloud) id(k Kind) string {
	c.n++
	return fmt.Sprintf("%s-%017x", k, c.n)
}

func (c *Cloud) add(k Kind, attr map[string]string, tags map[string]string) *Thing {
	t := &Thing{Kind: k, ID: c.id(k), Attr: attr, Tags: tags, Sets: make(map[string][]string), Made: time.Now()}
	if t.Attr == nil {
		t.Attr = make(map[string]string)
	}
	if t.Tags == nil {
		t.Tags = make(map[string]string)
	}
	c.things[t.ID] = t
	return t
}

// all returns the things of a kind, sorted by id, without those that are permanently gone.
func (c *Cloud) all(k Kind) []*Thing {
	c.pass()
	var out []*Thing
	for _, t := range c.things {
		if t.Kind == k {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Thing) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// get returns the thing with an id, which is of a kind.
func (c *Cloud) get(k Kind, id string) *Thing {
	c.pass()
	if t := c.things[id]; t != nil && t.Kind == k {
		return t
	}
	return nil
}

// find returns the first thing of a kind with an attribute.
func (c *Cloud) find(k Kind, attr, value string) *Thing {
	for _, t := range c.all(k) {
		if t.Attr[attr] == value {
			return t
		}
	}
	return nil
}

// pass lets time do what it does: instances run and end, gateways come and go.
func (c *Cloud) pass() {
	now := time.Now()
	for id, t := range c.things {
		switch t.Kind {
		case Instances:
			c.passInstance(t, now)
			if t.Attr["state"] == "terminated" && now.Sub(t.Gone) > shownFor {
				delete(c.things, id)
			}
		case NATs:
			switch {
			case !t.Gone.IsZero() && now.Sub(t.Gone) >= c.o.Delays.NAT:
				t.Attr["state"] = "deleted"
				c.drop(Interfaces, "natGateway", t.ID)
				if a := c.things[t.Attr["allocationId"]]; a != nil && a.Attr["natGateway"] == t.ID {
					delete(a.Attr, "natGateway")
				}
				if now.Sub(t.Gone) > shownFor {
					delete(c.things, id)
				}
			case t.Attr["state"] == "pending" && now.Sub(t.Made) >= c.o.Delays.NAT:
				t.Attr["state"] = "available"
			}
		case ManagedClusters, Nodegroups, Addons, FargateProfiles, IdentityProviders:
			c.passManaged(t, now)
		case Balancers:
			if t.Attr["state"] == "provisioning" && now.Sub(t.Made) >= c.o.Delays.Balancer {
				t.Attr["state"] = "active"
			}
		case Interfaces:
			if !t.Gone.IsZero() && now.Sub(t.Gone) >= c.o.Delays.Balancer {
				delete(c.things, id)
			}
		}
	}
}

func (c *Cloud) drop(k Kind, attr, value string) {
	for id, t := range c.things {
		if t.Kind == k && t.Attr[attr] == value {
			delete(c.things, id)
		}
	}
}

// terminated reports whether nothing but a listing is left of a thing.
func (t *Thing) terminated() bool {
	return t.Kind == Instances && t.Attr["state"] == "terminated" || t.Kind == NATs && t.Attr["state"] == "deleted"
}

// Contents returns what is in the cloud, as "kind id", sorted, without what it had from its beginning.
func (c *Cloud) Contents() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	var out []string
	for id, t := range c.things {
		if !t.seeded && !t.terminated() {
			out = append(out, string(t.Kind)+" "+id)
		}
	}
	slices.Sort(out)
	return out
}

// Things returns the things of a kind, sorted by id; what is terminated, too.
func (c *Cloud) Things(k Kind) []Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Thing
	for _, t := range c.all(k) {
		if !t.seeded {
			out = append(out, t.clone())
		}
	}
	return out
}

// Thing returns the thing with an id.
func (c *Cloud) Thing(id string) (Thing, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	if t := c.things[id]; t != nil {
		return t.clone(), true
	}
	return Thing{}, false
}

// Edit changes the thing with an id behind the program's back.
func (c *Cloud) Edit(id string, change func(t *Thing)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	t := c.things[id]
	if t == nil {
		return false
	}
	change(t)
	return true
}

// Remove removes the thing with an id behind the program's back.
func (c *Cloud) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.things, id)
}

// DefaultGroup returns the default security group of a VPC.
func (c *Cloud) DefaultGroup(vpc string) Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.all(Groups) {
		if g.Attr["vpcId"] == vpc && g.Attr["default"] != "" {
			return g.clone()
		}
	}
	return Thing{}
}

// AddInstance adds an instance of somebody else.
func (c *Cloud) AddInstance(name string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.add(Instances, map[string]string{"state": "running", "instanceType": "m6i.large", "zone": c.o.Zones[0]}, map[string]string{"Name": name})
	return t.ID
}

// AddVPC adds a VPC of somebody else, with a public and a private subnet in each zone, and an
// internet gateway. The private ones have no way to the internet.
func (c *Cloud) AddVPC(cidr string) (vpc string, public, private []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.newVPC(cidr, nil)
	v.Tags["Name"] = "theirs"
	gateway := c.add(Gateways, map[string]string{"vpcId": v.ID}, nil)
	table := c.add(RouteTables, map[string]string{"vpcId": v.ID}, nil)
	table.Sets["routes"] = []string{"0.0.0.0/0 " + gateway.ID}
	base := strings.Join(strings.Split(cidr, ".")[:2], ".")
	for i, zone := range c.o.Zones {
		add := func(n int) *Thing {
			return c.add(Subnets, map[string]string{"vpcId": v.ID, "zone": zone, "cidrBlock": fmt.Sprintf("%s.%d.0/24", base, n)}, nil)
		}
		a, b := add(i), add(100+i)
		table.Sets["associations"] = append(table.Sets["associations"], c.id("rtbassoc")+" "+a.ID)
		public, private = append(public, a.ID), append(private, b.ID)
	}
	for _, t := range c.things {
		if t.Attr["vpcId"] == v.ID || t == v {
			t.seeded, t.Made = true, time.Time{}
		}
	}
	return v.ID, public, private
}

// Fill takes the capacity of a zone for a type of instances, or for all.
func (c *Cloud) Fill(zone, instanceType string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full[strings.TrimSpace(zone+" "+instanceType)] = true
}

// FailInstances has the next instances end as soon as they begin, for a reason such as
// "Client.InvalidKMSKey.InvalidState: …"; empty: they run.
func (c *Cloud) FailInstances(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = reason
}

// Reclaim ends an instance as AWS does with a spot instance, or with one whose host fails.
func (c *Cloud) Reclaim(id, reason string) {
	c.Edit(id, func(t *Thing) { c.end(t, reason) })
}

// Deny has an action refused for lack of rights, or allowed again.
func (c *Cloud) Deny(action string, denied bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied[action] = denied
}

// limit returns how many things of a kind there may be. Those of AWS are its defaults.
// Source: Service Quotas, Amazon VPC and EC2.
func (c *Cloud) limit(k Kind) int {
	if n, ok := c.o.Limits[k]; ok {
		return n
	}
	switch k {
	case VPCs, Addresses:
		return 5
	case ManagedClusters:
		return 100
	case Groups:
		return 2500
	}
	return 1 << 20
}

// over reports whether there is no room for another thing of a kind, in a VPC where that is not empty.
func (c *Cloud) over(k Kind) bool {
	n := 0
	for _, t := range c.all(k) {
		if !t.terminated() {
			n++
		}
	}
	return n >= c.limit(k)
}

// AddServiceBalancer adds a classic load balancer that a controller of Kubernetes made for a Service, with a
// security group of its own.
func (c *Cloud) AddServiceBalancer(vpc, name string, tags map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var subnet string
	for _, s := range c.all(Subnets) {
		if s.Attr["vpcId"] == vpc {
			subnet = s.ID
		}
	}
	g := c.add(Groups, map[string]string{"vpcId": vpc, "groupName": "k8s-elb-" + name}, maps.Clone(tags))
	b := c.addNamed(ClassicOnes, "classic/"+name, map[string]string{"name": name, "dns": name, "scheme": "internet-facing", "vpcId": vpc}, maps.Clone(tags))
	b.Sets["subnets"], b.Sets["groups"] = []string{subnet}, []string{g.ID}
	c.plug(b, "ELB "+name)
}

// AddInterface adds a network interface of somebody else to a VPC.
func (c *Cloud) AddInterface(vpc, description string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all(Subnets) {
		if s.Attr["vpcId"] == vpc {
			id = c.add(Interfaces, map[string]string{"vpcId": vpc, "subnetId": s.ID, "description": description}, nil).ID
			break
		}
	}
	return id
}
