package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// endpointAt is the endpoint of a cluster whose load balancer has a name of DNS.
func (v *view) endpointAt(dns string) fleet.Endpoint {
	host := endpoint.Wanted(v.c).Host
	if v.c.NamedEndpoint().Host == "" {
		host = dns
	}
	return fleet.Endpoint{Host: host, Port: v.apiPort()}
}

// balancer returns the load balancer of the API server; nil: there is none.
func (v *view) balancer() *cloud.Balancer { return v.balancerOf(v.first()) }

func (v *view) balancerOf(f front) *cloud.Balancer {
	for i := range v.balancers {
		if v.balancers[i].Tags[partTag] == f.part {
			return &v.balancers[i]
		}
	}
	return nil
}

// A front is a load balancer as Git has it.
type front struct {
	part    string // that it is of the cluster
	targets string // begins the parts that its target groups are, and short their names
	short   string
	lb      *api.LoadBalancer
}

// first is the front whose name machines know, and second the other one; without an lb: there is none.
func (v *view) first() front {
	return front{"apiserver", "targets-", "", v.spec.ControlPlaneLoadBalancer}
}

func (v *view) second() front {
	return front{"apiserver-secondary", "secondary-targets-", "s", v.spec.SecondaryControlPlaneLoadBalancer}
}

// essential reports whether no machine can be made or work without a front.
func (v *view) essential(f front) bool { return f.part == v.first().part || !v.started() }

// faultOf notes what is in the way of a front, and of machines only if they need it.
func (v *view) faultOf(d *steps.Decision, f front, err error) {
	if v.essential(f) {
		d.Fault(err)
		return
	}
	d.Faults = append(d.Faults, err)
}

// fronts returns those that Git has.
func (v *view) fronts() []front {
	return slices.DeleteFunc([]front{v.first(), v.second()}, func(f front) bool { return f.lb == nil })
}

// knownBalancer returns the load balancer whose name machines know; nil: they know none.
func (v *view) knownBalancer() *cloud.Balancer {
	b, known := v.balancer(), v.c.Residence
	if b == nil || v.c.ServedElsewhere() || known.ControlPlane != fleet.InitializedOnce || known.Endpoint.Host != b.DNS {
		return nil
	}
	return b
}

// disabledTooLate reports whether Git has no load balancer any more, and machines know one. It stays unchanged,
// with the rules of its security groups: the settings that these follow from left Git with it.
func (v *view) disabledTooLate() bool {
	return v.spec.ControlPlaneLoadBalancer.LoadBalancerType == api.Disabled && v.knownBalancer() != nil
}

func (v *view) classic() bool { return v.spec.ControlPlaneLoadBalancer.LoadBalancerType == api.Classic }

// endpoint decides about the load balancer of the API server and what it leads to.
func (v *view) endpoint(d *steps.Decision, n network, groups map[string]string) {
	if !v.makesBalancer() {
		if v.c.ServedElsewhere() {
			d.Endpoint = v.c.Endpoint
			return
		}
		named := v.c.NamedEndpoint()
		d.Endpoint = fleet.Endpoint{Host: named.Host, Port: v.apiPort()}
		if named.Host == "" {
			d.Fault(fleet.Errorf(fleet.Invalid, "find the endpoint", "without a load balancer, name controlPlaneEndpoint in Git"))
		}
		return
	}
	b := v.balancer()
	if b == nil {
		v.createBalancer(d, n, groups)
		return
	}
	d.Endpoint = v.endpointAt(b.DNS)
	if known := endpoint.Known(v.c).Host; known != "" && known != b.DNS {
		d.Fault(fleet.Errorf(fleet.Conflict, "keep the endpoint", "machines know the API server at %s, and load balancer %s is %s (make another cluster)", known, b.Name, b.DNS))
		return
	}
	lb := v.spec.ControlPlaneLoadBalancer
	if asked := v.askedPort(); asked != d.Endpoint.Port {
		d.CannotFollow("the port of the API server", "machines know it at %d, Git says %d (put it back, or make another cluster)", d.Endpoint.Port, asked)
	}
	if v.disabledTooLate() {
		d.Endpoint.Host = b.DNS
		d.CannotFollow("controlPlaneLoadBalancer.loadBalancerType", "machines know the API server at load balancer %s (put it back, or make another cluster)", b.Name)
		v.lead(d)
		return
	}
	if lb.Name != "" && lb.Name != b.Name {
		d.CannotFollow("controlPlaneLoadBalancer.name", "load balancer %s cannot get the name %s (put it back, or make another cluster)", b.Name, lb.Name)
	}
	if b.Classic != v.classic() {
		d.CannotFollow("controlPlaneLoadBalancer.loadBalancerType", "load balancer %s cannot become another type (make another cluster)", b.Name)
	}
	if b.Scheme != lb.Scheme {
		d.CannotFollow("controlPlaneLoadBalancer.scheme", "load balancer %s is %s (make another cluster)", b.Name, b.Scheme)
	}
	if b.Classic {
		v.configureClassic(d, b)
	} else {
		v.listeners(d, n, b, v.first())
	}
	v.awaitBalancer(d, b)
	v.secondEndpoint(d, n, groups)
	v.lead(d)
}

