package aws_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// TestChangeThatComesBack: a planner gives all changes of a control plane one operation, and those of a pool one for each
// definition. What is asked for a second time is done a second time.
func TestChangeThatComesBack(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.stable = true
		w.rest()
		for _, next := range []string{"{endpointAccess: {private: true}, ", "{", "{endpointAccess: {private: true}, "} {
			w.change("{", next)
			w.rest()
		}
		if is := w.attr(awstest.ManagedClusters, "endpointPrivateAccess"); is != "true" {
			t.Errorf("the endpoint is private: %s", is)
		}
		for _, n := range []int{3, 2, 3} {
			w.cluster.KeptPools[0].Count = n
			w.rest()
		}
	})
}

// TestUpgradeThatFailed: a node group whose Pods could not be evicted stays at its version, and is upgraded once they can.
func TestUpgradeThatFailed(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.stable = true
		w.rest()
		w.change("v1.33.5", "v1.34")
		w.cluster.KeptPools[0].Version = "v1.34.0"
		for range 60 {
			if w.step(); w.attr(awstest.Nodegroups, "status") == "UPDATING" {
				break
			}
		}
		w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) { g.Attr["then"] = "{}" })
		time.Sleep(time.Minute)
		if _, i := w.look(); !strings.Contains(i.Pools[0].Message, "EKS began to upgrade it to 1.34 and gave up") {
			t.Errorf("the pool says %q", i.Pools[0].Message)
		}
		w.rest()
		if _, i := w.look(); i.Pools[0].Message != "" {
			t.Errorf("once it is upgraded, the pool says %q", i.Pools[0].Message)
		}
	})
}

// TestMachinesOfBefore: machines of a cluster whose control plane is to be one of EKS from now on are seen: a planner makes
// no second cluster beside them.
func TestMachinesOfBefore(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		if err := w.create("cp-0", w.cluster.ControlPlane, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		managed := newManaged(t, planeSpec, groupSpec)
		seen, err := w.provider.Observe(w.Context(), &managed)
		if err != nil || !seen.Exists || len(seen.Machines) != 1 || seen.Machines[0].Name != "cp-0" {
			t.Errorf("seen %+v, %v", seen, err)
		}
	})
}

// TestServiceRange: Services have addresses of the range that Git names, which no cluster of EKS changes.
func TestServiceRange(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.cluster.Network.Services.CIDRBlocks = []string{"172.30.0.0/16"}
		w.rest()
		if is := w.attr(awstest.ManagedClusters, "services"); is != "172.30.0.0/16" {
			t.Errorf("Services are in %s", is)
		}
		w.cluster.Network.Services.CIDRBlocks = []string{"172.31.0.0/16"}
		if s, _ := w.look(); len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "Services of the cluster are in 172.30.0.0/16, and EKS moves them to no other range") {
			t.Errorf("drift %q", s.Drift)
		}
	})
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.cluster.Network.Services.CIDRBlocks = []string{"172.30.0.0/16", "fd00::/108"}
		w.look()
		wantKind(t, "two ranges", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Invalid, "one range of IPv4")
	})
}

// TestRefusedLabelHoldsNothingElse: EKS refuses a label for ever, and the pool gets its number and its version.
func TestRefusedLabelHoldsNothingElse(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		pool := &w.cluster.KeptPools[0]
		pool.Infrastructure = object(t, "AWSManagedMachinePool", "pool", strings.Replace(groupSpec, "tier: web", "kubernetes.io/tier: web", 1))
		pool.Count, pool.Version = 3, "v1.34.0"
		w.change("v1.33.5", "v1.34")
		for range 60 {
			w.step()
		}
		if is := w.attr(awstest.Nodegroups, "desiredSize") + " " + w.attr(awstest.Nodegroups, "version"); is != "3 1.34" {
			t.Errorf("the pool has %s", is)
		}
		wantKind(t, "the label", w.provider.EnsurePool(w.Context(), w.op(), &w.cluster, *pool), fleet.Invalid, "reserved prefixes")
	})
}

