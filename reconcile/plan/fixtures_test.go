package plan_test

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
)

// template returns a template hash for a version and a variant.
func template(version, variant string) fleet.TemplateHash {
	return fleet.TemplateHash("1-" + version + variant)
}

// cluster returns a cluster with cps control-plane machines and one pool of
// each number of workers.
func cluster(cps int, workers ...int) *fleet.Cluster {
	c := &fleet.Cluster{
		Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "sim",
		ControlPlane: fleet.Pool{
			Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: cps, Version: "v1.34.2", Template: template("v1.34.2", ""),
			Strategy: fleet.RollingUpdate, MaxSurge: 1, MaxRemediations: -1,
		},
	}
	for i, n := range workers {
		c.Workers = append(c.Workers, fleet.Pool{
			Name: fleet.PoolName("eu-1-md-" + string(rune('0'+i))), Role: fleet.RoleWorker, Replicas: n, Version: "v1.34.2",
			Template: template("v1.34.2", ""), Strategy: fleet.RollingUpdate, MaxSurge: 1, MaxRemediations: -1,
			DeletionOrder: fleet.DeleteRandom,
		})
	}
	return c
}

// change returns a copy of c with the changes of f.
func change(c *fleet.Cluster, f func(*fleet.Cluster)) *fleet.Cluster {
	d := *c
	d.Workers = append([]fleet.Pool(nil), c.Workers...)
	f(&d)
	return &d
}

// upgrade asks for version in every pool.
func upgrade(version string) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		c.ControlPlane.Version, c.ControlPlane.Template = version, template(version, "")
		for i := range c.Workers {
			c.Workers[i].Version, c.Workers[i].Template = version, template(version, "")
		}
	}
}

// facts are what kubeadm, of which the scripts are, says of d and what was observed.
func facts(d *fleet.Cluster, o *fleet.Observed) fleet.Distribution {
	if d.Hosted != nil {
		return providers.Facts(kubeadm.NewHosted(nil), d, o)
	}
	return providers.Facts(kubeadm.New(nil), d, o)
}

// applied is what kubeadm-config of a version was brought in line with.
func applied(version, config, addons string) *fleet.Applied {
	return &fleet.Applied{Version: version, Marks: map[string]string{"SyncKubeadmConfig": config, "SyncAddons": addons}}
}

// inLine is a kubeadm-config that is as p, a control plane, asks for.
func inLine(p *fleet.Pool) *fleet.Applied {
	config, addons := kubeadm.Marks(p)
	return applied(p.Version, config, addons)
}