func (v *view) awaitBalancer(d *steps.Decision, b *cloud.Balancer) {
	switch b.State {
	case "active", "active_impaired":
	case "failed":
		d.Fault(fleet.Errorf(fleet.Exhausted, "create load balancer "+b.Name, "AWS could not set it up: delete it, and it is recreated"))
	default:
		d.Wait("load balancer " + b.Name + " is " + b.State)
	}
}

// secondEndpoint decides about the second load balancer. No machine knows it, so it goes once Git does not have it.
func (v *view) secondEndpoint(d *steps.Decision, n network, groups map[string]string) {
	f := v.second()
	b := v.balancerOf(f)
	switch {
	case f.lb == nil:
		v.dropSecond(d, f, b)
		return
	case b == nil && v.awaits(f.part):
		v.waitBefore(d, "load balancer "+f.lb.Name+" was asked for, and does not show yet")
		return
	case b == nil:
		if i := slices.IndexFunc(v.s.Balancers.All, func(o cloud.Balancer) bool { return o.Name == f.lb.Name && !o.Classic }); i >= 0 {
			v.faultBefore(d, fleet.Errorf(fleet.Conflict, "create load balancer "+f.lb.Name,
				"there is one without the tags of the cluster (put its tags right if it is the cluster's; otherwise name another in secondaryControlPlaneLoadBalancer.name, or remove it)"))
			return
		}
		v.requestBalancer(d, n, groups, f, f.lb.Name)
		return
	}
	if f.lb.Name != b.Name {
		d.CannotFollow("secondaryControlPlaneLoadBalancer.name", "load balancer %s cannot get the name %s (put it back, or leave the load balancer out until it is gone)", b.Name, f.lb.Name)
	}
	v.listeners(d, n, b, f)
	if !v.started() {
		v.awaitBalancer(d, b)
	}
}

// dropSecond deletes a second load balancer that Git does not have any more, and then what it led to.
func (v *view) dropSecond(d *steps.Decision, f front, b *cloud.Balancer) {
	if b != nil {
		gone := *b
		d.Add(steps.Step{What: "delete load balancer " + b.Name, Do: func(ctx context.Context) error {
			err := v.place.DeleteBalancer(ctx, gone)
			if err == nil {
				v.forgetBalancer(gone.ID)
			}
			return err
		}})
	}
	for _, t := range v.targets {
		if strings.HasPrefix(t.Tags[partTag], f.targets) {
			d.Add(v.deletionOf(t, len(t.Balancers) > 0))
		}
	}
}