// TestWhatIsThereHoldsNothingElse: EKS says that the cluster is as asked for, though it shows otherwise, and takes the
// next change.
func TestWhatIsThereHoldsNothingElse(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("v1.33.5", "v1.34, upgradePolicy: standard")
		w.cloud.Inject(awstest.Fault{Action: "UpdateClusterVersion", Status: http.StatusBadRequest, Code: "InvalidParameterException", Message: "Cluster is already at the desired configuration"})
		for range 10 {
			w.step()
		}
		if is := w.attr(awstest.ManagedClusters, "support"); is != "STANDARD" {
			t.Errorf("the policy is %s", is)
		}
	})
}

// inOwnNetwork runs f with a cluster of EKS in a VPC that is made for it.
func inOwnNetwork(t *testing.T, plane string, f func(w *managedWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := awstest.New(awstest.Options{LeaveGroups: true, Delays: awstest.Delays{Lag: 3 * time.Second, NAT: 20 * time.Second, Cluster: time.Minute, Nodegroup: time.Minute}})
		w := &managedWorld{T: t, cloud: c, cluster: newManaged(t, plane, groupSpec)}
		w.start(c.Client())
		f(w)
	})
}

// TestZonesOfACluster: a cluster of EKS keeps its zones, whatever limit Git has of them later.
func TestZonesOfACluster(t *testing.T) {
	const spec = `{network: {vpc: {availabilityZoneUsageLimit: 2}}, region: eu-central-1, version: v1.33.5, eksClusterName: prod_eu-1}`
	inOwnNetwork(t, spec, func(w *managedWorld) {
		w.rest()
		setPlane(t, &w.cluster, strings.Replace(spec, "2", "3", 1))
		s, i := w.look()
		if len(s.Drift) > 0 || len(i.Pools[0].Fixed) > 0 {
			t.Errorf("drift %q, fixed %q", s.Drift, i.Pools[0].Fixed)
		}
		w.rest()
		if n := len(w.cloud.Things(awstest.Subnets)); n != 4 {
			t.Errorf("%d subnets", n)
		}
	})
}

// TestDeletionAfterAnotherName: Git gives the cluster another name, and deletes it. What EKS and controllers left by its
// old name goes with the network, and another agent knows that.
func TestDeletionAfterAnotherName(t *testing.T) {
	inOwnNetwork(t, planeSpec, func(w *managedWorld) {
		w.rest()
		w.change("prod_eu-1", "another")
		w.cluster.Delete = true
		for range 60 {
			if w.step(); len(w.cloud.Things(awstest.ManagedClusters)) == 0 {
				break
			}
		}
		w.start(w.cloud.Client())
		w.rest()
		if left := w.cloud.Contents(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// TestOwnEntry: the agent takes nothing from the entry that lets it in.
func TestOwnEntry(t *testing.T) {
	const admin = "accessPolicies: [{policyARN: 'arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy'}]"
	for name, tc := range map[string]struct{ identity, principal, without string }{
		"a user without its entry":  {"", "user/fairlead", ""},
		"a role without its entry":  {"identityRef: {kind: AWSClusterRoleIdentity, name: a}, ", "role/path/a", ""},
		"a user without its policy": {"", "user/fairlead", "accessEntries: [{principalARN: 'arn:aws:iam::123456789012:user/fairlead'}], "},
	} {
		t.Run(name, func(t *testing.T) {
			open := "{" + tc.identity + "accessConfig: {authenticationMode: api, bootstrapClusterCreatorAdminPermissions: false}, "
			inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
				w.cluster.Companions = []fleet.Object{object(t, "AWSClusterRoleIdentity", "a", `{allowedNamespaces: {}, roleARN: "arn:aws:iam::123456789012:role/path/a", sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}}`)}
				w.change("{", open+fmt.Sprintf("accessEntries: [{principalARN: 'arn:aws:iam::123456789012:%s', %s}], ", tc.principal, admin))
				w.rest()
				w.change("{", open+tc.without)
				s, _ := w.look()
				if len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "lets the agent in") {
					t.Errorf("drift %q", s.Drift)
				}
				wantKind(t, "the agent's own entry", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "lets the agent in")
				if n := w.made("DeleteAccessEntry") + w.made("DisassociateAccessPolicy"); n > 0 {
					t.Error("the agent locked itself out")
				}
			})
		})
	}
}

// TestLockedOut: the control plane says so if no access entry lets in the agent, and there is no other way in.
func TestLockedOut(t *testing.T) {
	const ops = "accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/ops'}], "
	for name, tc := range map[string]struct {
		access string
		want   bool
	}{
		"entries of others":      {"accessConfig: {authenticationMode: api, bootstrapClusterCreatorAdminPermissions: false}, " + ops, true},
		"the entry of its maker": {"accessConfig: {authenticationMode: api}, " + ops, false},
		"aws-auth, perhaps":      {"accessConfig: {authenticationMode: api_and_config_map, bootstrapClusterCreatorAdminPermissions: false}, " + ops, false},
		"an entry in Git":        {"accessConfig: {authenticationMode: api, bootstrapClusterCreatorAdminPermissions: false}, " + strings.Replace(ops, "role/ops", "user/fairlead", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
				w.change("{", "{"+tc.access)
				says := func(s fleet.HostedState) {
					t.Helper()
					if got := strings.Contains(s.Message, "no access entry of cluster prod_eu-1 lets in the agent (add one with the policy AmazonEKSClusterAdminPolicy"); got != tc.want {
						t.Errorf("it says %q", s.Message)
					}
				}
				s, _ := w.look()
				for ; !s.Ready; s, _ = w.look() {
					w.say(w.plane.Ensure(w.Context(), w.op(), &w.cluster))
				}
				says(s) // before entries of Git are there
				w.rest()
				s, _ = w.look()
				says(s)
			})
		})
	}
}

