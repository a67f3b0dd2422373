package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// fargate gives the cluster AWSFargateProfiles with specs, each called as its profile.
func (w *managedWorld) fargate(specs ...string) {
	w.Helper()
	w.cluster.Companions = nil
	for _, spec := range specs {
		_, name, _ := strings.Cut(spec, "profileName: ")
		name, _, _ = strings.Cut(name, ",")
		w.cluster.Companions = append(w.cluster.Companions, object(w, "AWSFargateProfile", name, strings.Replace(spec, "{", "{clusterName: eu-1, ", 1)))
	}
}

// The Fargate profiles of most tests.
const (
	systemPods = "{profileName: system, selectors: [{namespace: kube-system, labels: {k8s-app: kube-dns}}]}"
	batchPods  = "{profileName: batch, roleName: pods, additionalTags: {team: b}, selectors: [{namespace: 'batch-*'}]}"
)

// profiles returns the names of the Fargate profiles and their states.
func (w *managedWorld) profiles() string {
	var out []string
	for _, t := range w.cloud.Things(awstest.FargateProfiles) {
		out = append(out, t.Attr["name"]+" "+t.Attr["status"])
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestFargate: Fargate profiles are made one after the other in private subnets, and go once they left Git, and before the cluster.
func TestFargate(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.fargate(systemPods, batchPods)
		before := w.cloud.Contents()
		w.rest()
		time.Sleep(time.Minute)
		if is := w.profiles(); is != "batch ACTIVE, system ACTIVE" || w.made("CreateFargateProfile") != 2 {
			t.Errorf("profiles %q, made with %d requests", is, w.made("CreateFargateProfile"))
		}
		for _, p := range w.cloud.Things(awstest.FargateProfiles) {
			if p.Attr["name"] == "batch" && (!w.cluster.Owns(p.Tags) || p.Tags["team"] != "b" || p.Attr["role"] != "arn:aws:iam::123456789012:role/pods" || p.Attr["selectors"] != `[{"namespace":"batch-*"}]` || strings.Count(p.Attr["subnets"], "subnet-") != 3) {
				t.Errorf("it is %+v", p)
			}
		}
		w.fargate(systemPods, strings.Replace(batchPods, "team: b", "team: c", 1))
		w.rest()
		if n := w.made("TagResource"); n != 1 {
			t.Errorf("%d requests for tags", n)
		}
		w.fargate(batchPods)
		w.rest()
		time.Sleep(time.Minute)
		if is := w.profiles(); is != "batch ACTIVE" {
			t.Errorf("profiles %q", is)
		}
		w.fargate(systemPods, systemPods) // what Git says cannot be read
		for range 3 {
			w.step()
			time.Sleep(time.Minute)
		}
		if is := w.profiles(); is != "batch ACTIVE, system ACTIVE" {
			t.Errorf("profiles %q", is)
		}
		w.errs = nil
		w.fargate(systemPods, batchPods)
		w.rest()
		time.Sleep(time.Minute)
		w.quiet()
		w.cluster.Delete = true
		w.rest()
		if after := w.cloud.Contents(); !slices.Equal(after, before) {
			t.Errorf("left: %q", after)
		}
		w.quiet()
	})
}

// TestFargateStays: EKS changes nothing of a profile. Another name makes another one, and one of others is left alone.
func TestFargateStays(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.fargate(systemPods)
		w.rest()
		time.Sleep(time.Minute)
		w.fargate(strings.Replace(systemPods, "kube-dns", "dns", 1))
		if s, _ := w.look(); !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "change selectors: Fargate profile system keeps what it has (set another profileName") {
			t.Errorf("%+v", s)
		}
		w.fargate(strings.Replace(strings.Replace(systemPods, "kube-dns", "dns", 1), "system,", "dns,", 1))
		w.rest()
		time.Sleep(time.Minute)
		if is := w.profiles(); is != "dns ACTIVE" {
			t.Errorf("profiles %q", is)
		}
		w.quiet()
		w.cloud.Edit(w.cloud.Things(awstest.FargateProfiles)[0].ID, func(p *awstest.Thing) { p.Tags = map[string]string{} })
		wantKind(t, "one of others", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "Fargate profile dns is there without the tags of this cluster (set another profileName")
		w.fargate()
		w.rest()
		if is := w.profiles(); is != "dns ACTIVE" {
			t.Errorf("profiles %q", is)
		}
		w.cluster.Delete = true
		for range 20 {
			w.step()
		}
		if is := w.profiles(); is != "dns ACTIVE" || !strings.Contains(w.errs[len(w.errs)-1].Error(), "dns has not its tags (delete it in AWS)") {
			t.Errorf("profiles %q, errors %v", is, w.errs)
		}
	})
}

