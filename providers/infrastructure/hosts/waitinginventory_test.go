package hosts

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

func listed(t *testing.T, kind, name string, spec any, secret bool) fleet.Object {
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	o := fleet.Object{GVK: schema.GroupVersionKind{Kind: kind}, Namespace: "prod", Name: name, Spec: data}
	if secret {
		o.Stored = []fleet.Key{{Namespace: "prod", Name: "ssh"}}
	}
	return o
}

// TestInventoryWhileAChangeWaits: a HostPool and the Hosts that belong to it come together.
func TestInventoryWhileAChangeWaits(t *testing.T) {
	pool := func(names ...string) fleet.Object {
		s := api.HostPoolSpec{}
		for _, n := range names {
			var h api.PoolHost
			h.Name, h.Address = n, "10.0.0."+n[1:]
			s.Hosts = append(s.Hosts, h)
		}
		return listed(t, "HostPool", "hall", s, true)
	}
	host := func(n string) fleet.Object {
		s := api.HostSpec{PoolName: "hall"}
		s.Address = "10.0.0." + n[1:]
		return listed(t, "Host", n, s, false)
	}
	list := func(name string, c *fleet.Cluster) {
		hosts, err := inventory(c)
		var out []string
		for _, h := range hosts {
			out = append(out, h.String())
		}
		if err != nil || len(out) != 4 {
			t.Errorf("%s: %v %v", name, out, err)
		}
	}
	inline := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "c"}, Companions: []fleet.Object{pool("h1", "h2", "h3", "h4")}}
	objects := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "c"}, Companions: []fleet.Object{host("h3"), host("h4"), pool("h1", "h2")}}
	list("inline", inline)
	list("objects", objects)
	list("inline, objects wait", inline.WhileWaiting(objects))
	list("objects, inline waits", objects.WhileWaiting(inline))
}
