package openstacktest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A shape has the types of what is at each path of a body: "server.id" is a string.
// What is in lists is at a path with "[]". Maps whose keys are data have no path below
// theirs.
type shape map[string][]string

// freely are the last names of paths to maps whose keys are what people choose.
var freely = []string{"metadata", "addresses", "binding:profile", "binding:vif_details", "volume_image_metadata", "extra_specs", "insert_headers", "rules"}

// shapeOf returns the shape of a body of JSON.
func shapeOf(body string) shape {
	out := make(shape)
	if strings.TrimSpace(body) == "" {
		return out
	}
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		out[""] = []string{"no JSON"}
		return out
	}
	out.add("", v)
	return out
}

func (s shape) add(path string, v any) {
	note := func(kind string) {
		if !slices.Contains(s[path], kind) {
			s[path] = append(s[path], kind)
			slices.Sort(s[path])
		}
	}
	switch v := v.(type) {
	case nil:
		note("null")
	case bool:
		note("bool")
	case float64:
		note("number")
	case string:
		note("string")
	case []any:
		note("list")
		for _, e := range v {
			s.add(path+"[]", e)
		}
	case map[string]any:
		note("object")
		if slices.Contains(freely, path[strings.LastIndexByte(path, '.')+1:]) {
			return
		}
		for k, e := range v {
			s.add(strings.TrimPrefix(path+"."+k, "."), e)
		}
	}
}

// differences says how the shape of the fake's body differs from the lab's, sorted. Null
// says nothing of a type, and an empty list nothing of what is in it. The lab may have
// keys that the fake lacks where nobody reads them: see unread.
func differences(fake, lab shape) []string {
	var out []string
	for path := range maps.Keys(union(fake, lab)) {
		a, b := fake[path], lab[path]
		switch {
		case a == nil && (below(path, fake) || isUnread(path) || slices.Contains(twice, path)), b == nil && (below(path, lab) || isUnloaded(path)):
		case a == nil:
			out = append(out, fmt.Sprintf("the fake has no %s, which is %s", path, strings.Join(b, " or ")))
		case b == nil:
			out = append(out, fmt.Sprintf("the lab has no %s, which the fake says is %s", path, strings.Join(a, " or ")))
		case !slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) || k == "null" }) && !slices.Equal(b, []string{"null"}):
			out = append(out, fmt.Sprintf("%s is %s in the fake and %s in the lab", path, strings.Join(a, " or "), strings.Join(b, " or ")))
		}
	}
	slices.Sort(out)
	return out
}

// below reports whether path is inside something of which one side says nothing.
func below(path string, of shape) bool {
	for up := parent(path); up != ""; up = parent(up) {
		if kinds := of[up]; kinds != nil {
			return slices.Equal(kinds, []string{"null"}) || slices.Contains(kinds, "list") && strings.HasPrefix(path, up+"[]")
		}
	}
	return false
}

func parent(path string) string {
	if p, ok := strings.CutSuffix(path, "[]"); ok {
		return p
	}
	return path[:max(strings.LastIndexByte(path, '.'), 0)]
}

func isUnread(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "."), func(name string) bool {
		return slices.Contains(unread, strings.TrimSuffix(name, "[]"))
	})
}

// twice are keys that say again what another key of the same thing says.
var twice = []string{
	"loadbalancer.tenant_id", "listener.tenant_id", "pool.tenant_id", "member.tenant_id", "healthmonitor.tenant_id", "server.flavor.swap",
}

func isUnloaded(path string) bool {
	return slices.ContainsFunc(unloaded, func(u string) bool {
		return path == u || strings.HasPrefix(path, "statuses.loadbalancer.pools") || u != "tags" && strings.HasSuffix(path, "."+u)
	})
}

