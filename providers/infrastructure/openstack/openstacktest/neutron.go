package openstacktest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// The kinds of Neutron.
const (
	Networks           Kind = "networks"
	Subnets            Kind = "subnets"
	Routers            Kind = "routers"
	Ports              Kind = "ports"
	SecurityGroups     Kind = "security-groups"
	SecurityGroupRules Kind = "security-group-rules"
	FloatingIPs        Kind = "floatingips"
	Trunks             Kind = "trunks"
)

func (c *Cloud) networkService() *service {
	s := &service{
		kind: "network", name: "neutron", prefix: "network", version: "/v2.0",
		refuse: func(e *apiError) Object {
			return Object{"NeutronError": Object{"type": e.kind, "message": e.message, "detail": ""}}
		},
		stamp: func(o Object, now time.Time) {
			t := now.UTC().Format("2006-01-02T15:04:05Z")
			o["tenant_id"], o["created_at"], o["updated_at"], o["revision_number"] = o["project_id"], t, t, 1
			if !o.has("tags") {
				o["tags"] = []string{}
			}
		},
	}
	version := Object{"id": "v2.0", "status": "CURRENT", "links": []Object{}}
	s.routes = []route{
		{"GET", "/{$}", http.StatusOK, func(*call) (any, error) { return Object{"versions": []Object{version}}, nil }},
		{"GET", "/v2.0/extensions", http.StatusOK, listExtensions},
		{"PUT", "/v2.0/{resource}/{id}/tags", http.StatusOK, replaceTags},
		{"PUT", "/v2.0/{resource}/{id}/tags/{tag}", http.StatusCreated, addTag},
		{"DELETE", "/v2.0/{resource}/{id}/tags/{tag}", http.StatusNoContent, removeTag},
		{"PUT", "/v2.0/routers/{id}/add_router_interface", http.StatusOK, addRouterInterface},
		{"PUT", "/v2.0/routers/{id}/remove_router_interface", http.StatusOK, removeRouterInterface},
		{"GET", "/v2.0/trunks/{id}/get_subports", http.StatusOK, getSubports},
		{"PUT", "/v2.0/trunks/{id}/add_subports", http.StatusOK, addSubports},
		{"PUT", "/v2.0/trunks/{id}/remove_subports", http.StatusOK, removeSubports},
	}
	for _, sp := range []*spec{
		networkSpec(), subnetSpec(), routerSpec(), portSpec(), securityGroupSpec(), securityGroupRuleSpec(), floatingIPSpec(), trunkSpec(),
	} {
		sp.service, sp.path = s, "/"+string(sp.kind)
		c.kinds[sp.kind] = sp
		s.routes = append(s.routes, sp.neutronRoutes()...)
	}
	return s
}

func (s *spec) neutronRoutes() []route {
	collection, item := "/v2.0"+s.path, "/v2.0"+s.path+"/{id}"
	return []route{
		{"GET", collection, http.StatusOK, s.neutronList},
		{"POST", collection, http.StatusCreated, s.neutronCreate},
		{"GET", item, http.StatusOK, func(k *call) (any, error) {
			o := k.find(s.kind, k.arg("id"))
			if o == nil {
				return nil, s.missing(k.arg("id"))
			}
			return Object{s.one: s.view(k, o)}, nil
		}},
		{"PUT", item, http.StatusOK, s.neutronUpdate},
		{"DELETE", item, http.StatusNoContent, func(k *call) (any, error) {
			o := k.find(s.kind, k.arg("id"))
			if o == nil || !k.admin() && o.String("project_id") != k.project {
				return nil, s.missing(k.arg("id"))
			}
			if s.remove != nil {
				if err := s.remove(k, o); err != nil {
					return nil, err
				}
			}
			k.drop(s.kind, o.ID())
			return nil, nil
		}},
	}
}

// known reports whether an attribute may be in a request or a filter.
func (s *spec) known(key string) bool {
	_, ok := s.defaults[key]
	return ok || slices.Contains(s.required, key) || slices.Contains(s.wide, key) ||
		slices.Contains([]string{
			"id", "project_id", "tenant_id", "status", "tags", "tags-any", "not-tags", "not-tags-any", "revision_number", "created_at", "updated_at",
		}, key)
}

func (s *spec) neutronList(k *call) (any, error) {
	all := k.visible(s.kind)
	slices.SortFunc(all, func(a, b Object) int { return strings.Compare(a.ID(), b.ID()) })
	all, unknown := k.filter(all, s.known)
	if unknown != "" {
		return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "['%s'] is invalid attribute for filtering", unknown)
	}
	page, next, ok := k.page(all, "id")
	if !ok {
		return nil, s.missing(k.query.Get("marker"))
	}
	for i, o := range page {
		page[i] = s.view(k, o)
	}
	return k.listing(s.envelope(), page, next), nil
}