// TestFargateFails: what EKS says shows. Another definition is another try.
func TestFargateFails(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.fargate(systemPods, batchPods)
		w.cloud.FailFargate("no role")
		w.rest()
		time.Sleep(time.Minute)
		if s, _ := w.look(); !s.Ready || !strings.Contains(s.Message, "EKS could not create Fargate profile system: PodExecutionRoleAlreadyInUse: no role (fix that, and delete the profile in AWS") {
			t.Errorf("%+v", s)
		}
		w.cloud.FailFargate("")
		w.fargate(strings.Replace(systemPods, "{", "{roleName: others, ", 1), batchPods)
		w.rest()
		time.Sleep(time.Minute)
		if is := w.profiles(); is != "batch CREATE_FAILED, system ACTIVE" {
			t.Errorf("profiles %q", is)
		}
		w.quiet()
	})
}

// TestFargateOfOthers: a profile names its cluster, two have two names, and a cluster of machines has none.
func TestFargateOfOthers(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cluster.Companions = []fleet.Object{object(t, "AWSFargateProfile", "a", strings.Replace(systemPods, "{", "{clusterName: eu-2, ", 1))}
		w.rest()
		if is := w.profiles(); is != "" {
			t.Errorf("profiles %q", is)
		}
		w.fargate(systemPods)
		w.cluster.Companions = append(w.cluster.Companions, object(t, "AWSFargateProfile", "b", strings.Replace(systemPods, "{", "{clusterName: eu-1, ", 1)))
		w.look()
		wantKind(t, "two of a name", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "read AWSFargateProfile b: system has the profileName system, too")
	})
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.cluster.Companions = []fleet.Object{object(t, "AWSFargateProfile", "a", strings.Replace(systemPods, "{", "{clusterName: eu-1, ", 1))}
		wantKind(t, "a cluster of machines", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Invalid, "Fargate is for clusters of EKS")
	})
}

// TestUnlistedFargate: an agent that may not list Fargate profiles looks after a cluster without them as ever, and deletes it.
func TestUnlistedFargate(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Deny("ListFargateProfiles", true)
		w.rest()
		if s, _ := w.look(); !s.Ready || len(s.Drift) > 0 {
			t.Errorf("%+v", s)
		}
		w.quiet()
		w.fargate(systemPods)
		wantKind(t, "profiles in Git", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Unauthorized, "allow eks:ListFargateProfiles in the policy")
		w.fargate()
		w.cluster.Delete = true
		w.rest()
		w.quiet()
	})
}

// TestFargateDenied: a right that is missing for Fargate profiles in Git is told, and holds up nothing else. What is wrong with a profile of
// others is theirs.
func TestFargateDenied(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.fargate(systemPods)
		w.rest()
		time.Sleep(time.Minute)
		w.cloud.Edit(w.cloud.Things(awstest.FargateProfiles)[0].ID, func(p *awstest.Thing) {
			p.Tags, p.Attr["issues"] = map[string]string{}, `[{"code": "AccessDenied", "message": "of others"}]`
		})
		w.fargate()
		if s, _ := w.look(); !s.Ready || strings.Contains(s.Message, "of others") {
			t.Errorf("%+v", s)
		}
		w.fargate(systemPods)
		w.cloud.Deny("ListFargateProfiles", true)
		w.change("{", "{additionalTags: {team: a}, ")
		s, _ := w.look()
		w.say(w.plane.Ensure(w.Context(), w.op(), &w.cluster))
		if tags := w.cloud.Things(awstest.ManagedClusters)[0].Tags; !s.Ready || !strings.Contains(strings.Join(s.Drift, " "), "allow eks:ListFargateProfiles") || tags["team"] != "a" {
			t.Errorf("%+v, tags %v", s, tags)
		}
	})
}

