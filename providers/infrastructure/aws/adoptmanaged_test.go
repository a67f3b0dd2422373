package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// An adoptingManaged is a cluster of EKS that Cluster API's provider made, and manifests as it leaves them.
type adoptingManaged struct {
	*managedWorld
	left     *awstest.LeftByCAPA
	machines []providers.AdoptedMachine
	spec     string // of the control plane
}

// their are the tags of a part of the cluster of EKS.
func their() map[string]any {
	return map[string]any{"kubernetes.io/cluster/prod_eu-1": "owned"}
}

// adoptsManaged runs f on a cluster of EKS of Cluster API with a node group, an addon, a Fargate profile, an OIDC provider
// and an identity provider.
func adoptsManaged(t *testing.T, f func(w *adoptingManaged)) {
	t.Helper()
	adoptsManagedIn(t, "API_AND_CONFIG_MAP", f)
}

// adoptsManagedIn is adoptsManaged with a way into the cluster. By aws-auth alone there are no machines of MachineDeployments.
func adoptsManagedIn(t *testing.T, mode string, f func(w *adoptingManaged)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		w := &adoptingManaged{managedWorld: &managedWorld{T: t, cloud: c}, left: c.AddCAPA(awstest.CAPA{Name: "eu-1", Managed: "prod_eu-1", Workers: map[bool]int{true: 0, false: 1}[mode == "CONFIG_MAP"], More: map[string]any{
			"accessConfig": map[string]any{"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": true},
		}})}
		do := func(action string, body map[string]any) {
			t.Helper()
			body["clusterName"], body["tags"] = "prod_eu-1", their()
			if err := c.Do(action, body); err != nil {
				t.Fatalf("%s: %v", action, err)
			}
			time.Sleep(3 * time.Minute) // until EKS is through with it
		}
		var private []any
		for _, s := range c.Things(awstest.Subnets) {
			if s.Tags["sigs.k8s.io/cluster-api-provider-aws/role"] == "private" {
				private = append(private, s.ID)
			}
		}
		role := "arn:aws:iam::123456789012:role/"
		do("CreateNodegroup", map[string]any{
			"nodegroupName": "prod_pool", "nodeRole": role + "eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io", "subnets": private, "instanceTypes": []any{"m6i.large"},
			"amiType": "AL2_x86_64", "labels": map[string]any{"tier": "web"}, "scalingConfig": map[string]any{"minSize": 1.0, "maxSize": 3.0, "desiredSize": 2.0},
			"capacityType": "ON_DEMAND", "updateConfig": map[string]any{"maxUnavailable": 1.0},
		})
		entries := ""
		if mode != "CONFIG_MAP" {
			do("CreateAccessEntry", map[string]any{"principalArn": role + "nodes", "type": "EC2_LINUX"})
			if err := c.Do("CreateAccessEntry", map[string]any{"clusterName": "prod_eu-1", "principalArn": role + "people"}); err != nil {
				t.Fatal(err)
			}
			entries = `, accessEntries: [{principalARN: "arn:aws:iam::123456789012:role/nodes", type: ec2_linux}, {principalARN: "arn:aws:iam::123456789012:role/people"}]`
		}
		do("CreateAddon", map[string]any{"addonName": "vpc-cni", "addonVersion": "v1.20.0-eksbuild.1", "resolveConflicts": "OVERWRITE"})
		do("CreateFargateProfile", map[string]any{
			"fargateProfileName": "prod_batch", "podExecutionRoleArn": role + "eks-fargate.cluster-api-provider-aws.sigs.k8s.io", "subnets": private,
			"selectors": []any{map[string]any{"namespace": "batch"}},
		})
		do("AssociateIdentityProviderConfig", map[string]any{"oidc": map[string]any{"identityProviderConfigName": "people", "issuerUrl": "https://id.example.com", "clientId": "fairlead"}})
		if err := c.TrustAsCAPA("prod_eu-1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		w.spec = fmt.Sprintf(`{region: eu-central-1, version: v1.33.5, eksClusterName: prod_eu-1, identityRef: {kind: AWSClusterControllerIdentity, name: default}, roleName: eks-controlplane.cluster-api-provider-aws.sigs.k8s.io,
  accessConfig: {authenticationMode: %s, bootstrapClusterCreatorAdminPermissions: true}%s,
  bootstrapSelfManagedAddons: true, associateOIDCProvider: true, tokenMethod: iam-authenticator, endpointAccess: {public: true, private: false}, logging: {apiServer: false, audit: false, authenticator: false, controllerManager: false, scheduler: false}, addons: [{name: vpc-cni, version: v1.20.0-eksbuild.1, conflictResolution: overwrite}],
  oidcIdentityProviderConfig: {identityProviderConfigName: people, issuerUrl: "https://id.example.com", clientId: fairlead},
  network: {vpc: {id: %s, cidrBlock: 10.0.0.0/16, internetGatewayId: igw-1, availabilityZoneUsageLimit: 3, tags: {Name: eu-1-vpc, sigs.k8s.io/cluster-api-provider-aws/cluster/eu-1: owned}}, subnets: [%s]}}`, strings.ToLower(mode), entries, w.left.VPC, strings.Join(w.left.Subnets, ", "))
		w.cluster = newManaged(t, w.spec,
			`{eksNodegroupName: prod_pool, instanceType: m6i.large, amiType: AL2_x86_64, capacityType: onDemand, labels: {tier: web}, scaling: {minSize: 1, maxSize: 3}, updateConfig: {maxUnavailable: 1}, roleName: eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io}`)
		w.cluster.Companions = append(w.cluster.Companions, object(t, "AWSFargateProfile", "batch", `{clusterName: eu-1, profileName: prod_batch, roleName: eks-fargate.cluster-api-provider-aws.sigs.k8s.io, selectors: [{namespace: batch}]}`))
		if len(w.left.Workers) > 0 {
			w.employ(workerSpec, 1)
		}
		for n, id := range w.left.Workers {
			w.machines = append(w.machines, providers.AdoptedMachine{
				Name: fleet.MachineName(fmt.Sprintf("eu-1-md-0-%d", n)), Pool: w.cluster.Workers[0].Name, ID: fleet.ProviderID("aws:///" + w.left.Zones[id] + "/" + id), FailureDomain: w.left.Zones[id],
			})
		}
		w.start(c.Client())
		defer w.provider.Close()
		f(w)
	})
}

// ofFairlead returns the ids of the things with tags of Fairlead, sorted.
func (w *managedWorld) ofFairlead() (out []string) {
	for _, line := range w.cloud.Contents() {
		_, id, _ := strings.Cut(line, " ")
		x, _ := w.cloud.Thing(id)
		for k := range x.Tags {
			if strings.HasPrefix(k, "fairlead.dev/") {
				out = append(out, id)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestAdoptManaged: a cluster of EKS that Cluster API made gets tags, with all that EKS keeps of it, and nothing else changes:
// there is nothing to do afterwards, and it can be given back. Then it is changed and deleted as one that Fairlead made.
func TestAdoptManaged(t *testing.T) {
	adoptsManaged(t, func(w *adoptingManaged) {
		w.look()
		before := contentsOf(w.cloud)
		w.cloud.Forget()
		untagged, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines)
		if err != nil || len(untagged) < 20 {
			w.Fatalf("to be marked are %q, %v", untagged, err)
		}
		if !strings.Contains(strings.Join(untagged, " "), "OIDC provider arn:aws:iam:") {
			w.Errorf("the OIDC provider is not to be marked: %q", untagged)
		}
		for _, what := range []string{"cluster prod_eu-1 of EKS", "node group prod_pool", "access entry of arn:aws:iam::123456789012:role/nodes", "addon vpc-cni", "Fargate profile prod_batch", "identity provider people"} {
			if !slices.Contains(untagged, what) {
				w.Errorf("%s is not to be marked: %q", what, untagged)
			}
		}
		if slices.ContainsFunc(untagged, func(what string) bool {
			return strings.Contains(what, "people") && !strings.HasPrefix(what, "identity")
		}) {
			w.Errorf("what people made is to be marked: %q", untagged)
		}
		if done := changesOf(w.cloud); len(done) > 0 {
			w.Errorf("to look called %q", done)
		}
		for range 2 {
			if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
				w.Fatal(err)
			}
			time.Sleep(settle)
		}
		if left, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines); err != nil || len(left) > 0 {
			w.Errorf("left are %q, %v", left, err)
		}
		if d := cmp.Diff(before, contentsOf(w.cloud)); d != "" {
			w.Errorf("more than tags of Fairlead changed: %s", d)
		}
		w.cloud.Forget()
		if s, i := w.look(); !s.Ready || len(s.Drift) > 0 || s.Message != "" || len(i.Machines) != 1 || i.Machines[0].Damaged != "" || len(i.Pools) != 1 || len(i.Pools[0].Drift)+len(i.Pools[0].Fixed) > 0 || i.Pools[0].Message != "" {
			w.Errorf("it is %+v, with %+v", s, i)
		}
		if !w.step() || len(w.errs) > 0 {
			w.Errorf("there is something to do: %v", w.errs)
		}
		if err := w.plane.Ensure(w.Context(), "op", &w.cluster); err != nil {
			w.Error(err)
		}
		if done := changesOf(w.cloud); len(done) > 0 {
			w.Errorf("nothing is to do, and %q was called", done)
		}
		if err := w.provider.Release(w.Context(), &w.cluster, w.machines); err != nil {
			w.Fatal(err)
		}
		if left := w.ofFairlead(); len(left) > 0 || cmp.Diff(before, contentsOf(w.cloud)) != "" {
			w.Errorf("given back, tags are on %q: %s", left, cmp.Diff(before, contentsOf(w.cloud)))
		}
		if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		w.cluster.KeptPools[0].Count, w.cluster.Companions = 1, nil
		w.rest()
		if n := len(w.cloud.Things(awstest.FargateProfiles)); n != 0 || w.attr(awstest.Nodegroups, "desiredSize") != "1" {
			w.Errorf("%d Fargate profiles, %s machines", n, w.attr(awstest.Nodegroups, "desiredSize"))
		}
		w.cluster.Delete = true
		w.rest()
		if left := w.cloud.Contents(); len(left) > 0 || len(w.errs) > 0 {
			w.Errorf("left: %q, %v", left, w.errs)
		}
	})
}

// TestAdoptManagedRefuses: what is not Cluster API's, or is not at rest, is not adopted, and the error says what to do.
func TestAdoptManagedRefuses(t *testing.T) {
	plane := func(w *adoptingManaged, change func(t *awstest.Thing)) {
		w.cloud.Edit("arn:aws:eks:eu-central-1:123456789012:cluster/prod_eu-1", change)
	}
	only := func(w *adoptingManaged, k awstest.Kind, change func(t *awstest.Thing)) {
		w.cloud.Edit(w.cloud.Things(k)[0].ID, change)
	}
	untag := func(t *awstest.Thing) { clear(t.Tags) }
	const theirs = "has no tag kubernetes.io/cluster/prod_eu-1=owned: Cluster API did not make it (leave it out, or delete it in AWS)"
	for name, tc := range map[string]struct {
		edit func(w *adoptingManaged)
		kind fleet.ErrorKind
		text string
	}{
		"no cluster": {
			func(w *adoptingManaged) { w.cloud.Remove("arn:aws:eks:eu-central-1:123456789012:cluster/prod_eu-1") }, fleet.NotFound,
			"EKS has no cluster prod_eu-1 in eu-central-1 (name the account and region of Cluster API in identityRef and region)",
		},
		"of people": {func(w *adoptingManaged) { plane(w, untag) }, fleet.Invalid, "has no tag sigs.k8s.io/cluster-api-provider-aws/cluster/prod_eu-1=owned: Cluster API did not make it"},
		"of another fleet": {func(w *adoptingManaged) {
			plane(w, func(t *awstest.Thing) {
				t.Tags["fairlead.dev/fleet"], t.Tags["fairlead.dev/cluster"] = "fleet-b", "prod/eu-1"
			})
		}, fleet.Conflict, "cluster prod_eu-1 of EKS belongs to cluster prod/eu-1 of fleet fleet-b"},
		"at work":              {func(w *adoptingManaged) { plane(w, func(t *awstest.Thing) { t.Attr["status"] = "UPDATING" }) }, fleet.Conflict, "cluster prod_eu-1 of EKS is UPDATING (wait until it is ACTIVE)"},
		"no node group":        {func(w *adoptingManaged) { w.cloud.Remove(w.cloud.Things(awstest.Nodegroups)[0].ID) }, fleet.NotFound, "cluster prod_eu-1 of EKS has no node group prod_pool"},
		"node group of people": {func(w *adoptingManaged) { only(w, awstest.Nodegroups, untag) }, fleet.Conflict, "node group prod_pool " + theirs},
		"node group at work": {func(w *adoptingManaged) {
			only(w, awstest.Nodegroups, func(t *awstest.Thing) { t.Attr["status"] = "UPDATING" })
		}, fleet.Conflict, "node group prod_pool is UPDATING (wait until it is ACTIVE)"},
		"launch template": {func(w *adoptingManaged) {
			only(w, awstest.Nodegroups, func(t *awstest.Thing) { t.Attr["template"], t.Attr["templateVersion"] = "lt-1", "1" })
		}, fleet.Invalid, "node group prod_pool has launch template lt-1, and such pools are not adopted"},
		"addon of people":      {func(w *adoptingManaged) { only(w, awstest.Addons, untag) }, fleet.Conflict, "addon vpc-cni " + theirs},
		"no Fargate profile":   {func(w *adoptingManaged) { w.cloud.Remove(w.cloud.Things(awstest.FargateProfiles)[0].ID) }, fleet.NotFound, "cluster prod_eu-1 of EKS has no Fargate profile prod_batch"},
		"profile of people":    {func(w *adoptingManaged) { only(w, awstest.FargateProfiles, untag) }, fleet.Conflict, "Fargate profile prod_batch " + theirs},
		"no identity provider": {func(w *adoptingManaged) { w.cloud.Remove(w.cloud.Things(awstest.IdentityProviders)[0].ID) }, fleet.NotFound, "cluster prod_eu-1 of EKS has no identity provider people"},
		"another identity provider": {func(w *adoptingManaged) {
			only(w, awstest.IdentityProviders, func(t *awstest.Thing) { t.Attr["name"], t.Attr["oidc.identityProviderConfigName"] = "others", "others" })
		}, fleet.NotFound, "cluster prod_eu-1 of EKS has no identity provider people"},
		"no OIDC provider": {func(w *adoptingManaged) { w.cloud.Remove(w.cloud.Things(awstest.Trusts)[0].ID) }, fleet.NotFound, "IAM has no OIDC provider arn:aws:iam::123456789012:oidc-provider/"},
		"machine elsewhere": {func(w *adoptingManaged) {
			w.cloud.Edit(w.left.Workers[0], func(t *awstest.Thing) { t.Attr["vpcId"] = "vpc-9" })
		}, fleet.Conflict, "and others are in"},
	} {
		t.Run(name, func(t *testing.T) {
			adoptsManaged(t, func(w *adoptingManaged) {
				tc.edit(w)
				time.Sleep(2 * tick)
				w.cloud.Forget()
				_, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines)
				wantKind(w, "to look", err, tc.kind, tc.text)
				wantKind(w, "to adopt", w.provider.Adopt(w.Context(), &w.cluster, w.machines), tc.kind, tc.text)
				if done := changesOf(w.cloud); len(done) > 0 {
					t.Errorf("%q was called", done)
				}
			})
		})
	}
}

// TestAdoptManagedAgain: an adoption, or the end of one, that breaks off at any request goes on when it is asked for again.
func TestAdoptManagedAgain(t *testing.T) {
	for n := 0; ; n++ {
		through := false
		adoptsManaged(t, func(w *adoptingManaged) {
			w.look()
			before := contentsOf(w.cloud)
			remove := w.cloud.Inject(awstest.Fault{Changes: true, Skip: n, Times: 1, Cut: awstest.Before})
			failed := w.provider.Adopt(w.Context(), &w.cluster, w.machines) != nil
			remove()
			time.Sleep(settle)
			if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
				w.Errorf("after request %d: %v", n, err)
			}
			time.Sleep(settle)
			all := w.ofFairlead()
			if !w.step() || len(w.errs) > 0 {
				w.Errorf("after request %d there is something to do: %v", n, w.errs)
			}
			remove = w.cloud.Inject(awstest.Fault{Changes: true, Skip: n, Times: 1, Cut: awstest.After})
			_ = w.provider.Release(w.Context(), &w.cluster, w.machines)
			remove()
			time.Sleep(settle)
			if err := w.provider.Release(w.Context(), &w.cluster, w.machines); err != nil || len(w.ofFairlead()) > 0 {
				w.Errorf("given back after request %d: %v, of %d things %q still have tags", n, err, len(all), w.ofFairlead())
			}
			if d := cmp.Diff(before, contentsOf(w.cloud)); d != "" {
				w.Errorf("request %d: %s", n, d)
			}
			through = !failed
		})
		if through {
			if n < 20 {
				t.Errorf("%d requests", n)
			}
			return
		}
	}
}

// TestAdoptManagedByConfigMap: without access entries none are looked for, and an OIDC provider of people stays theirs.
func TestAdoptManagedByConfigMap(t *testing.T) {
	adoptsManagedIn(t, "CONFIG_MAP", func(w *adoptingManaged) {
		trust := w.trust().ID
		w.cloud.Edit(trust, func(t *awstest.Thing) { clear(t.Tags) })
		before := contentsOf(w.cloud)
		if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		w.cloud.Forget()
		if !w.step() || len(w.errs) > 0 || len(changesOf(w.cloud)) > 0 || slices.Contains(w.ofFairlead(), trust) {
			w.Errorf("there is something to do: %v, called %q, tags are on %q", w.errs, changesOf(w.cloud), w.ofFairlead())
		}
		if w.made("ListAccessEntries")+w.made("DescribeAccessEntry") > 0 {
			w.Error("access entries were looked for")
		}
		if err := w.provider.Release(w.Context(), &w.cluster, w.machines); err != nil || len(w.ofFairlead()) > 0 {
			w.Errorf("given back: %v, tags are on %q", err, w.ofFairlead())
		}
		setPlane(w, &w.cluster, strings.Replace(w.spec, "authenticationMode: config_map,", "authenticationMode: api_and_config_map,", 1)[:len(w.spec)+len("api_and_")-1]+", accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/a'}]}")
		if _, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines); err != nil {
			w.Errorf("with entries in Git: %v", err)
		}
		if d := cmp.Diff(before, contentsOf(w.cloud)); d != "" {
			w.Error(d)
		}
	})
}
