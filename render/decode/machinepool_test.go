package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render/decode"
)

// poolOverlay has a cluster with a control plane and a pool that the cloud keeps.
const poolOverlay = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu, namespace: prod}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: eu}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: eu, namespace: prod}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-cp, namespace: prod}
spec:
  replicas: 1
  version: v1.34.1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: eu-cp}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: eu-cp, namespace: prod}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
`

const pool = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: eu-mp, namespace: prod, annotations: {}}
spec:
  clusterName: eu
  replicas: 3
  failureDomains: [a, b]
  template:
    metadata: {labels: {node-role.kubernetes.io/web: "", team: web}}
    spec:
      clusterName: eu
      bootstrap: {dataSecretName: ""}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachinePool, name: eu-mp}
      version: v1.34.0
      minReadySeconds: 10
      taints: [{key: web, value: "yes", effect: NoSchedule, propagation: Always}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePool
metadata: {name: eu-mp, namespace: prod}
spec: {backend: {inMemory: {instanceType: large}}}
`

// TestMachinePool: a MachinePool becomes a pool that the cloud keeps, and no pool of machines.
func TestMachinePool(t *testing.T) {
	t.Parallel()
	older := strings.NewReplacer(
		"apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachinePool", "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool",
		"{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachinePool", "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachinePool",
		"      minReadySeconds: 10\n", "", "  replicas: 3\n", "  replicas: 3\n  minReadySeconds: 10\n",
	).Replace(pool)
	managed := strings.NewReplacer("annotations: {}", `annotations: {cluster.x-k8s.io/replicas-managed-by: external-autoscaler,
  cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "2", cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "5"}`)
	for name, tc := range map[string]struct {
		reason string
		in     string
		change func(*fleet.KeptPool)
	}{
		"whole":   {"each field is honoured", pool, func(*fleet.KeptPool) {}},
		"v1beta1": {"the older version says the same", older, func(*fleet.KeptPool) {}},
		"version by default": {
			"a pool without a version follows the control plane", strings.Replace(pool, "      version: v1.34.0\n", "", 1),
			func(p *fleet.KeptPool) { p.Version = "v1.34.1" },
		},
		"range": {
			"the cloud decides, between bounds", managed.Replace(pool),
			func(p *fleet.KeptPool) { p.Range = &fleet.PoolRange{Min: 2, Max: 5} },
		},
		"range without a number": {
			"a new pool begins with the least", strings.Replace(managed.Replace(pool), "  replicas: 3\n", "", 1),
			func(p *fleet.KeptPool) { p.Range, p.Count = &fleet.PoolRange{Min: 2, Max: 5}, 2 },
		},
		"number above the range": {
			"a new pool is within the bounds", strings.Replace(managed.Replace(pool), "replicas: 3", "replicas: 9", 1),
			func(p *fleet.KeptPool) { p.Range, p.Count = &fleet.PoolRange{Min: 2, Max: 5}, 5 },
		},
		"no number": {"the default is one machine", strings.Replace(pool, "  replicas: 3\n", "", 1), func(p *fleet.KeptPool) { p.Count = 1 }},
		"paused": {
			"a paused pool does not change", strings.Replace(pool, "annotations: {}", `annotations: {cluster.x-k8s.io/paused: ""}`, 1),
			func(p *fleet.KeptPool) { p.Paused = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := decodePool(t, tc.in)
			want := fleet.KeptPool{
				Name: "eu-mp", Count: 3, Version: "v1.34.0", FailureDomains: []string{"a", "b"}, MinReadySeconds: 10,
				NodeLabels: map[string]string{"node-role.kubernetes.io/web": ""},
				Taints:     []clusterv1.MachineTaint{{Key: "web", Value: "yes", Effect: "NoSchedule", Propagation: "Always"}},
			}
			tc.change(&want)
			got := c.KeptPools[0]
			if spec := string(got.Infrastructure.Spec); got.Infrastructure.GVK.Kind != "DevMachinePool" || spec != `{"backend":{"inMemory":{"instanceType":"large"}}}` {
				t.Errorf("%s: infrastructure %s %s", tc.reason, got.Infrastructure.GVK.Kind, spec)
			}
			got.Infrastructure = fleet.Object{}
			if d := cmp.Diff(want, got); d != "" || len(c.KeptPools) != 1 || len(c.Workers) != 0 {
				t.Errorf("%s (-want +got):\n%s and %d pools of machines", tc.reason, d, len(c.Workers))
			}
		})
	}
}

