package openstacktest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of Nova.
const (
	Servers      Kind = "servers"
	ServerGroups Kind = "server-groups"
	Flavors      Kind = "flavors"
	Keypairs     Kind = "keypairs"
)

// The microversions of Nova, as of the release 2023.1.
const (
	novaMin = "2.1"
	novaMax = "2.95"
)

// zones are the availability zones of every region.
var zones = []string{"az1", "az2", "az3"} //nolint:gochecknoglobals // never changed

func (c *Cloud) computeService() *service {
	version := Object{"id": "v2.1", "status": "CURRENT", "version": novaMax, "min_version": novaMin, "updated": "2013-07-23T11:33:21Z", "links": []Object{}}
	s := &service{
		kind: "compute", name: "nova", prefix: "compute", version: "/v2.1", suffix: "/v2.1",
		refuse: novaError,
		stamp: func(o Object, now time.Time) {
			t := now.UTC().Format("2006-01-02T15:04:05Z")
			o["tenant_id"], o["created"], o["updated"] = o["project_id"], t, t
		},
	}
	for kind, one := range map[Kind]string{Servers: "server", ServerGroups: "server_group", Flavors: "flavor", Keypairs: "keypair"} {
		c.kinds[kind] = &spec{kind: kind, service: s, one: one, path: "/" + string(kind)}
	}
	s.routes = []route{
		{"GET", "/{$}", http.StatusOK, func(*call) (any, error) { return Object{"versions": []Object{version}}, nil }},
		{"GET", "/v2.1", http.StatusOK, func(*call) (any, error) { return Object{"version": version}, nil }},
		{"GET", "/v2.1/{$}", http.StatusOK, func(*call) (any, error) { return Object{"version": version}, nil }},

		{"GET", "/v2.1/servers", http.StatusOK, listServers},
		{"GET", "/v2.1/servers/detail", http.StatusOK, listServers},
		{"POST", "/v2.1/servers", http.StatusAccepted, createServer},
		{"GET", "/v2.1/servers/{id}", http.StatusOK, getServer},
		{"PUT", "/v2.1/servers/{id}", http.StatusOK, updateServer},
		{"DELETE", "/v2.1/servers/{id}", http.StatusNoContent, deleteServer},
		{"POST", "/v2.1/servers/{id}/metadata", http.StatusOK, updateMetadata},
		{"PUT", "/v2.1/servers/{id}/metadata", http.StatusOK, resetMetadata},
		{"DELETE", "/v2.1/servers/{id}/metadata/{key}", http.StatusNoContent, deleteMetadata},
		{"PUT", "/v2.1/servers/{id}/tags", http.StatusOK, replaceServerTags},
		{"POST", "/v2.1/servers/{id}/action", http.StatusAccepted, serverAction},
		{"GET", "/v2.1/servers/{id}/os-interface", http.StatusOK, listInterfaces},
		{"POST", "/v2.1/servers/{id}/os-interface", http.StatusOK, attachInterface},
		{"DELETE", "/v2.1/servers/{id}/os-interface/{port}", http.StatusAccepted, detachInterface},
		{"GET", "/v2.1/servers/{id}/os-volume_attachments", http.StatusOK, listAttachments},
		{"POST", "/v2.1/servers/{id}/os-volume_attachments", http.StatusOK, attachVolume},
		{"DELETE", "/v2.1/servers/{id}/os-volume_attachments/{volume}", http.StatusAccepted, detachVolume},

		{"GET", "/v2.1/os-availability-zone", http.StatusOK, listZones},
		{"GET", "/v2.1/flavors", http.StatusOK, listFlavors},
		{"GET", "/v2.1/flavors/detail", http.StatusOK, listFlavors},
		{"GET", "/v2.1/flavors/{id}", http.StatusOK, getFlavor},
		{"GET", "/v2.1/os-keypairs", http.StatusOK, listKeypairs},
		{"GET", "/v2.1/os-keypairs/{id}", http.StatusOK, getKeypair},
		{"GET", "/v2.1/os-server-groups", http.StatusOK, listServerGroups},
		{"POST", "/v2.1/os-server-groups", http.StatusOK, createServerGroup},
		{"GET", "/v2.1/os-server-groups/{id}", http.StatusOK, getServerGroup},
		{"DELETE", "/v2.1/os-server-groups/{id}", http.StatusNoContent, deleteServerGroup},
		{"GET", "/v2.1/limits", http.StatusOK, getLimits},
	}
	return s
}

// novaNames are the keys of Nova's and Cinder's errors.
func novaError(e *apiError) Object {
	name := map[int]string{
		http.StatusBadRequest: "badRequest", http.StatusForbidden: "forbidden", http.StatusNotFound: "itemNotFound",
		http.StatusConflict: "conflictingRequest", http.StatusRequestEntityTooLarge: "overLimit", http.StatusTooManyRequests: "overLimit",
	}[e.status]
	if name == "" {
		name = "computeFault"
	}
	return Object{name: Object{"code": e.status, "message": e.message}}
}

// negotiate reads the microversion that a request asks for.
func (k *call) negotiate() error {
	if k.s.kind != "compute" {
		return nil
	}
	asked := strings.TrimPrefix(k.req.Header.Get("Openstack-Api-Version"), "compute ")
	if asked == "" {
		asked = k.req.Header.Get("X-Openstack-Nova-Api-Version")
	}
	switch asked {
	case "":
		asked = novaMin
	case "latest":
		asked = novaMax
	}
	major, minor, _ := strings.Cut(asked, ".")
	n, err := strconv.Atoi(minor)
	_, highest, _ := strings.Cut(novaMax, ".")
	if limit, _ := strconv.Atoi(highest); err != nil || major != "2" || n < 1 || n > limit {
		return refuse(http.StatusNotAcceptable, "", "Version %s is not supported by the API. Minimum is %s and maximum is %s.", asked, novaMin, novaMax)
	}
	k.minor = n
	k.header.Set("Openstack-Api-Version", "compute "+asked)
	return nil
}

