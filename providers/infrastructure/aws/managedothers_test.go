package aws_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// TestAPIServerUntilTheEnd: while the cluster is to be deleted, its API server still has to be reached: controllers remove balancers and volumes.
func TestAPIServerUntilTheEnd(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cluster.Delete = true
		s, i := w.look()
		t.Logf("ready %v endpoint %v message %q pools %d", s.Ready, s.Endpoint, s.Message, len(i.Pools))
		if !s.Ready || s.Endpoint.IsZero() {
			t.Error("not ready though it serves, so nothing is asked of it while it is deleted")
		}
	})
}

// TestPolicyForMachinesAlone: a cluster of kubeadm, whose policy has nothing of EKS.
func TestPolicyForMachinesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := awstest.New(awstest.Options{})
		p := newProvider(c.Client())
		cl := newCluster(t, clusterSpec, machineSpec)
		for range 20 {
			if _, err := p.Observe(t.Context(), &cl); err != nil {
				t.Fatal(err)
			}
			_ = p.EnsureInfrastructure(t.Context(), "op", &cl)
			time.Sleep(time.Minute)
		}
		for _, a := range []string{"ListClusters", "DescribeCluster", "ListNodegroups", "DescribeNodegroup"} {
			c.Deny(a, true)
		}
		all, err := p.Clusters(t.Context(), "fleet-a")
		t.Logf("Clusters: %v, %v", all, err)
		if len(all) != 1 || err != nil {
			t.Error("clusters are not listed any more")
		}
		other := cl
		other.Key.Name = "another"
		git := []*fleet.Cluster{&other}
		lost, err := p.Orphans(t.Context(), "fleet-a", git)
		t.Logf("Orphans: %d, %v", len(lost), err)
		if len(lost) == 0 || err != nil {
			t.Error("orphans are not found any more")
		}
	})
}

// TestClusterThatMayNotBeDescribed: one cluster of somebody else that may not be described hides nothing else.
func TestClusterThatMayNotBeDescribed(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Deny("DescribeCluster", true)
		other := w.cluster
		other.Key.Name = "another"
		lost, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
		t.Logf("Orphans %d %v", len(lost), err)
	})
}

// TestRangeOfOneNumber: a range of one number is done.
func TestRangeOfOneNumber(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		p := &w.cluster.KeptPools[0]
		p.Range = &fleet.PoolRange{Min: 2, Max: 2}
		w.rest()
		_, i := w.look()
		if !i.Pools[0].Range.Is(p.Range) {
			t.Errorf("range %v, want %v: the planner changes the pool for ever", i.Pools[0].Range, p.Range)
		}
	})
}

// TestTokenOfAnotherName: another name in Git: the token is for the cluster that is there.
func TestTokenOfAnotherName(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("prod_eu-1", "another")
		if s, _ := w.look(); !s.Ready {
			t.Fatalf("%+v", s)
		}
		one, err := providers.TokensOf(w.plane, &w.cluster)(w.Context(), fleet.Secret{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.cloud.Authenticate("prod_eu-1", string(one.Value.Reveal()), time.Now()); err != nil {
			t.Errorf("the cluster that is there does not let in the agent: %v", err)
		}
	})
}

// TestLostTagsInAGivenVPC: the tags of the cluster were lost, and it is to be deleted, in a given VPC.
func TestLostTagsInAGivenVPC(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		is, seen := w.look()
		w.cluster.Residence = fleet.Residence{Provider: "aws", Endpoint: is.Endpoint, ControlPlane: fleet.InitializedOnce, Places: []fleet.Place{seen.Places[0].Place}, MachinePools: true}
		w.cloud.Edit(w.cloud.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) { k.Tags = map[string]string{} })
		w.cluster.Delete = true
		s, i := w.look()
		t.Logf("%+v %+v", s, i)
		if !s.Exists && !i.Exists {
			t.Error("the fleet says that it is deleted, and cluster and node group run on")
		}
	})
}

// TestLostTagsInAnOwnVPC: the same in a VPC of its own: nothing is deleted under the running cluster.
func TestLostTagsInAnOwnVPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := awstest.New(awstest.Options{Delays: awstest.Delays{Lag: 3 * time.Second, NAT: 20 * time.Second, Cluster: time.Minute, Nodegroup: time.Minute}})
		w := &managedWorld{T: t, cloud: c, cluster: newManaged(t, planeSpec, groupSpec)}
		w.start(c.Client())
		w.rest()
		w.cloud.Edit(c.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) { k.Tags["fairlead.dev/fleet"] = "fleet-b" })
		w.cloud.Forget()
		w.cluster.Delete = true
		for range 10 {
			_, _ = w.look()
			t.Log(w.plane.Delete(w.Context(), w.op(), &w.cluster))
		}
		deleted := map[string]int{}
		for _, call := range c.Calls() {
			if strings.HasPrefix(call.Action, "Delete") || strings.HasPrefix(call.Action, "Release") || strings.HasPrefix(call.Action, "Detach") || strings.HasPrefix(call.Action, "Disassoc") {
				deleted[call.Action]++
			}
		}
		t.Logf("deleted %v; clusters %d, groups %d", deleted, len(c.Things(awstest.ManagedClusters)), len(c.Things(awstest.Nodegroups)))
		if len(deleted) > 0 {
			t.Error("the network of a running cluster is deleted under it")
		}
	})
}