func decodePool(t *testing.T, in string) fleet.Cluster {
	t.Helper()
	f, problems := decode.New("f", inmemory.Kinds()).Decode("prod", objects(poolOverlay+in))
	if len(problems) > 0 || len(f) != 1 {
		t.Fatalf("%d clusters, problems %v", len(f), problems)
	}
	return f[0]
}

// TestMachinePoolRefused: what no cloud can keep is refused with the field and what to do.
func TestMachinePoolRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		old, with string
		want      string // field, message and hint have each of its words
	}{
		"machine template":          {"kind: DevMachinePool, name: eu-mp", "kind: DevMachineTemplate, name: eu-cp", "spec.template.spec.infrastructureRef|must refer to an InfrastructureMachinePool of a provider, not to DevMachineTemplate|use a MachineDeployment"},
		"bootstrap":                 {`bootstrap: {dataSecretName: ""}`, "bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: x}}", "spec.template.spec.bootstrap.configRef|the cloud sets up the machines by itself"},
		"data":                      {`dataSecretName: ""`, "dataSecretName: data", "spec.template.spec.bootstrap.dataSecretName|set it to the empty name"},
		"domain of a machine":       {"minReadySeconds: 10", "failureDomain: a", "spec.template.spec.failureDomain|use spec.failureDomains"},
		"drain timeout":             {"minReadySeconds: 10", "deletion: {nodeDrainTimeoutSeconds: 10}", "spec.template.spec.deletion.nodeDrainTimeoutSeconds|with time limits of its own"},
		"readiness gates":           {"minReadySeconds: 10", "readinessGates: [{conditionType: a}]", "spec.template.spec.readinessGates|leave them out"},
		"newer version":             {"version: v1.34.0", "version: v1.35.0", "spec.template.spec.version|must not be newer than the control plane, which has v1.34.1"},
		"older version":             {"version: v1.34.0", "version: v1.30.0", "spec.template.spec.version|must be within 3 minor versions"},
		"no version":                {"version: v1.34.0", "version: newest", "spec.template.spec.version|must be a version of Kubernetes"},
		"taint":                     {"key: web,", "key: node-role.kubernetes.io/control-plane,", "spec.template.spec.taints[0].key|is for control-plane machines"},
		"no bounds":                 {"annotations: {}", `annotations: {cluster.x-k8s.io/replicas-managed-by: cloud}`, "metadata.annotations[cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size]|name the bounds for the cloud"},
		"another cluster":           {"      clusterName: eu", "      clusterName: us", "spec.template.spec.clusterName|must be the same as spec.clusterName"},
		"no such object":            {"kind: DevMachinePool, name: eu-mp", "kind: DevMachinePool, name: other", "spec.template.spec.infrastructureRef|which the overlay does not hold"},
		"no such cluster":           {"clusterName: eu", "clusterName: us", "spec.clusterName|names Cluster prod/us, which the overlay does not hold"},
		"name of the control plane": {"{name: eu-mp, namespace: prod, ann", "{name: eu-cp, namespace: prod, ann", "metadata.name|a MachinePool of the cluster and another pool are both called \"eu-cp\"|rename one of them"},
		"two backends":              {"inMemory: {instanceType: large}", "inMemory: {}, docker: {customImage: a}", "spec.backend.docker|is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			in := strings.Replace(pool, tc.old, tc.with, 1)
			if name == "no such cluster" {
				in = strings.ReplaceAll(pool, tc.old, tc.with)
			}
			_, problems := decode.New("f", inmemory.Kinds()).Decode("prod", objects(poolOverlay+in))
			for _, p := range problems {
				text, found := p.Field+" "+p.Message+" "+p.Hint, true
				for _, part := range strings.Split(tc.want, "|") {
					found = found && strings.Contains(text, part)
				}
				if found {
					return
				}
			}
			t.Errorf("no problem has %q: %v", tc.want, problems)
		})
	}
}

