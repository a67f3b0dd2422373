package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// A networkDecoder gives the clusters of a fakeDecoder networks, by their names.
type networkDecoder struct {
	fakeDecoder
	of map[string]fleet.Cluster
}

func (d networkDecoder) Decode(overlay string, objects []render.Object, libraries ...topology.Library) ([]fleet.Cluster, []fleet.Problem) {
	clusters, problems := d.fakeDecoder.Decode(overlay, objects, libraries...)
	for i := range clusters {
		c := d.of[clusters[i].Key.Name]
		c.Key, c.Digest = clusters[i].Key, clusters[i].Digest
		clusters[i] = c
	}
	return clusters, problems
}

// networked is a cluster with these ranges.
func networked(host string, port int32, pods, services string, objects ...fleet.Object) fleet.Cluster {
	c := fleet.Cluster{Endpoint: fleet.Endpoint{Host: host, Port: port}, Companions: objects}
	if pods != "" {
		c.Network.Pods = clusterv1.NetworkRanges{CIDRBlocks: strings.Split(pods, ",")}
	}
	if services != "" {
		c.Network.Services = clusterv1.NetworkRanges{CIDRBlocks: strings.Split(services, ",")}
	}
	return c
}

// addressesOf is an object that names addresses of machines: a pool.
func addressesOf(name string, list ...string) fleet.Object {
	return fleet.Object{GVK: schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool"}, Namespace: "team", Name: name, Networks: list}
}

// hostAt is an object that names the addresses of hosts.
func hostAt(list ...string) fleet.Object {
	return fleet.Object{GVK: schema.GroupVersionKind{Group: "fairlead.dev", Kind: "HostPool"}, Namespace: "team", Name: "hall", Networks: list}
}

func going(c fleet.Cluster) fleet.Cluster { c.Delete = true; return c }

// TestNetworks: what Git says of addresses is held against each other. What cannot work is refused,
// what may not is told, and the deletion of a cluster is neither.
func TestNetworks(t *testing.T) {
	const pods, services = "192.168.0.0/16", "10.128.0.0/12"
	for reason, tc := range map[string]struct {
		of       []fleet.Cluster // a, b, …
		clusters []string
		problems []string // words of each
		warnings []string
	}{
		"nothing wrong": {
			[]fleet.Cluster{networked("10.0.0.1", 6443, pods, services, addressesOf("p", "10.0.0.10-10.0.0.20")), networked("10.0.0.2", 6443, pods, services, addressesOf("q", "10.0.0.21-10.0.0.30"))},
			[]string{"team/a", "team/b"},
			nil, nil,
		},
		"services within pods": {
			[]fleet.Cluster{networked("", 0, pods, "192.168.128.0/17")}, nil, []string{"pods 192.168.0.0/16 and services 192.168.128.0/17 overlap"}, nil,
		},
		"of the second family": {
			[]fleet.Cluster{networked("", 0, pods+",fd00::/48", services+",fd00:0:0:1::/112")}, nil, []string{"pods fd00::/48 and services fd00:0:0:1::/112 overlap"}, nil,
		},
		"an endpoint within pods": {
			[]fleet.Cluster{networked("192.168.7.10", 6443, pods, services)}, nil, []string{"the endpoint 192.168.7.10 and pods 192.168.0.0/16 overlap"}, nil,
		},
		"an endpoint within services": {
			[]fleet.Cluster{networked("10.128.0.10", 6443, pods, services)}, nil, []string{"the endpoint 10.128.0.10 and services 10.128.0.0/12 overlap"}, nil,
		},
		"machines within pods": {
			[]fleet.Cluster{networked("10.0.0.1", 6443, pods, services, addressesOf("p", "192.168.3.10-192.168.3.20"), addressesOf("q", "10.6.0.0/24"))},
			[]string{"team/a"},
			nil,
			[]string{"addresses of machines (InClusterIPPool p: 192.168.3.10-192.168.3.20) and pods 192.168.0.0/16 overlap"},
		},
		"pools that overlap": {
			[]fleet.Cluster{networked("", 0, "", "", addressesOf("p", "10.0.0.10-10.0.0.20")), networked("", 0, "", "", addressesOf("q", "10.0.0.1", "10.0.0.20-10.0.0.30"))},
			[]string{"team/a", "team/b"},
			nil,
			[]string{"InClusterIPPool team/p and InClusterIPPool team/q overlap"},
		},
		"one pool of two clusters": {
			[]fleet.Cluster{networked("", 0, "", "", addressesOf("p", "10.0.0.10-10.0.0.20")), networked("", 0, "", "", addressesOf("p", "10.0.0.10-10.0.0.20"))},
			[]string{"team/a", "team/b"},
			nil, nil,
		},
		"one endpoint of two clusters": {
			[]fleet.Cluster{networked("10.0.0.1", 0, "", ""), networked("10.0.0.1", 6443, "", ""), networked("10.0.0.1", 7443, "", "")},
			[]string{"team/c"},
			[]string{"its endpoint is that of cluster team/b as well", "its endpoint is that of cluster team/a as well"},
			nil,
		},
		"one name of two clusters": {
			[]fleet.Cluster{networked("api.example.com", 6443, "", ""), networked("API.example.com.", 6443, "", ""), networked("api.b.example.com", 6443, "", "")},
			[]string{"team/c"},
			[]string{"team/b as well", "team/a as well"},
			nil,
		},
		"an endpoint of its own host": {
			[]fleet.Cluster{networked("10.0.0.5", 6443, "", "", hostAt("10.0.0.5")), networked("10.0.0.6", 6443, "", "", hostAt("10.0.0.5"))},
			[]string{"team/a", "team/b"},
			nil, nil,
		},
		"an endpoint of a host of another cluster": {
			[]fleet.Cluster{networked("10.0.0.6", 6443, "", "", hostAt("10.0.0.5")), networked("10.0.0.5", 6443, "", "")},
			[]string{"team/a", "team/b"},
			nil,
			[]string{"its endpoint is the address of a host of HostPool team/hall, which cluster team/a has"},
		},
		"one of the two is to go": {
			[]fleet.Cluster{going(networked("10.0.0.1", 6443, pods, pods)), networked("10.0.0.1", 6443, "", "")},
			[]string{"team/a"},
			[]string{"its endpoint is that of cluster team/a as well"},
			nil,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			d, archive := networkDecoder{of: make(map[string]fleet.Cluster)}, ""
			for i, c := range tc.of {
				name := string(rune('a' + i))
				d.of[name] = c
				archive += fmt.Sprintf("-- clusters/%s/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/%[1]s/c.yaml --\n%s", name, clusterYAML("team", name))
			}
			f, err := render.New(render.Options{Decoder: d, FleetID: "f"}).Render(t.Context(), fleet.Revision{}, tree(archive))
			if err != nil {
				t.Fatal(err)
			}
			var clusters []string
			for _, c := range f.Clusters {
				clusters = append(clusters, c.Key.String())
			}
			if diff := cmp.Diff(tc.clusters, clusters); diff != "" {
				t.Errorf("clusters: -want, +got:\n%s", diff)
			}
			for what, lists := range map[string]struct {
				want []string
				got  []fleet.Problem
			}{"problems": {tc.problems, f.Problems}, "warnings": {tc.warnings, f.Warnings}} {
				if !slices.EqualFunc(lists.want, lists.got, func(words string, p fleet.Problem) bool {
					return strings.Contains(p.Message, words) && p.File != "" && p.Cluster.Name != "" && p.Hint != ""
				}) {
					t.Errorf("%s: %+v, want %q", what, lists.got, lists.want)
				}
			}
		})
	}
}
