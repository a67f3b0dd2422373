package fleet_test

import (
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// Each mark changes with what it stands for, and with nothing else. The marks
// are written into clusters: they do not change with a version of Fairlead.
func TestMarks(t *testing.T) {
	plain := fleet.Pool{Version: "v1.34.1"}
	if got := plain.ConfigMark() + " " + plain.AddonsMark(); got != "ece41b210029909f2a86 16bdf853bc5dfc607c46" {
		t.Errorf("marks are %s", got)
	}
	for reason, c := range map[string]struct {
		change         func(*fleet.Pool)
		config, addons bool // changes
	}{
		"version": {func(p *fleet.Pool) { p.Version = "v1.34.2" }, true, true},
		"argument": {func(p *fleet.Pool) {
			cluster(p, bootstrapv1.ClusterConfiguration{APIServer: bootstrapv1.APIServer{CertSANs: []string{"a"}}})
		}, true, false},
		"repository":    {func(p *fleet.Pool) { cluster(p, bootstrapv1.ClusterConfiguration{ImageRepository: "a"}) }, true, true},
		"DNS":           {func(p *fleet.Pool) { cluster(p, bootstrapv1.ClusterConfiguration{DNS: bootstrapv1.DNS{ImageTag: "a"}}) }, true, true},
		"no kube-proxy": {func(p *fleet.Pool) { p.SkipKubeProxy = true }, false, true},
		"no CoreDNS":    {func(p *fleet.Pool) { p.SkipCoreDNS = true }, false, true},
		"files":         {func(p *fleet.Pool) { set(p, bootstrapv1.KubeadmConfigSpec{Files: []bootstrapv1.File{{Path: "/a"}}}) }, false, false},
		"replicas":      {func(p *fleet.Pool) { p.Replicas = 5 }, false, false},
	} {
		p := plain
		c.change(&p)
		if got := p.ConfigMark() != plain.ConfigMark(); got != c.config {
			t.Errorf("%s: the mark of the configuration changes: %v, want %v", reason, got, c.config)
		}
		if got := p.AddonsMark() != plain.AddonsMark(); got != c.addons {
			t.Errorf("%s: the mark of the addons changes: %v, want %v", reason, got, c.addons)
		}
	}
}

func cluster(p *fleet.Pool, c bootstrapv1.ClusterConfiguration) {
	set(p, bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: c})
}

func set(p *fleet.Pool, spec bootstrapv1.KubeadmConfigSpec) {
	b, err := fleet.NewBootstrap("", spec)
	if err != nil {
		panic(err)
	}
	p.Bootstrap = b
}
