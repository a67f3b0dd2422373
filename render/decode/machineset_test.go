package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// asMachineSet turns the MachineDeployment of manifests into a MachineSet.
func asMachineSet(t *testing.T, manifests string, pairs ...string) string {
	t.Helper()
	return replaced(t, manifests, append(pairs, "kind: MachineDeployment", "kind: MachineSet")...)
}

// TestMachineSet decodes MachineSets that stand alone: their machines are made
// from the same content as those of a MachineDeployment, and never replaced.
func TestMachineSet(t *testing.T) {
	deployment := mustDecode(t, newest).Workers[0]
	for name, manifests := range map[string]string{
		"v1beta2": asMachineSet(t, newest, "  rollout:\n    strategy:\n      rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}\n", "  deletion: {order: Oldest}\n"),
		"v1beta1": asMachineSet(t, older, "  strategy:\n    rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}\n", "  deletePolicy: Oldest\n"),
	} {
		t.Run(name, func(t *testing.T) {
			got := mustDecode(t, manifests).Workers[0]
			want := deployment
			want.Kind, want.Strategy, want.DeletionOrder, want.MaxSurge, want.MaxUnavailable = "MachineSet", fleet.OnDelete, fleet.DeleteOldest, 0, 0
			want.Labels = map[string]string{
				"cluster.x-k8s.io/cluster-name": "eu", "cluster.x-k8s.io/deployment-name": "eu-md-0", "cluster.x-k8s.io/set-name": "eu-md-0",
				"node-role.kubernetes.io/worker": "", "tier": "web",
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	t.Run("same name", func(t *testing.T) {
		set := "\n---\n" + asMachineSet(t, newest[strings.Index(newest, "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment"):strings.Index(newest, "---\napiVersion: bootstrap")],
			"  rollout:\n    strategy:\n      rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}\n", "")
		clusters, problems := decodeAll(newest + set)
		if len(clusters) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Message, "both called") {
			t.Errorf("%d clusters with %v; want one problem", len(clusters), problems)
		}
	})
}

// TestCalledAsControlPlane: a MachineDeployment, or a MachineSet that stands alone, may be called as
// the control plane is. Its pool is called otherwise, and selectors find its machines by what Git
// calls it.
func TestCalledAsControlPlane(t *testing.T) {
	called := replaced(t, newest, "metadata: {name: eu-md-0, namespace: prod}", "metadata: {name: eu-cp, namespace: prod}")
	for name, manifests := range map[string]string{
		"MachineDeployment": called,
		"MachineSet":        asMachineSet(t, called, "  rollout:\n    strategy:\n      rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			c := mustDecode(t, manifests)
			got, ok := c.Pool("eu-cp-workers")
			if first, _ := c.Pool("eu-cp"); !ok || first.Role != fleet.RoleControlPlane || got.Role != fleet.RoleWorker {
				t.Fatalf("the pools are %v", c.Pools())
			}
			if of, _ := c.WorkersOf("eu-cp"); of.Name != got.Name {
				t.Errorf("the pool of eu-cp is %q", of.Name)
			}
			if label := c.MachineLabels(&got)["cluster.x-k8s.io/deployment-name"]; label != "eu-cp" {
				t.Errorf("its machines are of %q for selectors", label)
			}
			like := mustDecode(t, newest).Workers[0]
			if got.Template != like.Template {
				t.Errorf("its machines are made of %s, and of %s where it has a name of its own", got.Template, like.Template)
			}
		})
	}
	t.Run("both names", func(t *testing.T) {
		second := "\n---\n" + replaced(t, newest[strings.Index(newest, "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment"):strings.Index(newest, "---\napiVersion: bootstrap")],
			"name: eu-md-0", "name: eu-cp-workers")
		clusters, problems := decodeAll(called + second)
		if len(clusters) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Message, `both called "eu-cp-workers"`) {
			t.Errorf("%d clusters with %v; want one problem", len(clusters), problems)
		}
	})
	t.Run("no room for another name", func(t *testing.T) {
		long := strings.Repeat("x", 56)
		clusters, problems := decodeAll(strings.NewReplacer("eu-cp", long, "eu-md-0", long).Replace(newest))
		if len(clusters) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Message, "are both called") {
			t.Errorf("%d clusters with %v; want one problem", len(clusters), problems)
		}
	})
}

// TestReadinessGates takes them over for machines of all kinds.
func TestReadinessGates(t *testing.T) {
	const gate = "readinessGates: [{conditionType: example.com/storage}, {conditionType: Stuck, polarity: Negative}]"
	c := mustDecode(t, replaced(t, newest,
		"      deletion: {nodeDrainTimeoutSeconds: 10}", "      "+gate,
		"      failureDomain: a", "      "+gate))
	for _, p := range c.Pools() {
		if len(p.ReadinessGates) != 2 || p.ReadinessGates[1].Polarity != "Negative" {
			t.Errorf("gates of %s: %v", p.Name, p.ReadinessGates)
		}
	}
}