// neutronCreate makes one thing, or several of which all are made or none.
func (s *spec) neutronCreate(k *call) (any, error) {
	if many, ok := k.body[s.envelope()]; ok {
		var made []Object
		for _, in := range (Object{"": many}).Objects("") {
			o, err := s.neutronMake(k, in)
			if err != nil {
				for _, m := range made {
					k.drop(s.kind, m.ID())
				}
				return nil, err
			}
			made = append(made, o)
		}
		for i, o := range made {
			made[i] = s.view(k, o)
		}
		return Object{s.envelope(): made}, nil
	}
	o, err := s.neutronMake(k, k.body.Object(s.one))
	if err != nil {
		return nil, err
	}
	return Object{s.one: s.view(k, o)}, nil
}

func (s *spec) neutronMake(k *call, in Object) (Object, error) {
	if in == nil {
		return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Unable to find '%s' in request body", s.one)
	}
	for key := range in {
		if !s.settable(key) {
			return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Unrecognized attribute(s) '%s'", key)
		}
	}
	for _, key := range s.required {
		if !in.has(key) {
			return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Failed to parse request. Required attribute '%s' not specified", key)
		}
	}
	project := in.String("project_id")
	if project == "" {
		project = in.String("tenant_id")
	}
	if project == "" || !k.admin() {
		project = k.project
	}
	if limit, ok := k.r.quota(project, s.one); ok && len(k.r.tables[s.kind].where("project_id", project)) >= limit {
		return nil, refuse(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['%s'].", s.one)
	}
	o := k.r.tables[s.kind].get(k.put(k.r, s.kind, project, in))
	if s.create != nil {
		if err := s.create(k, o); err != nil {
			k.r.tables[s.kind].remove(o.ID(), k.now, 0)
			return nil, err
		}
	}
	return o, nil
}

func (s *spec) settable(key string) bool {
	_, ok := s.defaults[key]
	return ok || slices.Contains(s.required, key) || key == "project_id" || key == "tenant_id"
}

func (s *spec) neutronUpdate(k *call) (any, error) {
	o := k.find(s.kind, k.arg("id"))
	if o == nil || !k.admin() && o.String("project_id") != k.project {
		return nil, s.missing(k.arg("id"))
	}
	change := k.body.Object(s.one)
	for key := range change {
		switch {
		case !s.settable(key):
			return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Unrecognized attribute(s) '%s'", key)
		case slices.Contains(s.fixed, key):
			return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Cannot update read-only attribute %s", key)
		}
	}
	if s.update != nil {
		if err := s.update(k, o, change); err != nil {
			return nil, err
		}
	}
	for key, v := range change {
		o[key] = v
	}
	k.touch(o)
	return Object{s.one: s.view(k, o)}, nil
}

// touch notes that a thing changed.
func (k *call) touch(o Object) {
	o["revision_number"] = o.Int("revision_number") + 1
	o["updated_at"] = k.now.UTC().Format("2006-01-02T15:04:05Z")
}

func listExtensions(k *call) (any, error) {
	var out []Object
	for _, alias := range []string{
		"address-scope", "allowed-address-pairs", "binding", "dns-integration", "external-net", "extra_dhcp_opt", "fip-port-details",
		"net-mtu", "net-mtu-writable", "network_availability_zone", "pagination", "port-security", "project-id", "provider",
		"quotas", "router", "router_availability_zone", "security-group", "security-groups-normalized-cidr", "sorting",
		"standard-attr-description", "standard-attr-revisions", "standard-attr-tag", "standard-attr-timestamp", "subnet_allocation",
		"trunk", "trunk-details", "uplink-status-propagation",
	} {
		if slices.Contains(k.options.WithoutExtensions, alias) {
			continue
		}
		out = append(out, Object{"alias": alias, "name": alias, "description": "", "links": []any{}, "updated": "2020-01-01T00:00:00-00:00"})
	}
	return Object{"extensions": out}, nil
}

// tags reports whether things of Neutron have tags.
func (k *call) tags() bool { return !slices.Contains(k.options.WithoutExtensions, "standard-attr-tag") }

// tagged returns the thing that a request about tags is about.
func (k *call) tagged() (Object, error) {
	kind := Kind(k.arg("resource"))
	s, ok := k.kinds[kind]
	if !ok || s.service != k.s || !k.tags() {
		return nil, refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}
	o := k.find(kind, k.arg("id"))
	if o == nil {
		return nil, refuse(http.StatusNotFound, "TagResourceNotFound", "Resource %s %s could not be found.", k.arg("resource"), k.arg("id"))
	}
	return o, nil
}

func replaceTags(k *call) (any, error) {
	o, err := k.tagged()
	if err != nil {
		return nil, err
	}
	o["tags"] = append([]string{}, k.body.Strings("tags")...)
	k.touch(o)
	return Object{"tags": o["tags"]}, nil
}

func addTag(k *call) (any, error) {
	o, err := k.tagged()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(o.Strings("tags"), k.arg("tag")) {
		o["tags"] = append(slices.Clone(o.Strings("tags")), k.arg("tag"))
	}
	return nil, nil
}

func removeTag(k *call) (any, error) {
	o, err := k.tagged()
	if err != nil {
		return nil, err
	}
	o["tags"] = slices.DeleteFunc(slices.Clone(o.Strings("tags")), func(t string) bool { return t == k.arg("tag") })
	return nil, nil
}
