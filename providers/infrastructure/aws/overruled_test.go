package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// undone lets the steps of a planner go on for a time, while undo takes back what EKS accepts.
func (w *managedWorld) undone(d time.Duration, undo func()) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Second) {
		w.step()
		undo()
	}
}

// never has the updates of a kind of things of EKS end with nothing changed.
func (w *managedWorld) never(kind awstest.Kind, fields ...string) func() {
	return func() {
		for _, x := range w.cloud.Things(kind) {
			if x.Attr["status"] == "UPDATING" && slices.ContainsFunc(fields, func(f string) bool { return strings.Contains(x.Attr["then"], `"`+f+`"`) }) {
				w.cloud.Edit(x.ID, func(x *awstest.Thing) { x.Attr["then"] = "{}" })
			}
		}
	}
}

// TestDeniedUpdateHoldsNoOther: what the policy of a former version has no right for holds up nothing else.
func TestDeniedUpdateHoldsNoOther(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Deny("AssociateIdentityProviderConfig", true)
		w.cloud.Deny("AssociateEncryptionConfig", true)
		w.fargate(systemPods)
		w.change("{", "{"+identityProvider+"logging: {apiServer: true}, encryptionConfig: {provider: 'arn:aws:kms:eu-central-1:123456789012:key/a'}, upgradePolicy: standard, addons: [{name: coredns, version: v1.33.0-eksbuild.1}], ")
		for range 20 {
			w.step()
			time.Sleep(20 * time.Second)
		}
		if got := fmt.Sprint(len(w.cloud.Things(awstest.Addons)), len(w.cloud.Things(awstest.FargateProfiles)), w.attr(awstest.ManagedClusters, "support")); got != "1 1STANDARD" {
			t.Errorf("it has %s", got)
		}
	})
}

// TestOverruled: what EKS takes and does not have is requested every hour, holds up nothing else, and is told. Another value is another change.
func TestOverruled(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("{", "{logging: {apiServer: true}, upgradePolicy: standard, addons: [{name: coredns, version: v1.33.0-eksbuild.1}], ")
		w.cloud.Forget()
		for range 20 {
			w.step()
			w.never(awstest.ManagedClusters, "logging")()
			if s, _ := w.look(); w.attr(awstest.ManagedClusters, "status") == "ACTIVE" {
				if s.Message != "" || !strings.Contains(fmt.Sprint(s.Drift), "logging [] → [api]") {
					t.Errorf("at first: %+v", s)
				}
				break
			}
		}
		w.undone(30*time.Minute, w.never(awstest.ManagedClusters, "logging"))
		s, _ := w.look()
		if n := w.made("UpdateClusterConfig"); n != 2 || w.attr(awstest.ManagedClusters, "support") != "STANDARD" || len(w.cloud.Things(awstest.Addons)) != 1 {
			t.Errorf("%d changes, %s, %d addons, %+v", n, w.attr(awstest.ManagedClusters, "support"), len(w.cloud.Things(awstest.Addons)), s)
		}
		if !s.Ready || len(s.Drift) > 0 || !strings.Contains(s.Message, "EKS accepted a change and then did not have it: logging [] → [api] (") {
			t.Errorf("%+v", s)
		}
		w.undone(time.Hour, w.never(awstest.ManagedClusters, "logging"))
		if n := w.made("UpdateClusterConfig"); n != 3 {
			t.Errorf("%d changes after an hour more", n)
		}
		w.change("{", "{logging: {audit: true}, upgradePolicy: standard, addons: [{name: coredns, version: v1.33.0-eksbuild.1}], ")
		w.rest()
		if s, _ := w.look(); w.made("UpdateClusterConfig") != 4 || s.Message != "" || !strings.Contains(w.attr(awstest.ManagedClusters, "logging"), "audit") {
			t.Errorf("another value: %d changes, %+v", w.made("UpdateClusterConfig"), s)
		}
	})
}

