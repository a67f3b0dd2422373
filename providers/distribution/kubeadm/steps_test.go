package kubeadm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
)

// Each mark changes with what it stands for, and with nothing else. The marks
// are written into clusters: they do not change with a version of Fairlead.
func TestMarks(t *testing.T) {
	plain := fleet.Pool{Version: "v1.34.1"}
	config, addons := kubeadm.Marks(&plain)
	if config != "ece41b210029909f2a86" || addons != "16bdf853bc5dfc607c46" {
		t.Errorf("marks are %s %s", config, addons)
	}
	cluster := func(c bootstrapv1.ClusterConfiguration) func(*fleet.Pool) {
		return func(p *fleet.Pool) {
			p.Bootstrap = configured(bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: c})
		}
	}
	for reason, c := range map[string]struct {
		change         func(*fleet.Pool)
		config, addons bool // changes
	}{
		"version":       {func(p *fleet.Pool) { p.Version = "v1.34.2" }, true, true},
		"argument":      {cluster(bootstrapv1.ClusterConfiguration{APIServer: bootstrapv1.APIServer{CertSANs: []string{"a"}}}), true, false},
		"repository":    {cluster(bootstrapv1.ClusterConfiguration{ImageRepository: "a"}), true, true},
		"DNS":           {cluster(bootstrapv1.ClusterConfiguration{DNS: bootstrapv1.DNS{ImageTag: "a"}}), true, true},
		"no kube-proxy": {func(p *fleet.Pool) { p.SkipKubeProxy = true }, false, true},
		"no CoreDNS":    {func(p *fleet.Pool) { p.SkipCoreDNS = true }, false, true},
		"files": {func(p *fleet.Pool) {
			p.Bootstrap = configured(bootstrapv1.KubeadmConfigSpec{Files: []bootstrapv1.File{{Path: "/a"}}})
		}, false, false},
		"replicas": {func(p *fleet.Pool) { p.Replicas = 5 }, false, false},
	} {
		p := plain
		c.change(&p)
		gotConfig, gotAddons := kubeadm.Marks(&p)
		if got := gotConfig != config; got != c.config {
			t.Errorf("%s: the mark of the configuration changes: %v, want %v", reason, got, c.config)
		}
		if got := gotAddons != addons; got != c.addons {
			t.Errorf("%s: the mark of the addons changes: %v, want %v", reason, got, c.addons)
		}
	}
}

func TestSteps(t *testing.T) {
	c := &fleet.Cluster{ControlPlane: fleet.Pool{Version: "v1.34.1"}}
	config, addons := kubeadm.Marks(&c.ControlPlane)
	applied := func(version, config, addons string) *fleet.Applied {
		return &fleet.Applied{Version: version, Marks: map[string]string{"SyncKubeadmConfig": config, "SyncAddons": addons}}
	}
	join := func(reason string, rollout bool) fleet.Step {
		return fleet.Step{Name: "SyncKubeadmConfig", When: "BeforeJoin", Rollout: rollout, Reason: reason}
	}
	follow := fleet.Step{Name: "SyncAddons", When: "AfterControlPlane", Reason: "kube-proxy and CoreDNS follow the control plane to v1.34.1"}
	for reason, tc := range map[string]struct {
		applied *fleet.Applied
		want    []fleet.Step
	}{
		"in line":                         {applied("v1.34.1", config, addons), nil},
		"it is gone":                      {nil, []fleet.Step{join("no machine can join: kubeadm-config is gone", false)}},
		"it cannot be read":               {applied("", "", addons), []fleet.Step{join("no machine can join: kubeadm-config names no version", false)}},
		"as kubeadm init wrote it":        {applied("v1.34.1", "", ""), []fleet.Step{join("machines join with another configuration", true), follow}},
		"of another version":              {applied("v1.33.5", "x", "x"), []fleet.Step{join("machines join with version v1.33.5 → v1.34.1", false), follow}},
		"init wrote it of another":        {applied("v1.33.5", "", addons), []fleet.Step{join("machines join with version v1.33.5 → v1.34.1", false)}},
		"brought in line with another":    {applied("v1.34.1", "x", addons), []fleet.Step{join("machines join with another configuration", false)}},
		"the addons alone are of another": {applied("v1.34.1", config, "x"), []fleet.Step{follow}},
	} {
		if d := cmp.Diff(tc.want, kubeadm.New(nil).Steps(c, &fleet.Workload{Applied: tc.applied})); d != "" {
			t.Errorf("%s (-want +got):\n%s", reason, d)
		}
	}
}

// With an external etcd there is no authority of it to make: people give what it takes.
func TestNeeds(t *testing.T) {
	c := &fleet.Cluster{}
	names := func() (made, given, workers []fleet.SecretName) {
		d := fleet.Distribution{Needs: kubeadm.New(nil).Needs(c)}
		return d.NeedsTo(func(n fleet.SecretNeed) bool { return !n.Given }), d.NeedsTo(func(n fleet.SecretNeed) bool { return n.Given }),
			d.NeedsTo(func(n fleet.SecretNeed) bool { return n.Workers })
	}
	made, given, workers := names()
	if d := cmp.Diff([][]fleet.SecretName{{"ca", "etcd", "proxy", "sa"}, nil, {"ca"}}, [][]fleet.SecretName{made, given, workers}); d != "" {
		t.Errorf("made, given, of workers (-want +got):\n%s", d)
	}
	c.ControlPlane.Bootstrap.Spec = []byte(`{"clusterConfiguration":{"etcd":{"external":{"endpoints":["https://10.0.0.5:2379"]}}}}`)
	made, given, workers = names()
	if d := cmp.Diff([][]fleet.SecretName{{"ca", "proxy", "sa"}, {"etcd", "apiserver-etcd-client"}, {"ca"}}, [][]fleet.SecretName{made, given, workers}); d != "" {
		t.Errorf("external etcd: made, given, of workers (-want +got):\n%s", d)
	}
	if !kubeadm.New(nil).Traits(c).External() {
		t.Error("etcd is on the control plane")
	}
}

func TestRegistered(t *testing.T) {
	labels := "rack=r1, disk=ssd,none"
	p := fleet.Pool{Bootstrap: configured(bootstrapv1.KubeadmConfigSpec{JoinConfiguration: bootstrapv1.JoinConfiguration{
		NodeRegistration: bootstrapv1.NodeRegistrationOptions{
			Taints:           &[]corev1.Taint{{Key: "gpu", Effect: "NoSchedule"}},
			KubeletExtraArgs: []bootstrapv1.Arg{{Name: "v", Value: &labels}, {Name: "node-labels", Value: &labels}, {Name: "node-labels"}},
		},
	}})}
	got, taints := kubeadm.New(nil).Registered(p)
	if d := cmp.Diff(map[string]string{"rack": "r1", "disk": "ssd"}, got); d != "" || len(taints) != 1 || taints[0].Key != "gpu" {
		t.Errorf("taints %v, labels (-want +got):\n%s", taints, d)
	}
	if got, taints := kubeadm.New(nil).Registered(fleet.Pool{}); len(got)+len(taints) > 0 {
		t.Errorf("of nothing: %v, %v", got, taints)
	}
}

// What another distribution's machines boot with is not kubeadm's to read.
func TestAnotherKind(t *testing.T) {
	in := input(t, fleet.JoinInit, "v1.34.1", bootstrapv1.KubeadmConfigSpec{})
	in.Pool.Bootstrap.Kind = "RKE2Config"
	if _, err := userData(in); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("user data of an RKE2Config: %v", err)
	}
}
