package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// addonsSpec is a control plane with an addon, which has more fields.
func addonsSpec(more string) string {
	return strings.Replace(planeSpec, "{", "{addons: [{name: coredns, version: v1.33.0-eksbuild.1"+more+"}], ", 1)
}

// TestAddons: what Git says of an addon is what EKS has, and an addon that left Git goes.
func TestAddons(t *testing.T) {
	inCluster(t, addonsSpec(", configuration: '{\"replicaCount\": 3}', conflictResolution: preserve, serviceAccountRoleARN: 'arn:aws:iam::123456789012:role/dns'"), groupSpec, func(w *managedWorld) {
		w.rest()
		addon := func() string {
			a := w.cloud.Things(awstest.Addons)[0]
			return strings.Join([]string{a.Attr["version"], a.Attr["configuration"], a.Attr["conflicts"], a.Attr["role"], a.Tags["fairlead.dev/preserve"], a.Attr["status"]}, " ")
		}
		if is := addon(); is != `v1.33.0-eksbuild.1 {"replicaCount": 3} PRESERVE arn:aws:iam::123456789012:role/dns false ACTIVE` {
			t.Errorf("the addon is %s", is)
		}
		w.change("{", "{addons: [{name: coredns, version: v1.33.0-eksbuild.1, configuration: 'replicaCount: 3', serviceAccountRoleARN: 'arn:aws:iam::123456789012:role/dns'}], ")
		if s, _ := w.look(); len(s.Drift) > 0 {
			t.Errorf("the same in YAML is %q", s.Drift)
		}
		w.change("{", "{addons: [{name: coredns, version: v1.33.0-eksbuild.2, preserveOnDelete: true}], ")
		w.rest()
		if is := addon(); is != "v1.33.0-eksbuild.2 {} OVERWRITE  true ACTIVE" || w.made("UpdateAddon") != 1 {
			t.Errorf("the addon is %s, after %d changes", is, w.made("UpdateAddon"))
		}
		w.change("{", "{")
		w.rest()
		time.Sleep(time.Minute)
		if k := w.cloud.Things(awstest.ManagedClusters)[0]; len(w.cloud.Things(awstest.Addons)) > 0 || !slices.Equal(k.Sets["preserved"], []string{"coredns"}) {
			t.Errorf("it is there, or what it installed is gone: %v", k.Sets["preserved"])
		}
		if len(w.errs) > 0 {
			t.Errorf("errors: %v", w.errs)
		}
	})
}

// TestDegradedAddon: CoreDNS is degraded until there are Nodes, which are made anyway.
func TestDegradedAddon(t *testing.T) {
	inCluster(t, addonsSpec(""), groupSpec, func(w *managedWorld) {
		pools := w.cluster.KeptPools
		w.cluster.KeptPools = nil
		w.rest()
		time.Sleep(time.Minute)
		if s, _ := w.look(); !s.Ready || len(s.Drift) > 0 || s.Message != "addon coredns is degraded: InsufficientNumberOfReplicas: The add-on is unhealthy because it doesn't have the desired number of replicas." {
			t.Errorf("%+v", s)
		}
		w.cluster.KeptPools = pools
		w.rest()
		if s, _ := w.look(); s.Message != "" {
			t.Errorf("with Nodes: %q", s.Message)
		}
	})
}

// TestAddonOfOthers: one that people made is not changed and not deleted.
func TestAddonOfOthers(t *testing.T) {
	inCluster(t, addonsSpec(""), groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Edit(w.cloud.Things(awstest.Addons)[0].ID, func(a *awstest.Thing) { a.Tags = map[string]string{} })
		w.change("{", "{addons: [{name: coredns, version: v1.33.0-eksbuild.2}], ")
		if s, _ := w.look(); !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "without the tags of this cluster") {
			t.Errorf("%+v", s)
		}
		wantKind(t, "an addon of others", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "keep what it installed")
		w.change("{", "{")
		w.rest()
		if n := w.made("UpdateAddon") + w.made("DeleteAddon") + w.made("TagResource"); n > 0 {
			t.Errorf("%d changes of it", n)
		}
	})
}