// TestOrphanWithAGroupOfOthers: an orphan has a node group of somebody else.
func TestOrphanWithAGroupOfOthers(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) { g.Tags = map[string]string{"owner": "terraform"} })
		other := w.cluster
		other.Key.Name = "another"
		git := []*fleet.Cluster{&other}
		lost, err := w.provider.Orphans(w.Context(), "fleet-a", git)
		if err != nil || len(lost) != 1 {
			t.Fatal(lost, err)
		}
		err = w.provider.RemoveOrphan(w.Context(), "fleet-a", git, lost[0])
		t.Log(err)
		if w.made("DeleteNodegroup") > 0 {
			t.Error("a node group without the tags of the fleet is deleted with its machines")
		}
	})
}

// TestPrincipalThatMadeIt: Git names the principal that made the cluster, with groups alone.
func TestPrincipalThatMadeIt(t *testing.T) {
	inCluster(t, strings.Replace(planeSpec, "{", "{accessConfig: {authenticationMode: api}, accessEntries: [{principalARN: 'arn:aws:iam::123456789012:user/fairlead', kubernetesGroups: [ops]}], ", 1), groupSpec, func(w *managedWorld) {
		w.rest()
		for _, e := range w.cloud.Things(awstest.AccessEntries) {
			t.Log(e.Attr["principal"], e.Attr["policies"])
			if strings.HasSuffix(e.Attr["principal"], "user/fairlead") && !strings.Contains(e.Attr["policies"], "ClusterAdmin") {
				t.Error("the agent locked itself out")
			}
		}
	})
}

// TestRefusedUpdateHoldsNoOther: the first update fails permanently, and the others are made.
func TestRefusedUpdateHoldsNoOther(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("v1.33.5", "v1.34, logging: {apiServer: true, audit: false, authenticator: false, controllerManager: false, scheduler: false}")
		w.cloud.Inject(awstest.Fault{Action: "UpdateClusterVersion", Times: 1000, Status: 400, Code: "InvalidRequestException", Message: "Kubelet version of Fargate pods must be updated to match cluster version 1.33 before updating cluster version"})
		for range 10 {
			w.look()
			_ = w.plane.Ensure(w.Context(), w.op(), &w.cluster)
		}
		if w.made("UpdateClusterConfig") == 0 {
			t.Error("logging is never changed")
		}
	})
}

// TestFailedGroupWithMachines: a node group whose creation failed has machines that serve: a label in Git does not delete it.
func TestFailedGroupWithMachines(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) { g.Attr["status"] = "CREATE_FAILED" })
		w.cluster.KeptPools[0].NodeLabels = map[string]string{"node-role.kubernetes.io/web": ""}
		t.Log(w.provider.EnsurePool(w.Context(), "op", &w.cluster, w.cluster.KeptPools[0]))
		if w.made("DeleteNodegroup") > 0 {
			t.Error("EnsurePool deletes a node group with machines")
		}
	})
}

// TestSubnetThatIsAdded: somebody adds a subnet to a given VPC.
func TestSubnetThatIsAdded(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		g := w.cloud.Things(awstest.Nodegroups)[0]
		w.cloud.Edit(g.ID, func(g *awstest.Thing) {
			g.Attr["subnets"] = g.Attr["subnets"][:strings.Index(g.Attr["subnets"], ",")] + "]"
		})
		_, i := w.look()
		if len(i.Pools[0].Fixed) > 0 {
			t.Error("a subnet more in the VPC: the pool is never done again")
		}
	})
}

// TestUsernameThatLeftGit: the name of an entry that Git no longer has becomes that of EKS again.
func TestUsernameThatLeftGit(t *testing.T) {
	const entries = "{accessConfig: {authenticationMode: api}, accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/path/ops', username: ops}, {principalARN: 'arn:aws:iam::123456789012:user/ann'}], "
	inCluster(t, strings.Replace(planeSpec, "{", entries, 1), groupSpec, func(w *managedWorld) {
		names := func() string {
			out := make(map[string]string)
			for _, e := range w.cloud.Things(awstest.AccessEntries) {
				out[e.Attr["principal"]] = e.Attr["username"]
			}
			return out["arn:aws:iam::123456789012:role/path/ops"] + " " + out["arn:aws:iam::123456789012:user/ann"]
		}
		w.rest()
		if got := names(); got != "ops arn:aws:iam::123456789012:user/ann" {
			t.Errorf("names %s", got)
		}
		w.change("{", strings.Replace(entries, ", username: ops", "", 1))
		w.rest()
		if got := names(); got != "arn:aws:sts::123456789012:assumed-role/ops/{{SessionName}} arn:aws:iam::123456789012:user/ann" || w.made("UpdateAccessEntry") != 1 {
			t.Errorf("names %s, %d changes", got, w.made("UpdateAccessEntry"))
		}
	})
}

// TestTaintsOfOneKey: EKS takes one taint of a key and an effect: that of the MachinePool.
func TestTaintsOfOneKey(t *testing.T) {
	inCluster(t, planeSpec, strings.Replace(groupSpec, "{", "{taints: [{key: gpu, value: a, effect: no-schedule}, {key: gpu, value: a, effect: no-execute}], ", 1), func(w *managedWorld) {
		w.cluster.KeptPools[0].Taints = []clusterv1.MachineTaint{{Key: "gpu", Value: "b", Effect: "NoSchedule"}}
		w.rest()
		if is := w.attr(awstest.Nodegroups, "taints"); is != `[{"effect":"NO_EXECUTE","key":"gpu","value":"a"},{"effect":"NO_SCHEDULE","key":"gpu","value":"b"}]` || w.made("UpdateNodegroupConfig") > 0 {
			t.Errorf("taints %s", is)
		}
	})
}
