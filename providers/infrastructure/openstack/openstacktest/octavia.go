package openstacktest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// The kinds of Octavia.
const (
	LoadBalancers Kind = "loadbalancers"
	Listeners     Kind = "listeners"
	Pools         Kind = "pools"
	Members       Kind = "members"
	Monitors      Kind = "healthmonitors"
)

// Objects of Octavia carry what they belong to in attributes that are not shown:
// the load balancer in "lb", of members and monitors the pool in "pool".

// unrouted marks an error that Octavia finds before it calls what the path leads
// to, and writes in another way.
const unrouted = "unrouted"

const octaviaTime = "2006-01-02T15:04:05"

func (c *Cloud) loadBalancerService() *service {
	s := &service{
		kind: "load-balancer", name: "octavia", prefix: "load-balancer", version: "/v2.0/lbaas",
		refuse: func(e *apiError) Object {
			if e.kind == unrouted {
				return Object{"code": e.status, "title": "Bad Request", "description": e.message}
			}
			return Object{"faultcode": "Client", "faultstring": e.message, "debuginfo": nil}
		},
		stamp: func(o Object, now time.Time) {
			o["created_at"], o["updated_at"] = now.UTC().Format(octaviaTime), nil
			if !o.has("tags") {
				o["tags"] = []string{}
			}
			if !o.has("provisioning_status") {
				o["provisioning_status"], o["operating_status"] = "PENDING_CREATE", "OFFLINE"
			}
		},
	}
	versions := []Object{{"id": "v2.0", "status": "SUPPORTED", "links": []Object{}}, {"id": "v2.26", "status": "CURRENT", "links": []Object{}}}
	root := "/v2.0/lbaas"
	s.routes = []route{
		{"GET", "/{$}", http.StatusOK, func(*call) (any, error) { return Object{"versions": versions}, nil }},
		{"GET", root + "/providers", http.StatusOK, func(*call) (any, error) {
			return Object{"providers": []Object{{"name": "amphora", "description": "The Octavia Amphora driver."}, {"name": "ovn", "description": "Octavia OVN driver."}}}, nil
		}},
		{"GET", root + "/flavors", http.StatusOK, func(*call) (any, error) {
			return Object{"flavors": []Object{{"id": lbFlavor, "name": "ha", "description": "", "enabled": true, "flavor_profile_id": ""}}}, nil
		}},
		{"GET", root + "/availabilityzones", http.StatusOK, func(*call) (any, error) {
			return Object{"availability_zones": []Object{{"name": "az1", "description": "", "enabled": true, "availability_zone_profile_id": ""}}}, nil
		}},
		{"GET", root + "/loadbalancers/{id}/status", http.StatusOK, lbStatus},
		{"PUT", root + "/loadbalancers/{id}/failover", http.StatusAccepted, lbFailover},
		{"PUT", root + "/pools/{pool}/members", http.StatusAccepted, batchMembers},
	}
	for _, sp := range []*spec{loadBalancerSpec(), listenerSpec(), poolSpec(), memberSpec(), monitorSpec()} {
		sp.service = s
		if sp.path == "" {
			sp.path = "/" + string(sp.kind)
		}
		c.kinds[sp.kind] = sp
		s.routes = append(s.routes, sp.octaviaRoutes(root)...)
	}
	return s
}

// lbFlavor is the id of the only flavor of load balancers, "ha".
const lbFlavor = "5a1b0d4e-0000-4000-a000-00000000f1a0"

func (s *spec) octaviaRoutes(root string) []route {
	return []route{
		{"GET", root + s.path, http.StatusOK, s.octaviaList},
		{"POST", root + s.path, http.StatusCreated, func(k *call) (any, error) {
			o, err := s.octaviaMake(k, k.body.Object(s.one))
			if err != nil {
				return nil, err
			}
			return Object{s.one: s.view(k, o)}, nil
		}},
		{"GET", root + s.path + "/{id}", http.StatusOK, func(k *call) (any, error) {
			o, err := s.octaviaFind(k)
			if err != nil {
				return nil, err
			}
			return Object{s.one: s.view(k, o)}, nil
		}},
		{"PUT", root + s.path + "/{id}", http.StatusOK, s.octaviaUpdate},
		{"DELETE", root + s.path + "/{id}", http.StatusNoContent, s.octaviaDelete},
	}
}

func (s *spec) gone(id string) *apiError {
	return refuse(http.StatusNotFound, "", "%s %s not found.", s.label, id)
}

func (s *spec) octaviaFind(k *call) (Object, error) {
	o := k.find(s.kind, k.arg("id"))
	if o == nil || k.arg("pool") != "" && o.String("pool") != k.arg("pool") {
		return nil, s.gone(k.arg("id"))
	}
	return o, nil
}

func (s *spec) octaviaList(k *call) (any, error) {
	if pool := k.arg("pool"); pool != "" && k.find(Pools, pool) == nil {
		e := k.kinds[Pools].gone(pool)
		e.kind = unrouted
		return nil, e
	}
	all := k.visible(s.kind)
	all = slices.DeleteFunc(all, func(o Object) bool {
		lb := k.query.Get("loadbalancer_id") + k.query.Get("load_balancer_id")
		return k.arg("pool") != "" && o.String("pool") != k.arg("pool") ||
			lb != "" && o.String("lb") != lb || k.query.Has("pool_id") && o.String("pool") != k.query.Get("pool_id")
	})
	all, unknown := k.filter(all, s.known, "loadbalancer_id", "load_balancer_id", "pool_id", "provisioning_status", "operating_status")
	if unknown != "" {
		return nil, refuse(http.StatusBadRequest, "", "Validation failure: Invalid filter %s", unknown)
	}
	page, next, ok := k.page(all, "id")
	if !ok {
		return nil, s.gone(k.query.Get("marker"))
	}
	for i, o := range page {
		page[i] = s.view(k, o)
	}
	return k.listing(s.envelope(), page, next), nil
}