// createBalancer decides about a load balancer that is not there. Once machines know its name, it is not made
// again in silence: it would get another.
func (v *view) createBalancer(d *steps.Decision, n network, groups map[string]string) {
	lb := v.spec.ControlPlaneLoadBalancer
	name := lb.Name
	if name == "" {
		name = nameOf(v.owner, "api")
	}
	known := endpoint.Known(v.c).Host
	servers := slices.ContainsFunc(v.machines(), func(m fleet.Machine) bool { return m.Role == fleet.RoleControlPlane })
	i := slices.IndexFunc(v.s.Balancers.All, func(o cloud.Balancer) bool {
		return o.Name == name && o.Classic == v.classic() || o.DNS == known && known != ""
	})
	switch {
	case i >= 0 && !v.awaits("apiserver"):
		d.Fault(fleet.Errorf(fleet.Conflict, "create load balancer "+name,
			"there is %s without the tags of the cluster (put its tags right if it is the cluster's; otherwise name another in controlPlaneLoadBalancer.name, or remove it)", v.s.Balancers.All[i].Name))
		return
	case known != "" || servers && !v.awaits("apiserver") && v.c.NamedEndpoint().Host == "":
		d.Fault(fleet.Errorf(fleet.Conflict, "find load balancer "+name,
			"it is gone, and machines know the API server by its name %s, which no other can have (make another cluster, and restore etcd there)", known))
		return
	case v.awaits("apiserver"):
		d.Wait("load balancer " + name + " was asked for, and does not show yet")
		return
	}
	v.requestBalancer(d, n, groups, v.first(), name)
}

// requestBalancer adds the step that makes a load balancer, once its subnets and its security group are there.
func (v *view) requestBalancer(d *steps.Decision, n network, groups map[string]string, f front, name string) {
	lb := f.lb
	subnets := lb.Subnets
	if len(subnets) == 0 {
		from := n.public
		if lb.Scheme == api.Internal {
			from = n.private
		}
		subnets = onePerZone(from)
	}
	if len(subnets) == 0 {
		if v.isGiven() { // one that is internal has those of machines
			v.faultOf(d, f, fleet.Errorf(fleet.Invalid, "create load balancer "+name, "the VPC has no public subnet (set controlPlaneLoadBalancer.scheme: internal, or name subnets)"))
		}
		return
	}
	if wants := len(v.wantedBalancerZones(lb.Scheme)); len(lb.Subnets) == 0 && len(subnets) < wants || groups[api.APIServerRole] == "" {
		return // the steps before make these
	}
	r := cloud.BalancerRequest{
		Name: name, Scheme: lb.Scheme, Subnets: subnets, Groups: append([]string{groups[api.APIServerRole]}, lb.AdditionalSecurityGroups...),
		Dual: lb.LoadBalancerType != api.Classic && v.haveSix(n, subnets), Tags: v.shared(f.part, f.part, nil), Port: v.apiPort(),
	}
	d.Add(steps.Step{What: "create load balancer " + name, Essential: v.essential(f), Do: func(ctx context.Context) error {
		return v.ask(f.part, func() error {
			var made cloud.Balancer
			var err error
			if lb.LoadBalancerType == api.Classic {
				made, err = v.place.CreateClassic(ctx, r, v.targetPort(), v.c.ControlPlane.Ports)
			} else {
				made, err = v.place.CreateBalancer(ctx, r)
			}
			if err == nil {
				v.balancers = append(v.balancers, made)
			}
			return cloud.Named(err)
		})
	}})
}

// haveSix reports whether all subnets have IPv6, in a cluster that uses it.
func (v *view) haveSix(n network, ids []string) bool {
	return n.six != "" && !slices.ContainsFunc(ids, func(id string) bool {
		s := v.s.Subnets.Get(id)
		return s != nil && s.Six.Range() == "" // one that was just made has its range in the next look
	})
}

// wantedBalancerZones are the zones that a load balancer is to be in, of a VPC that is made.
func (v *view) wantedBalancerZones(scheme string) []string {
	if v.isGiven() {
		return nil
	}
	var out []wantedSubnet
	for _, s := range v.layout() {
		if s.public == (scheme == api.Public) {
			out = append(out, s)
		}
	}
	return zonesOf(out)
}