func union(a, b shape) map[string]bool {
	out := make(map[string]bool)
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

// unread are keys that nothing in Fairlead reads, and that differ from release to
// release.
var unread = []string{
	"links", "hostId", "accessIPv4", "accessIPv6", "host_status", "trusted_image_certificates", "group_id", "provider_id", "shared_targets", "service_uuid", "cluster_name", "consumes_quota", "volume_type_id", "migration_status", "consistencygroup_id", "qos_network_policy_id", "resource_request", "l2_adjacency", "ha", "distributed", "availability_zone_hints", "availability_zones", "vip_vnic_type", "alpn_protocols", "tls_ciphers", "tls_versions", "hsts_max_age", "hsts_preload", "hsts_include_subdomains",
	"ipv4_address_scope", "ipv6_address_scope", "port_details", "normalized_cidr", "standard_attr_id",
	"file", "self", "stores", "virtual_size", "os_hash_algo", "os_hash_value", "owner_specified",
	"OS-EXT-SRV-ATTR:hostname", "ephemeral", "extra_specs", "locked_reason", "delete_on_termination",
	"client_authentication", "client_ca_tls_container_ref", "client_crl_container_ref", "default_tls_container_ref",
	"sni_container_refs", "ca_tls_container_ref", "crl_container_ref", "tls_container_ref",
}

// unloaded are keys of extensions that the lab does not load, and some that services
// show in other answers alone. Nothing in Fairlead reads them.
var unloaded = []string{
	"dns_domain", "dns_name", "dns_publish_fixed_ip", "qos_policy_id", "propagate_uplink_status", "prefixlen", "segment_id",
	"distributed", "ha", "os-vol-tenant-attr:tenant_id", "flavors[].created", "flavors[].updated", "flavors[].tenant_id",
	"flavors[].project_id", "security_group_rule.tags", "tags", "pool.healthmonitor_id",
}

func TestShapes(t *testing.T) {
	for reason, tc := range map[string]struct {
		fake, lab string
		want      []string
	}{
		"the same":                  {`{"a":{"b":1,"c":["x"]}}`, `{"a":{"b":2,"c":["y","z"]}}`, nil},
		"nothing":                   {``, ``, nil},
		"a key too few":             {`{"a":{}}`, `{"a":{"b":true}}`, []string{"the fake has no a.b, which is bool"}},
		"a key too many":            {`{"a":{"b":true}}`, `{"a":{}}`, []string{"the lab has no a.b, which the fake says is bool"}},
		"another type":              {`{"a":"1"}`, `{"a":1}`, []string{"a is string in the fake and number in the lab"}},
		"an object for a text":      {`{"image":""}`, `{"image":{"id":"x"}}`, []string{"image is string in the fake and object in the lab", "the fake has no image.id, which is string"}},
		"null is of any type":       {`{"a":null,"b":"x"}`, `{"a":"x","b":null}`, nil},
		"null is no lacking key":    {`{}`, `{"a":null}`, []string{"the fake has no a, which is null"}},
		"an object that is null":    {`{"a":null}`, `{"a":{"b":1}}`, nil},
		"an empty list":             {`{"a":[]}`, `{"a":[{"b":1}]}`, nil},
		"lists of different things": {`{"a":[{"b":1}]}`, `{"a":[{"c":1}]}`, []string{"the fake has no a[].c, which is number", "the lab has no a[].b, which the fake says is number"}},
		"what people choose":        {`{"server":{"metadata":{"x":"1"}}}`, `{"server":{"metadata":{"y":"1"}}}`, nil},
		"what nobody reads":         {`{"server":{}}`, `{"server":{"links":[{"href":"x"}]}}`, nil},
		"no JSON":                   {`{"a":1}`, `<html>`, []string{"the fake has no , which is no JSON"}},
	} {
		got := differences(shapeOf(tc.fake), shapeOf(tc.lab))
		if reason == "no JSON" {
			if len(got) == 0 {
				t.Errorf("%s: no difference", reason)
			}
			continue
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", reason, d)
		}
	}
}