// TestFargateOfOrphans: a lost cluster of EKS goes after its Fargate profiles.
func TestFargateOfOrphans(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.fargate(systemPods, batchPods)
		w.rest()
		time.Sleep(time.Minute)
		other := w.cluster
		other.Key.Name = "eu-2"
		all := []*fleet.Cluster{&other}
		told := ""
		for range 20 {
			found, err := w.provider.Orphans(w.Context(), "fleet-a", all)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range found {
				err := w.provider.RemoveOrphan(w.Context(), "fleet-a", all, o)
				if err != nil && fleet.KindOf(err) != fleet.Unavailable {
					t.Errorf("%v", err)
				}
				told += fmt.Sprint(err)
			}
			time.Sleep(time.Minute)
		}
		if left := len(w.cloud.Things(awstest.ManagedClusters)) + len(w.cloud.Things(awstest.FargateProfiles)); left > 0 {
			t.Errorf("left: %q", w.cloud.Contents())
		}
		if !strings.Contains(told, "its Fargate profiles are being deleted first") {
			t.Errorf("people are told %s", told)
		}
	})
}

// TestFargateSweep: an agent that dies at any call makes no profile twice, and the next one brings all to the same end.
func TestFargateSweep(t *testing.T) {
	live := func(w *managedWorld, client *awstest.Client) {
		w.start(client)
		rest := func() {
			for range 100 {
				if client.Dead() {
					client = w.cloud.Client()
					w.start(client)
				}
				if w.step() && !client.Dead() {
					return
				}
			}
			w.Fatalf("not at rest: %v", w.errs)
		}
		w.fargate(systemPods)
		rest()
		w.fargate(batchPods)
		rest()
		w.cluster.Delete = true
		rest()
		if left := w.cloud.Things(awstest.FargateProfiles); len(left) > 0 {
			w.Errorf("left: %v", left)
		}
	}
	changes := 0
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		client := w.cloud.Client()
		live(w, client)
		changes = client.Changes()
	})
	for n := 1; n <= changes; n++ {
		for _, cut := range []awstest.Cut{awstest.Before, awstest.After} {
			inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
				client := w.cloud.Client()
				client.DieAtChange(n, cut)
				live(w, client)
			})
		}
	}
}

// TestCheckOfFargate: without private subnets there is no Fargate, which a check and EKS say.
func TestCheckOfFargate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		vpc, public, _ := c.AddVPC("10.7.0.0/16")
		var subnets []string
		for _, id := range public {
			subnets = append(subnets, "{id: "+id+"}")
		}
		w := &managedWorld{T: t, cloud: c, cluster: newManaged(t, strings.Replace(planeSpec, "{", "{network: {vpc: {id: "+vpc+"}, subnets: ["+strings.Join(subnets, ", ")+"]}, ", 1), groupSpec)}
		w.start(c.Client())
		w.fargate(systemPods)
		found, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
		if told := func(f providers.Finding) bool {
			return f.Err != nil && strings.Contains(f.Err.Error(), "find private subnets for Fargate")
		}; err != nil || !slices.ContainsFunc(found, told) {
			t.Errorf("a check finds %v, %v", found, err)
		}
		for range 30 {
			w.step()
		}
		wantKind(t, "in public subnets", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "the network has no private subnets (name some in subnetIDs)")
		w.fargate(strings.Replace(systemPods, "{", "{subnetIDs: ["+public[0]+"], ", 1))
		wantKind(t, "in a named one", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "provided in Fargate Profile is not a private subnet")
	})
}

// TestFargateOneAfterTheOther: the profiles of a cluster that goes are deleted one by one, without a request that EKS refuses.
func TestFargateOneAfterTheOther(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.fargate(systemPods, batchPods)
		w.rest()
		time.Sleep(time.Minute)
		w.cloud.Forget()
		w.cluster.Delete = true
		w.rest()
		if n := w.made("DeleteFargateProfile"); n != 2 || len(w.errs) > 0 {
			t.Errorf("%d requests, %v", n, w.errs)
		}
	})
}