// TestFailingAssociation: so is an identity provider that EKS could not use.
func TestFailingAssociation(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("{", "{"+identityProvider+"addons: [{name: coredns, version: v1.33.0-eksbuild.1}], ")
		w.cloud.Forget()
		w.undone(30*time.Minute, func() {
			for _, p := range w.cloud.Things(awstest.IdentityProviders) {
				w.cloud.Remove(p.ID)
			}
		})
		s, _ := w.look()
		if n := w.made("AssociateIdentityProviderConfig"); n != 1 || len(w.cloud.Things(awstest.Addons)) != 1 || !strings.Contains(s.Message, "did not have it: associate identity provider people (") {
			t.Errorf("%d changes, %d addons, %+v", n, len(w.cloud.Things(awstest.Addons)), s)
		}
	})
}

// TestOtherAssociation: one that EKS shows otherwise than it was associated is not associated again and again.
func TestOtherAssociation(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("{", "{"+identityProvider+"addons: [{name: coredns, version: v1.33.0-eksbuild.1}], ")
		w.cloud.Forget()
		w.undone(30*time.Minute, func() {
			for _, p := range w.cloud.Things(awstest.IdentityProviders) {
				w.cloud.Edit(p.ID, func(p *awstest.Thing) { p.Attr["oidc.groupsPrefix"] = "x" })
			}
		})
		s, _ := w.look()
		if n := w.made("AssociateIdentityProviderConfig"); n != 1 || len(w.cloud.Things(awstest.Addons)) != 1 || !strings.Contains(s.Message, "people, which differs in groupsPrefix") {
			t.Errorf("%d changes, %d addons, %+v", n, len(w.cloud.Things(awstest.Addons)), s)
		}
	})
}

// TestOverruledPool: the same of a node group, whose number and version are as Git says.
func TestOverruledPool(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		pool := &w.cluster.KeptPools[0]
		pool.Infrastructure = object(t, "AWSManagedMachinePool", "pool", strings.Replace(groupSpec, "tier: web", "tier: db", 1))
		pool.Count, pool.Version = 3, "v1.34.0"
		w.change("v1.33.5", "v1.34")
		w.cloud.Forget()
		w.undone(30*time.Minute, w.never(awstest.Nodegroups, "labels"))
		_, i := w.look()
		if n := w.made("UpdateNodegroupConfig"); n != 3 || !strings.Contains(i.Pools[0].Message, "did not have it: labels of its nodes differ (") || w.attr(awstest.Nodegroups, "desiredSize")+w.attr(awstest.Nodegroups, "version") != "31.34" {
			t.Errorf("%d changes, %+v", n, i.Pools)
		}
	})
}

// TestOverruledNumber: the number of machines is tried alone, and neither in a loop.
func TestOverruledNumber(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		pool := &w.cluster.KeptPools[0]
		pool.Infrastructure = object(t, "AWSManagedMachinePool", "pool", strings.Replace(groupSpec, "tier: web", "tier: db", 1))
		pool.Count = 3
		w.undone(30*time.Minute, w.never(awstest.Nodegroups, "desiredSize"))
		if n := w.made("UpdateNodegroupConfig"); n != 2 {
			t.Errorf("%d changes", n)
		}
	})
}

// TestOverruledForLong: the hour begins once EKS gave up.
func TestOverruledForLong(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("v1.33.5", "v1.34")
		w.undone(3*time.Hour, func() {
			for _, k := range w.cloud.Things(awstest.ManagedClusters) {
				if strings.Contains(k.Attr["then"], "1.34") && k.Attr["status"] == "UPDATING" {
					w.cloud.Edit(k.ID, func(k *awstest.Thing) {
						k.Attr["then"], k.Attr["until"] = "{}", time.Now().Add(70*time.Minute).Format(time.RFC3339Nano)
					})
				}
			}
		})
		if n := w.made("UpdateClusterVersion"); n != 2 {
			t.Errorf("%d changes", n)
		}
	})
}