func listZones(*call) (any, error) {
	var out []Object
	for _, z := range zones {
		out = append(out, Object{"zoneName": z, "zoneState": Object{"available": true}, "hosts": nil})
	}
	return Object{"availabilityZoneInfo": out}, nil
}

func listFlavors(k *call) (any, error) {
	page, next, ok := k.page(k.r.tables[Flavors].all(func(Object) bool { return true }), "id")
	if !ok {
		return nil, refuse(http.StatusBadRequest, "", "marker [%s] not found", k.query.Get("marker"))
	}
	return k.listing("flavors", page, next), nil
}

func getFlavor(k *call) (any, error) {
	f := k.r.tables[Flavors].get(k.arg("id"))
	if f == nil {
		return nil, refuse(http.StatusNotFound, "", "Flavor %s could not be found.", k.arg("id"))
	}
	return Object{"flavor": f}, nil
}

func listKeypairs(k *call) (any, error) {
	out := []Object{}
	for _, p := range k.r.tables[Keypairs].where("user_id", k.user.id) {
		out = append(out, Object{"keypair": p})
	}
	return Object{"keypairs": out}, nil
}

func (k *call) keypair(name string) Object {
	for _, p := range k.r.tables[Keypairs].where("user_id", k.user.id) {
		if p.String("name") == name {
			return p
		}
	}
	return nil
}

func getKeypair(k *call) (any, error) {
	p := k.keypair(k.arg("id"))
	if p == nil {
		return nil, refuse(http.StatusNotFound, "", "Keypair %s not found for user %s", k.arg("id"), k.user.id)
	}
	return Object{"keypair": p}, nil
}

// groupView shows a group as the microversion asks for.
func (k *call) groupView(g Object) Object {
	if k.minor >= 64 {
		return g.without("policies", "metadata")
	}
	return g.without("policy", "rules")
}

func listServerGroups(k *call) (any, error) {
	out := []Object{}
	for _, g := range k.visible(ServerGroups) {
		if g.String("project_id") == k.project || k.query.Has("all_projects") && k.admin() {
			out = append(out, k.groupView(g))
		}
	}
	return Object{"server_groups": out}, nil
}

func createServerGroup(k *call) (any, error) {
	in := k.body.Object("server_group")
	policy := in.String("policy")
	if k.minor < 64 && len(in.Strings("policies")) > 0 {
		policy = in.Strings("policies")[0]
	}
	if !slices.Contains([]string{"affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"}, policy) {
		return nil, refuse(http.StatusBadRequest, "", "Invalid input for field/attribute policy. Value: %s.", policy)
	}
	if limit, ok := k.r.quota(k.project, "server_groups"); ok && len(k.mine(ServerGroups)) >= limit {
		return nil, refuse(http.StatusForbidden, "", "Quota exceeded, too many server groups.")
	}
	id := k.put(k.r, ServerGroups, k.project, Object{
		"name": in["name"], "policy": policy, "policies": []string{policy}, "rules": Object{}, "metadata": Object{}, "members": []string{}, "user_id": k.user.id,
	})
	return Object{"server_group": k.groupView(k.find(ServerGroups, id))}, nil
}

func getServerGroup(k *call) (any, error) {
	g := k.find(ServerGroups, k.arg("id"))
	if g == nil {
		return nil, refuse(http.StatusNotFound, "", "Instance group %s could not be found.", k.arg("id"))
	}
	return Object{"server_group": k.groupView(g)}, nil
}

func deleteServerGroup(k *call) (any, error) {
	g := k.find(ServerGroups, k.arg("id"))
	if g == nil {
		return nil, refuse(http.StatusNotFound, "", "Instance group %s could not be found.", k.arg("id"))
	}
	k.drop(ServerGroups, g.ID())
	return nil, nil
}

func getLimits(k *call) (any, error) {
	used := k.used()
	absolute := Object{"totalInstancesUsed": used["instances"], "totalCoresUsed": used["cores"], "totalRAMUsed": used["ram"]}
	for resource, name := range map[string]string{"instances": "maxTotalInstances", "cores": "maxTotalCores", "ram": "maxTotalRAMSize"} {
		absolute[name] = -1
		if limit, ok := k.r.quota(k.project, resource); ok {
			absolute[name] = limit
		}
	}
	return Object{"limits": Object{"rate": []any{}, "absolute": absolute}}, nil
}

// host finds a hypervisor for a server of a zone: with strict anti-affinity one
// that no member of the group is on. ok is false where there is none.
func (k *call) host(zone string, group Object) (chosen, chosenZone string, ok bool) {
	taken := map[string]int{}
	for _, s := range k.r.tables[Servers].all(func(Object) bool { return true }) {
		if group != nil && slices.Contains(group.Strings("members"), s.ID()) {
			taken[s.String("OS-EXT-SRV-ATTR:host")]++
		}
	}
	var names, in []string
	for _, z := range zones {
		for i := range k.options.Hosts {
			if zone == "" || z == zone {
				names, in = append(names, fmt.Sprintf("%s-host-%d", z, i)), append(in, z)
			}
		}
	}
	best := -1
	for i, h := range names {
		if best < 0 || taken[h] < taken[names[best]] {
			best = i
		}
	}
	if best < 0 || group.String("policy") == "anti-affinity" && taken[names[best]] > 0 {
		return "", "", false
	}
	return names[best], in[best], true
}