// TestEntriesWithoutWayBack: Git goes back to aws-auth, which EKS does not: people keep the entries that let them in.
func TestEntriesWithoutWayBack(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.change("{", "{accessConfig: {authenticationMode: api}, accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/ops'}], ")
		w.rest()
		w.change("{", "{")
		w.look()
		wantKind(t, "the way back", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Invalid, "does not go back")
		if w.made("DeleteAccessEntry") > 0 {
			t.Error("people are locked out")
		}
	})
}

// TestOlderImage: people gave a node group a newer image than Git names. It does not go back, and Git is told.
func TestOlderImage(t *testing.T) {
	inCluster(t, planeSpec, strings.Replace(groupSpec, "{", "{amiVersion: 1.33.2-20261001, ", 1), func(w *managedWorld) {
		w.rest()
		w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) { g.Attr["release"] = "1.33.2-20261101" })
		_, i := w.look()
		if p := i.Pools[0]; len(p.Drift) > 0 || len(p.Fixed) != 1 || !strings.Contains(p.Fixed[0], "amiVersion 1.33.2-20261101 → 1.33.2-20261001; EKS does not go back") {
			t.Errorf("%+v", p)
		}
		if err := w.provider.EnsurePool(w.Context(), w.op(), &w.cluster, w.cluster.KeptPools[0]); err != nil || w.made("UpdateNodegroupVersion") > 0 {
			t.Errorf("it is asked for, %v", err)
		}
	})
}

// TestPoolWhileTheClusterChanges: EKS makes no node group while it changes the cluster, which is no mistake in Git.
func TestPoolWhileTheClusterChanges(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("{", "{upgradePolicy: standard, ")
		w.look()
		if err := w.plane.Ensure(w.Context(), w.op(), &w.cluster); err != nil {
			t.Fatal(err)
		}
		second := w.cluster.KeptPools[0]
		second.Name, second.Infrastructure = "second", object(t, "AWSManagedMachinePool", "second", `{eksNodegroupName: second}`)
		wantKind(t, "a pool", w.provider.EnsurePool(w.Context(), w.op(), &w.cluster, second), fleet.Conflict, "EKS takes no change")
	})
}

// TestIssuesOfACluster: what EKS finds wrong of a cluster that serves is told.
func TestIssuesOfACluster(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Edit(w.cloud.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) {
			k.Attr["issues"] = `[{"code":"KmsKeyDisabled","message":"The key is disabled","resourceIds":["k"]}]`
		})
		if s, _ := w.look(); !s.Ready || !strings.Contains(s.Message, "KmsKeyDisabled: The key is disabled (k)") {
			t.Errorf("%+v", s)
		}
	})
}

