package openstack_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/test/lab/openstack/lab"
)

// TestConformanceOnTheLab runs the suite on real services, where they are up.
func TestConformanceOnTheLab(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	var project *lab.Project
	conformance.Run(t, conformance.Options{
		New: func(t testing.TB) providers.Infrastructure {
			project = lab.NewProject(t)
			p := openstack.New(openstack.Options{Cloud: cloud.Options{Tick: time.Second}, Settle: 4 * time.Second})
			t.Cleanup(p.Close)
			return p
		},
		Cluster: func() fleet.Cluster {
			return newCluster(t, project.CloudsYAML(), clusterSpec(), machineSpec())
		},
	})
}