func onePerZone(subnets []cloud.Subnet) []string {
	var out []string
	seen := make(map[string]bool)
	for _, s := range subnets {
		if !seen[s.Zone] {
			seen[s.Zone] = true
			out = append(out, s.ID)
		}
	}
	return out
}

// health returns how servers are checked. HTTPS asks whether the API server is ready. What was adopted keeps its check, as it
// is, where Git says nothing else.
func (v *view) health(lb *api.LoadBalancer, is cloud.Health, theirs bool) cloud.Health {
	h := plainHealth(v.targetPort())
	if theirs { // whose defaults change with its version
		h = is
	}
	h.Protocol = cmp.Or(lb.HealthCheckProtocol, h.Protocol)
	if h.Protocol == "HTTP" || h.Protocol == "HTTPS" {
		h.Path = "/readyz"
	}
	if c := lb.HealthCheck; c != nil {
		h.Interval, h.Timeout = ptr.Deref(c.IntervalSeconds, h.Interval), ptr.Deref(c.TimeoutSeconds, h.Timeout)
		h.Healthy, h.Unhealthy = ptr.Deref(c.ThresholdCount, h.Healthy), ptr.Deref(c.UnhealthyThresholdCount, h.Unhealthy)
	}
	return h
}

// configureClassic decides about the health check of a classic load balancer, and whether it crosses zones.
func (v *view) configureClassic(d *steps.Decision, b *cloud.Balancer) {
	if h := v.health(v.spec.ControlPlaneLoadBalancer, b.Health, isAdopted(b.ID, b.Tags)); b.Health != h {
		d.Add(steps.Step{What: "set the health check of load balancer " + b.Name + " to " + h.Target(), Essential: !v.started(), Do: func(ctx context.Context) error {
			err := v.place.ConfigureClassic(ctx, b.Name, h)
			if err == nil {
				b.Health = h
			}
			return err
		}})
	}
	v.attribute(d, "load balancer "+b.Name, b.ID, crossZone(v.spec.ControlPlaneLoadBalancer), false)
}

// crossZone are the attributes of a load balancer, and clientIP those of what it leads to.
func crossZone(lb *api.LoadBalancer) map[string]string {
	return map[string]string{cloud.CrossZone: strconv.FormatBool(lb.CrossZoneLoadBalancing)}
}

func clientIP(lb *api.LoadBalancer) map[string]string {
	return map[string]string{cloud.ClientIP: strconv.FormatBool(lb.PreserveClientIP), cloud.CutUnhealthy: "false"}
}

// preserves reports whether servers see the addresses of clients now: until they do not, their security group lets these in.
func (v *view) preserves() bool {
	return slices.ContainsFunc(v.targets, func(t cloud.TargetGroup) bool {
		return len(t.Balancers) > 0 && v.attributes[t.ID][cloud.ClientIP] == "true"
	})
}

// attribute decides about attributes of a load balancer or a target group, and reports whether it has them. They are not set
// before something else, which blocked says.
func (v *view) attribute(d *steps.Decision, what, id string, want map[string]string, blocked bool) bool {
	if err := v.unread[id]; err != nil {
		if v.started() { // they were set before the first machine
			return true
		}
		d.Faults = append(d.Faults, err) // which is in the way of nothing
	}
	is := v.attributes[id]
	differing := maps.Clone(want)
	maps.DeleteFunc(differing, func(k, value string) bool { return is[k] == value })
	if len(differing) == 0 {
		return true
	}
	keys := strings.Join(slices.Sorted(maps.Keys(differing)), ", ")
	d.Add(steps.Step{What: "set " + keys + " of " + what, Essential: !v.started(), Blocked: blocked, Do: func(ctx context.Context) error {
		err := v.place.SetAttributes(ctx, id, want)
		if err == nil {
			v.attributes[id] = want
		}
		return err
	}})
	return false
}

// A lead is a port of a network load balancer, and where it leads.
type lead struct {
	port, target int64
	family       string // of addresses, as Git has it; empty: that of the subnets
	health       cloud.Health
}

func (l lead) part(f front) string { return f.targets + strconv.FormatInt(l.port, 10) }

