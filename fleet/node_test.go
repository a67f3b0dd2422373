package fleet_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

func TestNodeInSync(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
	pool := fleet.Pool{
		Name: "md-0", Role: fleet.RoleWorker, NodeLabels: map[string]string{"node-role.kubernetes.io/gpu": ""},
		Taints: []clusterv1.MachineTaint{
			{Key: "always", Effect: "NoSchedule", Propagation: "Always"},
			{Key: "once", Effect: "NoSchedule", Propagation: "OnInitialization"},
		},
	}
	cases := map[string]struct {
		reason string
		change func(n *fleet.Node)
		want   bool
	}{
		"in sync":        {"nothing differs", func(*fleet.Node) {}, true},
		"foreign label":  {"others label nodes too", func(n *fleet.Node) { n.Labels["x"] = "y" }, true},
		"foreign taint":  {"others taint nodes too", func(n *fleet.Node) { n.Taints = append(n.Taints, corev1.Taint{Key: "x", Effect: "NoExecute"}) }, true},
		"label missing":  {"the pool has it", func(n *fleet.Node) { clear(n.Labels) }, false},
		"label given up": {"it came from the pool", func(n *fleet.Node) { n.Annotations["cluster.x-k8s.io/labels-from-machine"] += ",old" }, false},
		"taint missing":  {"it is kept always", func(n *fleet.Node) { n.Taints = nil }, false},
		"taint of once":  {"it was taken off later", func(n *fleet.Node) {}, true},
		"uninitialized": {"the taint goes with the first sync", func(n *fleet.Node) {
			n.Taints = append(n.Taints, corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: "NoSchedule"})
		}, false},
		"outdated": {"it is not", func(n *fleet.Node) {
			n.Taints = append(n.Taints, corev1.Taint{Key: "node.cluster.x-k8s.io/outdated-revision", Effect: "PreferNoSchedule"})
		}, false},
		"another machine":     {"the annotation says whose node it is", func(n *fleet.Node) { n.Annotations["cluster.x-k8s.io/machine"] = "other" }, false},
		"node that was never": {"no annotations at all", func(n *fleet.Node) { clear(n.Annotations) }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := fleet.Node{
				Labels:      maps.Clone(pool.NodeLabels),
				Annotations: fleet.NodeAnnotations(c.Key, pool, "m"),
				Taints:      []corev1.Taint{{Key: "always", Effect: "NoSchedule"}},
			}
			tc.change(&n)
			if got := fleet.NodeInSync(c, pool, "m", n); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// A Node that Cluster API's controllers signed is in sync but for the signature;
// a label that differs still is a difference.
func TestSignedNode(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
	p := fleet.Pool{Name: "md", Role: fleet.RoleWorker, NodeLabels: map[string]string{"node-role.kubernetes.io/web": ""}}
	theirs := map[string]string{
		"cluster.x-k8s.io/cluster-name": "eu-1", "cluster.x-k8s.io/cluster-namespace": "prod", "cluster.x-k8s.io/machine": "m",
		"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "md-x7k2p",
		"cluster.x-k8s.io/labels-from-machine": "node-role.kubernetes.io/web",
	}
	n := fleet.Node{Name: "m", Annotations: theirs, Labels: map[string]string{"node-role.kubernetes.io/web": ""}}
	if fleet.NodeInSync(c, p, "m", n) || !fleet.NodeInSync(c, p, "m", fleet.SignedNode(c.Key, p, "m", n)) {
		t.Error("the signature of Cluster API's controllers is the only difference")
	}
	if theirs["cluster.x-k8s.io/owner-kind"] != "MachineSet" {
		t.Error("the Node itself was changed")
	}
	n.Labels = nil
	if fleet.NodeInSync(c, p, "m", fleet.SignedNode(c.Key, p, "m", n)) {
		t.Error("a label that is missing is a difference")
	}
	n.Annotations = maps.Clone(theirs)
	n.Annotations["cluster.x-k8s.io/owner-kind"] = "MachineDeployment"
	n.Annotations["cluster.x-k8s.io/owner-name"] = "other"
	n.Annotations["cluster.x-k8s.io/taints-from-machine"] = ""
	n.Labels = map[string]string{"node-role.kubernetes.io/web": ""}
	if fleet.NodeInSync(c, p, "m", fleet.SignedNode(c.Key, p, "m", n)) {
		t.Error("a Node that Fairlead signed for another pool is not in sync")
	}
}

// TestPoolOfNode: a Node says which machine of which pool is behind it, as Fairlead and as Cluster
// API write it.
func TestPoolOfNode(t *testing.T) {
	c := &fleet.Cluster{
		Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, ControlPlane: fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane},
		Workers: []fleet.Pool{
			{Name: "md-0", Role: fleet.RoleWorker},
			{Name: "md-0-x7k2p", Role: fleet.RoleWorker, Kind: fleet.LoneMachineSet},
			{Name: "alone", Role: fleet.RoleWorker, Kind: fleet.LoneMachine, Labels: map[string]string{"cluster.x-k8s.io/deployment-name": "md-9"}},
			{Name: "eu-1-cp-workers", Role: fleet.RoleWorker, Labels: map[string]string{"cluster.x-k8s.io/deployment-name": "eu-1-cp"}},
		},
	}
	for reason, tc := range map[string]struct {
		kind, name string
		want       fleet.PoolName
	}{
		"a server":             {"KubeadmControlPlane", "eu-1-cp", "eu-1-cp"},
		"a worker":             {"MachineDeployment", "md-0", "md-0"},
		"of Cluster API":       {"MachineSet", "md-0-abcde", "md-0"},
		"called as a server":   {"MachineSet", "eu-1-cp-abcde", "eu-1-cp-workers"},
		"a set called so":      {"MachineSet", "eu-1-cp", "eu-1-cp-workers"},
		"one of Fairlead's":    {"MachineDeployment", "eu-1-cp-workers", "eu-1-cp-workers"},
		"of a set alone":       {"MachineSet", "md-0-x7k2p", "md-0-x7k2p"},
		"of a machine alone":   {"", "", "alone"},
		"of a pool that left":  {"MachineDeployment", "md-9", ""},
		"of a set that left":   {"MachineSet", "md-9-abcde", ""},
		"of a set without end": {"MachineSet", "md", ""},
	} {
		n := &fleet.Node{Annotations: map[string]string{"cluster.x-k8s.io/machine": "alone", "cluster.x-k8s.io/cluster-name": "eu-1", "cluster.x-k8s.io/cluster-namespace": "prod"}}
		if tc.kind != "" {
			n.Annotations["cluster.x-k8s.io/owner-kind"], n.Annotations["cluster.x-k8s.io/owner-name"] = tc.kind, tc.name
		}
		if got, ok := c.PoolOfNode(n); got.Name != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %s, %t, want %q", reason, got.Name, ok, tc.want)
		}
		if !n.IsOf(c.Key) || n.IsOf(fleet.Key{Namespace: "prod", Name: "eu-2"}) || n.Machine() != "alone" {
			t.Errorf("%s: of eu-1 %t, of eu-2 %t, machine %s", reason, n.IsOf(c.Key), n.IsOf(fleet.Key{Namespace: "prod", Name: "eu-2"}), n.Machine())
		}
	}
}
