package openstack_test

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

const (
	settle = 30 * time.Second
	tick   = 5 * time.Second
)

// credential is the Secret that the clusters of tests name.
var credential = fleet.Key{Namespace: "prod", Name: "cloud-config"}

func newProvider(c *ost.Cloud, client *ost.Client) *openstack.Provider {
	return openstack.New(openstack.Options{
		Cloud: cloud.Options{Tick: tick, Rate: -1, Base: client}, Settle: settle,
	})
}

// object returns what the decoder makes of an object of kind with spec.
func object(t testing.TB, kind, name string, yaml []byte, spec any) fleet.Object {
	t.Helper()
	b, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{
		GVK:  schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind},
		Name: name, Namespace: credential.Namespace, Spec: b,
		Secrets: map[fleet.Key]fleet.SecretData{credential: {openstackauth.CloudsYAMLKey: fleet.NewSecret(yaml)}},
	}
}

func ptr[T any](v T) *T { return &v }

func identity() api.OpenStackIdentityReference {
	return api.OpenStackIdentityReference{Type: api.IdentitySecret, Name: credential.Name, CloudName: "openstack"}
}

// clusterSpec is a cluster with all that is managed.
func clusterSpec() *api.OpenStackClusterSpec {
	return &api.OpenStackClusterSpec{
		IdentityRef:           identity(),
		ManagedSubnets:        []api.SubnetSpec{{CIDR: "10.6.0.0/24"}},
		ManagedSecurityGroups: &api.ManagedSecurityGroups{},
		APIServer:             &api.APIServer{ManagedLoadBalancer: &api.APIServerLoadBalancer{}},
	}
}

func machineSpec() *api.OpenStackMachineSpec {
	return &api.OpenStackMachineSpec{
		Flavor: api.FlavorParam{Filter: &api.FlavorFilter{Name: ptr("m1.small")}},
		Image:  api.ImageParam{Filter: &api.ImageFilter{Name: ptr("ubuntu")}},
	}
}

// newCluster returns a cluster of the user of a clouds.yaml.
func newCluster(t testing.TB, yaml []byte, spec *api.OpenStackClusterSpec, machine *api.OpenStackMachineSpec) fleet.Cluster {
	t.Helper()
	template := object(t, "OpenStackMachineTemplate", "nodes", yaml, machine)
	return fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: api.ProviderName,
		Infrastructure: object(t, "OpenStackCluster", "eu-1", yaml, spec),
		ControlPlane: fleet.Pool{
			Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 3, Template: "1-cp", Version: "v1.34.1", Infrastructure: template,
		},
		Workers: []fleet.Pool{{
			Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: 3, Template: "1-md", Version: "v1.34.1", Infrastructure: template,
		}},
	}
}
