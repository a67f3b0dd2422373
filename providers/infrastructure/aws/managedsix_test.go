package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// sixPlane is a control plane whose Pods and Services have IPv6, in a VPC.
func sixPlane(vpc string) string {
	return strings.Replace(workerPlane, "{", "{network: {vpc: {"+vpc+"ipv6: {}}}, ", 1)
}

// TestIPv6OfEKS: with network.vpc.ipv6 a cluster of EKS has IPv6, in subnets of both families. Its machines and node groups have both, and
// nothing of it is left.
func TestIPv6OfEKS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		w := &managedWorld{T: t, cloud: c, cluster: newManaged(t, sixPlane(""), groupSpec)}
		w.start(c.Client())
		w.employ(workerSpec, 2)
		w.rest()
		w.quiet()
		k := w.cloud.Things(awstest.ManagedClusters)[0]
		if !strings.HasPrefix(k.Attr["services"], "fd") || k.Attr["publicAccessCidrs"] != `["0.0.0.0/0","::/0"]` || w.made("UpdateClusterConfig") > 0 {
			t.Errorf("the cluster is %v", k.Attr)
		}
		for _, s := range w.cloud.Things(awstest.Subnets) {
			if s.Attr["six"] == "" || s.Attr["AssignIpv6AddressOnCreation"] != "true" {
				t.Errorf("a subnet is %v", s.Attr)
			}
		}
		for _, i := range w.cloud.Things(awstest.Instances) {
			if i.Tags[fleet.TagMachine] != "" && (i.Attr["ipv6"] == "" || w.cloud.Joined(i.ID) != nil) {
				t.Errorf("a machine is %v, %v", i.Attr, w.cloud.Joined(i.ID))
			}
		}
		if seen, err := w.plane.Observe(w.Context(), &w.cluster, nil); err != nil || string(seen.Secrets[fleet.ClusterCA]["service-range"].Reveal()) != k.Attr["services"] {
			t.Errorf("machines are told of Services in %s, %v", seen.Secrets[fleet.ClusterCA]["service-range"].Reveal(), err)
		}
		if s, _ := w.look(); len(s.Drift) > 0 || s.Message != "" {
			t.Errorf("%+v", s)
		}
		w.cluster.Delete = true
		w.rest()
		if left := w.cloud.Contents(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// TestIPv6OfEKSStays: in a given VPC it needs subnets with IPv6. A cluster keeps its family, and new machines have addresses of it.
func TestIPv6OfEKSStays(t *testing.T) {
	for name, lacks := range map[string]bool{"all subnets have IPv6": false, "one has not": true} {
		synctest.Test(t, func(t *testing.T) {
			c := slowly()
			vpc, public, private := c.AddVPC("10.7.0.0/16")
			six := func(id, six string) { c.Edit(id, func(x *awstest.Thing) { x.Attr["six"] = six }) }
			six(vpc, "2001:db8:7:1200::/56")
			for i, id := range slices.Concat(public, private) {
				six(id, fmt.Sprintf("2001:db8:7:12%02x::/64", i))
			}
			if lacks {
				six(private[0], "")
			}
			w := &managedWorld{T: t, cloud: c, cluster: newManaged(t, sixPlane("id: "+vpc+", "), groupSpec)}
			w.start(c.Client())
			if lacks {
				for range 3 {
					w.step()
				}
				if !strings.Contains(fmt.Sprint(w.errs), private[0]+`" needs an IPv6 CIDR`) {
					t.Errorf("%s: %v", name, w.errs)
				}
				return
			}
			w.employ(workerSpec, 0)
			w.rest()
			pool := w.cluster.Workers[0]
			other, _, _ := c.AddVPC("10.8.0.0/16")
			w.change("{", "{accessConfig: {authenticationMode: api}, network: {vpc: {id: "+other+"}}, ")
			if err := w.hire(pool, "moved"); err != nil {
				t.Error(err)
			}
			w.change("{", "{accessConfig: {authenticationMode: api}, network: {vpc: {id: "+vpc+"}}, ")
			s, _ := w.look()
			if !s.Ready || !strings.Contains(fmt.Sprint(s.Drift), "the cluster has IPv6, and EKS changes the addresses of Pods and Services of no cluster") || strings.Contains(fmt.Sprint(s.Drift), "endpointAccess") {
				t.Errorf("%+v", s)
			}
			for name, id := range map[fleet.MachineName]string{"more": private[1], "none": private[2]} {
				if name == "none" {
					six(id, "")
					time.Sleep(settle)
				}
				pool.Infrastructure = object(w, "AWSMachineTemplate", "nodes", strings.Replace(workerSpec, "{", "{subnet: {id: "+id+"}, ", 1))
				err := w.hire(pool, name)
				if name == "none" {
					wantKind(t, "a subnet without", err, fleet.Invalid, "needs an address of IPv6, and no subnet for it has one")
				} else if err != nil {
					t.Error(err)
				}
			}
			pool.Infrastructure = object(w, "AWSMachineTemplate", "nodes", strings.Replace(workerSpec, "{", "{assignPrimaryIPv6: disabled, ", 1))
			wantKind(t, "without an address", w.hire(pool, "off"), fleet.Invalid, "its Pods and Services have IPv6, and assignPrimaryIPv6 is disabled")
			for _, i := range c.Things(awstest.Instances) {
				if name := i.Tags[fleet.TagMachine]; name != "" && i.Attr["ipv6"] == "" {
					t.Errorf("machine %s is %v", name, i.Attr)
				}
			}
			setPlane(t, &w.cluster, sixPlane("id: "+vpc+", "))
			w.cluster.Network.Services.CIDRBlocks = []string{"10.96.0.0/12"}
			wantKind(t, "Services of IPv4", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Invalid, "EKS chooses the range of Services of a cluster with IPv6 (leave out 10.96.0.0/12)")
		})
	}
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		vpc := w.attr(awstest.ManagedClusters, "vpcId")
		w.cloud.Edit(vpc, func(x *awstest.Thing) { x.Attr["six"] = "2001:db8:7:1200::/56" })
		setPlane(t, &w.cluster, strings.Replace(planeSpec, "{", "{network: {vpc: {id: "+vpc+", ipv6: {}}}, ", 1))
		if s, _ := w.look(); !s.Ready || fmt.Sprint(s.Drift) != "[cannot change network.vpc.ipv6: the cluster has IPv4 alone, and EKS changes the addresses of Pods and Services of no cluster (take the change back, or make another cluster)]" {
			t.Errorf("%+v", s)
		}
	})
}