// TestOverruledRequests: what holds up nothing is not requested in a loop, too.
func TestOverruledRequests(t *testing.T) {
	const entries = "{accessConfig: {authenticationMode: api}, accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/ops', kubernetesGroups: [ops], accessPolicies: [{policyARN: 'arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy'}]}], additionalTags: {team: a}, "
	inCluster(t, planeSpec, strings.Replace(groupSpec, "{", "{additionalTags: {team: a}, ", 1), func(w *managedWorld) {
		w.fargate(systemPods)
		w.change("{", entries+identityProvider+"addons: [{name: coredns, version: v1.33.0-eksbuild.1}], ")
		w.rest()
		time.Sleep(time.Minute)
		w.rest()
		w.cloud.Forget()
		kinds := []awstest.Kind{awstest.ManagedClusters, awstest.Nodegroups, awstest.Addons, awstest.FargateProfiles, awstest.IdentityProviders}
		undo := func() {
			for _, k := range kinds {
				for _, x := range w.cloud.Things(k) {
					w.cloud.Edit(x.ID, func(x *awstest.Thing) { delete(x.Tags, "team") })
				}
			}
			for _, e := range w.cloud.Things(awstest.AccessEntries) {
				if strings.HasSuffix(e.Attr["principal"], "role/ops") {
					w.cloud.Edit(e.ID, func(e *awstest.Thing) { e.Sets["groups"], e.Attr["policies"] = nil, "[]" })
				}
			}
		}
		undo()
		w.undone(30*time.Minute, undo)
		if got := fmt.Sprint(w.made("TagResource"), w.made("UpdateAccessEntry"), w.made("AssociateAccessPolicy")); got != fmt.Sprint(len(kinds), 1, 1) {
			t.Errorf("%s requests", got)
		}
		w.change("{", strings.Replace(entries, "additionalTags: {team: a}, ", "", 1)+"encryptionConfig: {provider: 'arn:aws:kms:eu-central-1:123456789012:key/a'}, addons: [{name: coredns, version: v1.33.0-eksbuild.2}], ")
		w.undone(30*time.Minute, func() {
			w.never(awstest.ManagedClusters, "encryption")()
			w.never(awstest.Addons, "version")()
			for _, p := range w.cloud.Things(awstest.IdentityProviders) {
				w.cloud.Edit(p.ID, func(p *awstest.Thing) { p.Attr["status"] = "ACTIVE" })
			}
		})
		if got := fmt.Sprint(w.made("DisassociateIdentityProviderConfig"), w.made("AssociateEncryptionConfig"), w.made("UpdateAddon")); got != "1 1 1" {
			t.Errorf("%s requests", got)
		}
	})
}

// TestDeniedTagsOfAPool: tags that a policy denies hold up nothing of a node group, and neither does a denied setting.
func TestDeniedTagsOfAPool(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		pool := &w.cluster.KeptPools[0]
		pool.Infrastructure = object(t, "AWSManagedMachinePool", "pool", strings.Replace(groupSpec, "{", "{additionalTags: {team: a}, ", 1))
		pool.Count = 3
		w.cloud.Deny("TagResource", true)
		for range 10 {
			w.step()
		}
		if n := w.attr(awstest.Nodegroups, "desiredSize"); n != "3" {
			t.Errorf("the pool has %s machines, %v", n, w.errs)
		}
		w.cloud.Deny("UpdateNodegroupConfig", true)
		pool.Count, pool.Version = 4, "v1.34.0"
		w.change("v1.33.5", "v1.34")
		for range 30 {
			w.step()
		}
		if v := w.attr(awstest.Nodegroups, "version"); v != "1.34" || !strings.Contains(fmt.Sprint(w.errs), "allow eks:UpdateNodegroupConfig") {
			t.Errorf("the pool has %s, %v", v, w.errs)
		}
	})
}