// TestMachinePoolDigest: a definition without such pools has the digest that it had, and the name of the
// object of a pool does not count as a change of what waits.
func TestMachinePoolDigest(t *testing.T) {
	t.Parallel()
	with, bigger := decodePool(t, pool), decodePool(t, strings.Replace(pool, "replicas: 3", "replicas: 4", 1))
	upgraded := decodePool(t, strings.Replace(pool, "version: v1.34.0", "version: v1.34.1", 1))
	if with.Digest == bigger.Digest || with.Digest == upgraded.Digest {
		t.Error("a change of the pool changes no digest")
	}
	if with.RolloutDigest() != bigger.RolloutDigest() {
		t.Error("a number of machines waits for a stage")
	}
	if with.RolloutDigest() == upgraded.RolloutDigest() {
		t.Error("a version does not wait for its stage")
	}
}

// ownPool has a MachinePool whose machines Fairlead creates.
const ownPool = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: eu-mp, namespace: prod}
spec:
  clusterName: eu
  replicas: 3
  failureDomains: [a, b]
  template:
    metadata: {labels: {team: web}, annotations: {cluster.x-k8s.io/skip-remediation: ""}}
    spec:
      clusterName: eu
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: eu-mp}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachinePool, name: eu-mp}
      deletion: {nodeDrainTimeoutSeconds: 10}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: eu-mp, namespace: prod}