// isSix reports whether what a load balancer leads to is reached by IPv6: as Git says, or if it and all machines have it.
func (l lead) isSix(n network, b *cloud.Balancer) bool {
	if l.family != "" {
		return l.family == api.SixFamily
	}
	return n.six != "" && b.Dual && !slices.ContainsFunc(n.private, func(s cloud.Subnet) bool { return s.Six.Range() == "" })
}

// leads returns the listeners of a load balancer, the API server's first.
func (v *view) leads(f front) []lead {
	is, theirs := v.checkOf(f, int64(v.apiPort()))
	out := []lead{{port: int64(v.apiPort()), target: int64(v.targetPort()), family: f.lb.TargetGroupIPType, health: v.health(f.lb, is, theirs)}}
	for _, l := range f.lb.AdditionalListeners {
		h := plainHealth(int32(l.Port)) //nolint:gosec // a port
		if is, theirs := v.checkOf(f, l.Port); theirs {
			h = is
		}
		if c := l.HealthCheck; c != nil {
			h.Protocol, h.Port = cmp.Or(c.Protocol, h.Protocol), cmp.Or(c.Port, h.Port)
			if h.Protocol != "TCP" {
				h.Path = cmp.Or(c.Path, "/") // as AWS fills it in
			}
			h.Interval, h.Timeout = ptr.Deref(c.IntervalSeconds, h.Interval), ptr.Deref(c.TimeoutSeconds, h.Timeout)
			h.Healthy, h.Unhealthy = ptr.Deref(c.ThresholdCount, h.Healthy), ptr.Deref(c.UnhealthyThresholdCount, h.Unhealthy)
		}
		out = append(out, lead{port: l.Port, target: l.Port, family: l.TargetGroupIPType, health: h})
	}
	for _, p := range v.c.ControlPlane.Ports {
		if port := int64(p); !slices.ContainsFunc(out, func(l lead) bool { return l.port == port }) {
			out = append(out, lead{port: port, target: port, health: plainHealth(p)})
		}
	}
	return out
}

// checkOf returns how what a port leads to is checked now, and whether that was adopted.
func (v *view) checkOf(f front, port int64) (cloud.Health, bool) {
	t := v.targetsOf(lead{port: port}.part(f))
	if t == nil {
		return cloud.Health{}, false
	}
	return t.Health(), isAdopted(t.ID, t.Tags)
}

// plainHealth is how a port is checked of which nothing else is known: it is open.
func plainHealth(port int32) cloud.Health {
	return cloud.Health{Protocol: "TCP", Port: strconv.Itoa(int(port)), Interval: 10, Timeout: 5, Healthy: 5, Unhealthy: 3}
}

// targetsOf returns the target group that is a part of the cluster; nil: there is none.
func (v *view) targetsOf(part string) *cloud.TargetGroup {
	for i := range v.targets {
		if v.targets[i].Tags[partTag] == part {
			return &v.targets[i]
		}
	}
	return nil
}