// TestAliasOfAKey: EKS shows the key of an alias, and that is no difference.
func TestAliasOfAKey(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.change("{", "{encryptionConfig: {provider: 'arn:aws:kms:eu-central-1:123456789012:alias/a'}, ")
		w.rest()
		w.cloud.Edit(w.cloud.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) {
			k.Attr["encryption"] = strings.Replace(k.Attr["encryption"], "alias/a", "key/0123", 1)
		})
		if s, _ := w.look(); len(s.Drift) > 0 {
			t.Errorf("drift %q", s.Drift)
		}
	})
}

// TestOrphanWithGroupsOfTwo: an orphan has a node group of its own and one of somebody else: none goes.
func TestOrphanWithGroupsOfTwo(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		second := w.cluster.KeptPools[0]
		second.Name, second.Infrastructure = "zzz", object(t, "AWSManagedMachinePool", "zzz", `{eksNodegroupName: zzz}`)
		w.cluster.KeptPools = append(w.cluster.KeptPools, second)
		w.rest()
		for _, g := range w.cloud.Things(awstest.Nodegroups) {
			if g.Attr["name"] == "zzz" {
				w.cloud.Edit(g.ID, func(g *awstest.Thing) { g.Tags = nil })
			}
		}
		other := w.cluster
		other.Key.Name = "another"
		git := []*fleet.Cluster{&other}
		lost, err := w.provider.Orphans(w.Context(), "fleet-a", git)
		if err != nil || len(lost) != 1 {
			t.Fatal(lost, err)
		}
		wantKind(t, "an orphan", w.provider.RemoveOrphan(w.Context(), "fleet-a", git, lost[0]), fleet.Conflict, "zzz")
		if w.made("DeleteNodegroup") > 0 {
			t.Error("it is half deleted")
		}
	})
}

// TestOneProvider: a control plane shares the budgets, the listings and the memory of the provider that is open.
func TestOneProvider(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		o := aws.Options{Cloud: cloud.Options{Tick: tick, Base: w.cloud.Client(), Own: own()}, Settle: settle}
		w.provider = aws.New(o)
		w.plane = aws.OpenControlPlane(providers.Options{Opened: func(string) (providers.Infrastructure, error) { return w.provider, nil }})
		w.rest()
		time.Sleep(2 * tick)
		w.cloud.Forget()
		w.look()
		if n := w.made("DescribeVpcs"); n != 1 {
			t.Errorf("%d listings", n)
		}
	})
}

// TestCheckOfTheWayIn: a check tells that nothing would let in the agent.
func TestCheckOfTheWayIn(t *testing.T) {
	const closed = "{accessConfig: {authenticationMode: api, bootstrapClusterCreatorAdminPermissions: false}, "
	for entries, lacks := range map[string]bool{
		"":              true,
		"role/ops":      true,
		"user/fairlead": false,
	} {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			spec := closed
			if entries != "" {
				spec += "accessEntries: [{principalARN: 'arn:aws:iam::123456789012:" + entries + "'}], "
			}
			w.change("{", spec)
			found, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
			if err != nil {
				t.Fatal(err)
			}
			told := slices.ContainsFunc(found, func(f providers.Finding) bool {
				return f.Err != nil && strings.Contains(f.Err.Error(), "nothing lets the agent in")
			})
			if told != lacks {
				t.Errorf("with the entry %q: %v", entries, found)
			}
		})
	}
}

// TestAnotherNameAtOnce: Git gives the cluster another name before EKS lists it.
func TestAnotherNameAtOnce(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.look()
		if err := w.plane.Ensure(w.Context(), w.op(), &w.cluster); err != nil {
			t.Fatal(err)
		}
		w.change("prod_eu-1", "another")
		for range 5 {
			w.say(w.plane.Ensure(w.Context(), w.op(), &w.cluster))
			time.Sleep(time.Second)
		}
		if n := w.made("CreateCluster"); n != 1 {
			t.Errorf("%d clusters were asked for, errors %v", n, w.errs)
		}
	})
}