// TestAddonVersions: a version that EKS does not have shows with those that it has, and holds up nothing else. One of a
// newer Kubernetes waits for it.
func TestAddonVersions(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("{", "{addons: [{name: coredns, version: v1.34.0-eksbuild.1}, {name: vpc-cni, version: v1.33.0-eksbuild.1}], ")
		w.look()
		wantKind(t, "another version", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "EKS has it for Kubernetes 1.33 in the versions v1.20.0-eksbuild.1, v1.33.0-eksbuild.1, v1.33.0-eksbuild.2")
		if is := w.attr(awstest.Addons, "name"); is != "vpc-cni" {
			t.Errorf("the addon is %s", is)
		}
		found, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
		if told := func(f providers.Finding) bool {
			return f.Err != nil && strings.Contains(f.Err.Error(), "in the versions v1.20.0")
		}; err != nil || !slices.ContainsFunc(found, told) {
			t.Errorf("a check finds %v, %v", found, err)
		}
		w.change("v1.33.5", "v1.34, addons: [{name: coredns, version: v1.34.0-eksbuild.1}, {name: vpc-cni, version: v1.34.0-eksbuild.1}]")
		w.cluster.KeptPools[0].Version = "v1.34.0"
		w.errs = nil
		w.rest()
		if len(w.errs) > 0 {
			t.Errorf("errors: %v", w.errs)
		}
	})
}

// TestAddonThatFails: what EKS says shows. Another definition is another try, which loses nothing that runs.
func TestAddonThatFails(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.FailAddons("Conflicts found when trying to apply")
		w.change("{", "{addons: [{name: vpc-cni, version: v1.33.0-eksbuild.1, conflictResolution: none}], ")
		w.rest()
		time.Sleep(time.Minute)
		if s, _ := w.look(); !s.Ready || !strings.Contains(s.Message, "EKS could not create addon vpc-cni: ConfigurationConflict: Conflicts found when trying to apply") {
			t.Errorf("%+v", s)
		}
		w.cloud.FailAddons("")
		w.change("{", "{addons: [{name: vpc-cni, version: v1.33.0-eksbuild.2}], ")
		w.rest()
		time.Sleep(time.Minute)
		if is := w.attr(awstest.Addons, "status") + " " + w.attr(awstest.Addons, "version"); is != "ACTIVE v1.33.0-eksbuild.2" {
			t.Errorf("the addon is %s", is)
		}
		if k := w.cloud.Things(awstest.ManagedClusters)[0]; !slices.Equal(k.Sets["preserved"], []string{"vpc-cni"}) {
			t.Errorf("preserved %q", k.Sets["preserved"])
		}
		w.cloud.FailAddons("Conflicts found when trying to apply")
		w.change("{", "{addons: [{name: vpc-cni, version: v1.33.0-eksbuild.1}], ")
		w.step()
		time.Sleep(time.Minute)
		if s, _ := w.look(); !strings.Contains(s.Message, "EKS could not change addon vpc-cni") || len(s.Drift) != 1 {
			t.Errorf("%+v", s)
		}
		w.cloud.FailAddons("")
		w.rest()
	})
}

// TestUnlistedAddons: an agent that may not list addons looks after a cluster without them as ever. Where Git has some, people
// are told.
func TestUnlistedAddons(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Deny("ListAddons", true)
		w.errs = nil
		w.rest()
		if s, _ := w.look(); len(w.errs) > 0 || !s.Ready || len(s.Drift) > 0 {
			t.Errorf("ready %t, drift %q, errors %v", s.Ready, s.Drift, w.errs)
		}
		w.change("{", "{addons: [{name: coredns, version: v1.33.0-eksbuild.1}], ")
		wantKind(t, "addons in Git", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Unauthorized, "allow eks:ListAddons in the policy")
	})
}