// listeners decides about target groups and listeners of a network load balancer. The listener comes last: what it leads to
// is as Git says by then.
func (v *view) listeners(d *steps.Decision, n network, b *cloud.Balancer, f front) {
	crossed := v.attribute(d, "load balancer "+b.Name, b.ID, crossZone(f.lb), false)
	for _, l := range v.leads(f) {
		part := l.part(f)
		t := v.targetsOf(part)
		name := nameOf(v.owner, f.short+strconv.FormatInt(l.port, 10))
		if t == nil {
			if slices.ContainsFunc(v.s.Targets.All, func(o cloud.TargetGroup) bool { return o.Name == name }) { // AWS would answer with it
				v.faultOf(d, f, fleet.Errorf(fleet.Conflict, "create target group "+name, "there is one of that name without the tags of the cluster (put its tags right, or remove it)"))
				continue
			}
			d.Add(steps.Step{What: "create target group " + name, Essential: v.essential(f), Do: func(ctx context.Context) error {
				made, err := v.place.CreateTargetGroup(ctx, name, n.vpc, l.target, l.isSix(n, b), l.health, v.shared(part, part, nil))
				if err == nil {
					v.targets = append(v.targets, made)
				}
				return err
			}})
			continue
		}
		if six := l.isSix(n, b); six != (t.Family == api.SixFamily) && l.family != "" {
			d.CannotFollow("controlPlaneLoadBalancer.targetGroupIPType", "target group %s stays %s (put it back, or make another cluster)", t.Name, cmp.Or(t.Family, "ipv4"))
		}
		if h := l.health; t.Health() != h {
			d.Add(steps.Step{What: "set the health check of target group " + t.Name + " to " + h.Target(), Essential: !v.started(), Do: func(ctx context.Context) error {
				err := v.place.SetHealth(ctx, t.ID, h)
				if err == nil {
					t.Check(h)
				}
				return err
			}})
		}
		ready := v.attribute(d, "target group "+t.Name, t.ID, clientIP(f.lb), f.lb.PreserveClientIP && v.shut)
		if len(t.Balancers) > 0 {
			continue
		}
		d.Add(steps.Step{What: "have load balancer " + b.Name + " listen on port " + strconv.FormatInt(l.port, 10), Essential: v.essential(f), Blocked: !ready || !crossed, Do: func(ctx context.Context) error {
			err := v.place.CreateListener(ctx, b.ID, t.ID, l.port, v.shared("listener", part, nil))
			if err == nil {
				t.Balancers = append(slices.Clip(t.Balancers), b.ID)
			}
			return err
		}})
	}
}

// leadsTo returns the ids of what leads to servers: target groups, and a classic load balancer.
func (v *view) leadsTo() (ids []string) {
	if b := v.balancer(); b != nil && b.Classic {
		ids = append(ids, b.ID)
	}
	for _, t := range v.targets {
		if len(t.Balancers) > 0 {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// lead decides which servers the load balancer leads to: those that run and are not on their way out.
func (v *view) lead(d *steps.Decision) {
	var want []string
	for _, m := range v.machines() {
		id := instanceID(m.ProviderID)
		if m.Damaged == "" && endpoint.Leads(&m) && m.State == fleet.MachineRunning && !v.p.leaving.Has(id) {
			want = append(want, id)
		}
	}
	ids := v.leadsTo()
	for _, id := range ids {
		for _, i := range want {
			if !slices.Contains(v.members[id], i) {
				d.Add(steps.Step{What: "lead the endpoint to " + i + nth(ids, id), Upkeep: true, Do: func(ctx context.Context) error { return v.setTarget(ctx, id, i, true) }})
			}
		}
		for _, i := range v.members[id] {
			if !slices.Contains(want, i) && !v.isHeld(i) {
				d.Add(steps.Step{What: "lead the endpoint away from " + i + nth(ids, id), Upkeep: true, Do: func(ctx context.Context) error { return v.setTarget(ctx, id, i, false) }})
			}
		}
	}
}

// nth tells steps of several listeners apart.
func nth(ids []string, id string) string {
	if len(ids) < 2 {
		return ""
	}
	return fmt.Sprintf(", listener %d", slices.Index(ids, id)+1)
}

// isHeld reports whether an instance stays behind the endpoint unchanged: what it is, is not certain.
func (v *view) isHeld(id string) bool {
	for _, m := range v.machines() {
		if instanceID(m.ProviderID) == id {
			return m.Damaged != ""
		}
	}
	return slices.ContainsFunc(v.s.Instances.All, func(i cloud.Instance) bool { return i.ID == id && !i.Ended() && i.Tags[fleet.TagCluster] == "" })
}

func (v *view) setTarget(ctx context.Context, id, instance string, on bool) error {
	err := v.place.SetTarget(ctx, id, instance, on)
	switch {
	case err != nil:
		return err
	case on:
		v.members[id] = append(slices.Clip(v.members[id]), instance)
	default:
		v.members[id] = slices.DeleteFunc(slices.Clone(v.members[id]), func(o string) bool { return o == instance })
	}
	return nil
}
