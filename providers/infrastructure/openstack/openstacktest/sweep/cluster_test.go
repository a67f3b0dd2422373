// Package sweep_test holds the whole OpenStack provider to what it promises,
// whatever goes wrong at whatever call, on a cloud in memory.
package sweep_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

const group = "infrastructure.cluster.x-k8s.io"

// aCloud is one in which everything takes its time.
func aCloud() *ost.Cloud {
	return ost.New(ost.Options{Delays: ost.Delays{
		Listing: 2 * time.Second, Server: 8 * time.Second, ServerDelete: 4 * time.Second, LoadBalancer: 3 * time.Second, Volume: 2 * time.Second,
	}})
}

func newProvider(client *ost.Client) *openstack.Provider {
	return openstack.New(openstack.Options{
		Cloud: cloud.Options{Tick: 5 * time.Second, Rate: -1, Base: client}, Settle: 30 * time.Second,
	})
}

// object returns what the decoder makes of an object of kind with spec.
func object(t testing.TB, version, kind, name string, yaml []byte, spec any) fleet.Object {
	t.Helper()
	b, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	credential := fleet.Key{Namespace: "prod", Name: "cloud-config"}
	return fleet.Object{
		GVK:  schema.GroupVersionKind{Group: group, Version: version, Kind: kind},
		Name: name, Namespace: credential.Namespace, Spec: b,
		Secrets: map[fleet.Key]fleet.SecretData{credential: {openstackauth.CloudsYAMLKey: fleet.NewSecret(yaml)}},
	}
}

func ptr[T any](v T) *T { return &v }

// newCluster returns a cluster of one machine in each pool, with a load
// balancer. Its machines have every part that machines can have.
func newCluster(t testing.TB, c *ost.Cloud) fleet.Cluster {
	t.Helper()
	yaml := c.CloudsYAML(ost.URL, "alice")
	identity := api.OpenStackIdentityReference{Type: api.IdentitySecret, Name: "cloud-config", CloudName: "openstack"}
	node := api.OpenStackMachineSpec{
		Flavor: api.FlavorParam{Filter: &api.FlavorFilter{Name: ptr("m1.small")}}, Image: api.ImageParam{Filter: &api.ImageFilter{Name: ptr("ubuntu")}},
		Trunk: true, RootVolume: &api.RootVolume{SizeGiB: 20},
		AdditionalBlockDevices: []api.AdditionalBlockDevice{{
			Name: "etcd", SizeGiB: 5, Storage: api.BlockDeviceStorage{Type: api.VolumeBlockDevice, Volume: &api.BlockDeviceVolume{}},
		}},
	}
	worker := node
	worker.FloatingIPPoolRef = &corev1.TypedLocalObjectReference{APIGroup: ptr(group), Kind: "OpenStackFloatingIPPool", Name: "workers"}
	return fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: api.ProviderName,
		Infrastructure: object(t, "v1beta2", "OpenStackCluster", "eu-1", yaml, &api.OpenStackClusterSpec{
			IdentityRef:           identity,
			ManagedSubnets:        []api.SubnetSpec{{CIDR: "10.6.0.0/24"}},
			ManagedSecurityGroups: &api.ManagedSecurityGroups{},
			APIServer:             &api.APIServer{ManagedLoadBalancer: &api.APIServerLoadBalancer{}},
		}),
		Companions: []fleet.Object{object(t, "v1alpha1", "OpenStackFloatingIPPool", "workers", yaml, api.OpenStackFloatingIPPoolSpec{
			IdentityRef: identity, ReclaimPolicy: api.ReclaimDelete,
		})},
		ControlPlane: fleet.Pool{
			Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Template: "1-cp", Version: "v1.34.1",
			Infrastructure: object(t, "v1beta2", "OpenStackMachineTemplate", "cp", yaml, &node),
		},
		Workers: []fleet.Pool{{
			Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: 1, Template: "1-md", Version: "v1.34.1",
			Infrastructure: object(t, "v1beta2", "OpenStackMachineTemplate", "md-0", yaml, &worker),
		}},
	}
}
