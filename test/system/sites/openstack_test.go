package sites_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

const onOpenStack = `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: eu-1, namespace: prod}
spec:
  identityRef: {name: cloud-config, cloudName: openstack}
  managedSubnets: [{cidr: 10.6.0.0/24}]
  managedSecurityGroups: {}
  apiServer: {managedLoadBalancer: {}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: servers, namespace: prod}
spec: {template: {spec: {flavor: {filter: {name: m1.small}}, image: {filter: {name: ubuntu}}}}}
---
apiVersion: v1
kind: Secret
metadata: {name: cloud-config, namespace: prod}
data: {clouds.yaml: CLOUDS}`

// TestOpenStack: workers on OpenStack beside a control plane elsewhere. No load balancer
// and no floating IP is made for the API server, which is not there, though the manifests
// ask for one.
func TestOpenStack(t *testing.T) { onOpenStackToo(t, false) }

// TestHostedAndOpenStack: the same beside a control plane that is no machine, which stays.
func TestHostedAndOpenStack(t *testing.T) { onOpenStackToo(t, true) }

func onOpenStackToo(t *testing.T, hosted bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := ost.New(ost.Options{Delays: ost.Delays{Server: 5 * time.Second, ServerDelete: 2 * time.Second}})
		login := fake.CloudsYAML(ost.URL, "alice")
		p := openstack.New(openstack.Options{
			Cloud: cloud.Options{Tick: time.Second, Rate: -1, Base: fake.Client()}, Settle: 5 * time.Second,
			Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
				return fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(login)}, nil
			},
		})
		defer p.Close()
		w := newWorld(t, guest{
			name: api.ProviderName, kinds: api.Kinds(), provider: p,
			manifests: strings.Replace(onOpenStack, "CLOUDS", base64.StdEncoding.EncodeToString(login), 1),
			template:  "{apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: servers}",
			hosted:    hosted,
		})
		defer w.close()
		w.live(2 * time.Second)
		w.planeStays()
		for _, kind := range []ost.Kind{ost.LoadBalancers, ost.FloatingIPs, ost.Servers, ost.Networks} {
			for _, o := range fake.Objects(kind) {
				if name, _ := o["name"].(string); strings.Contains(name, "eu-1") || kind == ost.LoadBalancers {
					t.Errorf("a %s is there: %v", kind, o)
				}
			}
		}
	})
}