func (s *spec) octaviaMake(k *call, in Object) (Object, error) {
	for key := range in {
		if !s.settable(key) {
			return nil, refuse(http.StatusBadRequest, "", "Unknown attribute:\n'%s'", key)
		}
	}
	for _, key := range s.required {
		if !in.has(key) {
			return nil, refuse(http.StatusBadRequest, "", "Invalid input for field/attribute %s. Value: 'None'. Mandatory field missing.", key)
		}
	}
	if limit, ok := k.r.quota(k.project, strings.TrimSuffix(strings.Replace(string(s.kind), "loadb", "load_b", 1), "s")); ok && len(k.mine(s.kind)) >= limit {
		return nil, refuse(http.StatusForbidden, "", "Quota has been met for resources: %s", s.label)
	}
	o := in.clone()
	if pool := k.arg("pool"); pool != "" {
		o["pool"] = pool
	}
	for key, v := range s.defaults {
		if !o.has(key) {
			o[key] = cloneValue(v)
		}
	}
	o["id"] = k.newID()
	if err := s.create(k, o); err != nil {
		return nil, err
	}
	k.put(k.r, s.kind, k.project, o)
	o = k.r.tables[s.kind].get(o.ID())
	k.busy(o.String("lb"), o)
	return o, nil
}

func (s *spec) octaviaUpdate(k *call) (any, error) {
	o, err := s.octaviaFind(k)
	if err != nil {
		return nil, err
	}
	change := k.body.Object(s.one)
	for key := range change {
		if !s.settable(key) || slices.Contains(s.fixed, key) {
			return nil, refuse(http.StatusBadRequest, "", "Unknown attribute:\n'%s'", key)
		}
	}
	if err := k.mutable(o.String("lb")); err != nil {
		return nil, err
	}
	if s.update != nil {
		if err := s.update(k, o, change); err != nil {
			return nil, err
		}
	}
	for key, v := range change {
		o[key] = v
	}
	o["updated_at"], o["provisioning_status"] = k.now.UTC().Format(octaviaTime), "PENDING_UPDATE"
	k.busy(o.String("lb"), o)
	return Object{s.one: s.view(k, o)}, nil
}

func (s *spec) octaviaDelete(k *call) (any, error) {
	o, err := s.octaviaFind(k)
	if err != nil {
		return nil, err
	}
	if s.kind != LoadBalancers {
		if err := k.mutable(o.String("lb")); err != nil {
			return nil, err
		}
	}
	if err := s.remove(k, o); err != nil {
		return nil, err
	}
	o["provisioning_status"] = "PENDING_DELETE"
	if s.kind != LoadBalancers {
		k.busy(o.String("lb"), o)
	}
	return nil, nil
}

// mutable refuses a change of a load balancer that is not ACTIVE.
func (k *call) mutable(lb string) error {
	o := k.r.tables[LoadBalancers].get(lb)
	if o != nil && o.String("provisioning_status") == "ACTIVE" {
		return nil
	}
	return refuse(http.StatusConflict, "", "Load Balancer %s is immutable and cannot be updated.", lb)
}

// busy makes a load balancer PENDING for the time of a change of o, which is it
// or a part of it.
func (k *call) busy(lb string, o Object) {
	b := k.r.tables[LoadBalancers].get(lb)
	if b == nil {
		return
	}
	if b.String("provisioning_status") == "ACTIVE" {
		b["provisioning_status"], b["updated_at"] = "PENDING_UPDATE", k.now.UTC().Format(octaviaTime)
	}
	w := *k
	k.after(k.options.Delays.LoadBalancer, func() { (&w).settled(b, o) })
}

// settled ends the time of a change.
func (k *call) settled(b, o Object) {
	if o.String("provisioning_status") == "PENDING_DELETE" {
		k.drop(k.kindOf(o), o.ID())
	} else if strings.HasPrefix(o.String("provisioning_status"), "PENDING_") {
		o["provisioning_status"], o["operating_status"] = "ACTIVE", "ONLINE"
	}
	if b.String("provisioning_status") == "PENDING_UPDATE" {
		b["provisioning_status"] = "ACTIVE"
	}
	if k.options.FailLoadBalancer != nil && k.options.FailLoadBalancer(b.clone()) {
		b["provisioning_status"], b["operating_status"] = "ERROR", "ERROR"
	}
}

// kindOf returns the kind of a part of a load balancer.
func (k *call) kindOf(o Object) Kind {
	for _, kind := range []Kind{Listeners, Pools, Members, Monitors} {
		if k.r.tables[kind].get(o.ID()) != nil {
			return kind
		}
	}
	return LoadBalancers
}

// refs returns references to objects, as Octavia shows them.
func refs(objects []Object) []Object {
	out := []Object{}
	for _, o := range objects {
		out = append(out, Object{"id": o.ID()})
	}
	return out
}