spec: {preKubeadmCommands: [echo a]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePool
metadata: {name: eu-mp, namespace: prod}
spec: {providerID: x, backend: {docker: {customImage: a}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerMachinePool
metadata: {name: eu-mp, namespace: prod}
spec: {template: {customImage: a}}
`

// TestOwnMachinePool: a MachinePool of a kind whose machines Fairlead creates becomes a pool of machines.
func TestOwnMachinePool(t *testing.T) {
	t.Parallel()
	overlay := strings.ReplaceAll(poolOverlay, "inMemory: {}", "docker: {}")
	for name, tc := range map[string]struct {
		reason string
		change []string
		spec   string
		want   func(*fleet.Pool)
	}{
		"whole":      {"each field is honoured", nil, `{"backend":{"docker":{"bootstrapTimeout":"5m0s","customImage":"a"}}}`, func(*fleet.Pool) {}},
		"older kind": {"so is the kind of older versions", []string{"kind: DevMachinePool, ", "kind: DockerMachinePool, "}, `{"bootstrapTimeout":"5m0s","customImage":"a"}`, func(*fleet.Pool) {}},
		"v1beta1": {
			"the older version says the same", []string{
				"cluster.x-k8s.io/v1beta2\nkind: MachinePool", "cluster.x-k8s.io/v1beta1\nkind: MachinePool", "{apiGroup: bootstrap.cluster.x-k8s.io, ", "{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, ",
				"{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachinePool", "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachinePool",
				"deletion: {nodeDrainTimeoutSeconds: 10}", "nodeDrainTimeout: 10s",
			}, `{"backend":{"docker":{"bootstrapTimeout":"5m0s","customImage":"a"}}}`, func(*fleet.Pool) {},
		},
		"number by others": {
			"an autoscaler scales it", []string{
				"  replicas: 3\n", "", "{name: eu-mp, namespace: prod}\nspec:\n  clusterName", `{name: eu-mp, namespace: prod, annotations: {
  cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "2", cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "5"}}
spec:
  clusterName`,
			}, `{"backend":{"docker":{"bootstrapTimeout":"5m0s","customImage":"a"}}}`, func(p *fleet.Pool) { p.Replicas = 2 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := overlay + ownPool
			for i := 0; i < len(tc.change); i += 2 {
				if !strings.Contains(text, tc.change[i]) {
					t.Fatalf("there is no %q", tc.change[i])
				}
				text = strings.Replace(text, tc.change[i], tc.change[i+1], 1)
			}
			clusters, problems := decode.New("f", devKinds()).Decode("prod", objects(text))
			if len(problems) > 0 || len(clusters) != 1 || len(clusters[0].Workers) != 1 || len(clusters[0].KeptPools) > 0 {
				t.Fatalf("%s: clusters %v, problems %v", tc.reason, clusters, problems)
			}
			got := clusters[0].Workers[0]
			want := fleet.Pool{
				Name: "eu-mp", Role: fleet.RoleWorker, Kind: "MachinePool", Replicas: 3, Version: "v1.34.1", FailureDomains: []string{"a", "b"},
				NodeDrainTimeoutSeconds: 10, Annotations: map[string]string{"cluster.x-k8s.io/skip-remediation": ""},
				Labels: map[string]string{
					"team": "web", "cluster.x-k8s.io/cluster-name": "eu", "cluster.x-k8s.io/pool-name": "eu-mp", "cluster.x-k8s.io/deployment-name": "eu-mp",
				},
				Strategy: fleet.RollingUpdate, MaxSurge: 1, MaxRemediations: got.MaxRemediations, DeletionOrder: "Random",
			}
			tc.want(&want)
			if spec := string(got.Infrastructure.Spec); spec != tc.spec || !strings.Contains(string(got.Bootstrap.Spec), "echo a") {
				t.Errorf("%s: machines are made from %s with %s", tc.reason, spec, got.Bootstrap.Spec)
			}
			if name == "number by others" && (got.Scaling == nil || got.Scaling.Max != 5) {
				t.Errorf("%s: %+v", tc.reason, got.Scaling)
			}
			got.Infrastructure, got.Bootstrap, got.Template, got.Former, got.Scaling = fleet.Object{}, fleet.Bootstrap{}, "", nil, nil
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, d)
			}
		})
	}
}

// TestOwnMachinePoolRefused: what machines of a pool cannot be made from is refused with the field.
func TestOwnMachinePoolRefused(t *testing.T) {
	t.Parallel()
	overlay := strings.ReplaceAll(poolOverlay, "inMemory: {}", "docker: {}")
	for name, tc := range map[string]struct{ old, with, want string }{
		"no bootstrap":        {"{configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: eu-mp}}", `{dataSecretName: ""}`, "spec.template.spec.bootstrap.configRef|Required value"},
		"template":            {"kind: KubeadmConfig, name", "kind: DevMachineTemplate, name", "spec.template.spec.bootstrap.configRef|which the overlay does not hold"},
		"another machine":     {"kind: DevMachinePool, name: eu-mp", "kind: DevMachineTemplate, name: eu-cp", "spec.template.spec.infrastructureRef|must refer to an InfrastructureMachinePool"},
		"newer version":       {"      deletion", "      version: v1.35.0\n      deletion", "spec.template.spec.version|must not be newer than the control plane"},
		"no absolute path":    {"customImage: a}}", "extraMounts: [{hostPath: a, containerPath: /b}]}}", "spec.backend.docker.extraMounts[0].hostPath|must be an absolute path"},
		"not a field of pool": {"customImage: a}}", "bootstrapTimeout: 60s}}", "spec.backend.docker.bootstrapTimeout|unknown field"},
		"drains of a cloud":   {"backend: {docker: {customImage: a}}", "backend: {inMemory: {}}", "spec.template.spec.deletion.nodeDrainTimeoutSeconds|for a pool that a cloud keeps"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(ownPool, tc.old) {
				t.Fatalf("there is no %q", tc.old)
			}
			_, problems := decode.New("f", devKinds()).Decode("prod", objects(overlay+strings.Replace(ownPool, tc.old, tc.with, 1)))
			for _, p := range problems {
				field, message, _ := strings.Cut(tc.want, "|")
				if p.Field == field && strings.Contains(p.Message, message) {
					return
				}
			}
			t.Errorf("no problem has %q: %v", tc.want, problems)
		})
	}
}
