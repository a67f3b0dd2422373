package aws_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// templateSpec is a node group with a launch template.
const templateSpec = `{eksNodegroupName: prod_pool, labels: {tier: web}, capacityType: spot, additionalTags: {team: web}, awsLaunchTemplate: {instanceType: m6i.large, sshKeyName: ops,
	rootVolume: {size: 30}, nonRootVolumes: [{deviceName: /dev/sdb, size: 100, encrypted: true}], privateDnsName: {hostnameType: resource-name}}}`

// group writes another spec of the pool into Git.
func (w *managedWorld) group(spec string) {
	w.Helper()
	w.cluster.KeptPools[0].Infrastructure = object(w, "AWSManagedMachinePool", "pool", spec)
}

// template returns the only launch template, and the version of it that the node group has.
func (w *managedWorld) template() (t awstest.Thing, version string) {
	w.Helper()
	all := w.cloud.Things(awstest.LaunchTemplates)
	if len(all) != 1 || w.attr(awstest.Nodegroups, "template") != all[0].ID {
		w.Fatalf("launch templates %+v, and the node group has %s", all, w.attr(awstest.Nodegroups, "template"))
	}
	return all[0], w.attr(awstest.Nodegroups, "templateVersion")
}

// vpc returns the VPC that Git gives the cluster.
func (w *managedWorld) vpc() string {
	w.Helper()
	spec, err := api.ReadControlPlane(&w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	return spec.Network.VPC.ID
}

// machinesOf returns the ids of the machines of node groups that run.
func (w *managedWorld) machinesOf() (out []string) {
	for _, i := range w.cloud.Things(awstest.Instances) {
		if i.Attr["state"] == "running" {
			out = append(out, i.ID)
		}
	}
	return out
}

// TestLaunchTemplate: a node group is made with a launch template that has what Git says and is tagged at birth. A change makes
// another version, which replaces the machines, one that comes back is used again, and what nothing uses goes. Nothing stays
// after the pool.
func TestLaunchTemplate(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		w.stable = true
		before := w.cloud.Contents()
		end := w.cloud.Inject(awstest.Fault{Action: "CreateNodegroup", Do: func(awstest.Call) { // which is seen before the launch template
			for _, x := range w.cloud.Things(awstest.LaunchTemplates) {
				w.cloud.Edit(x.ID, func(x *awstest.Thing) { x.Made = x.Made.Add(settle) })
			}
		}})
		for len(w.cloud.Things(awstest.Nodegroups)) == 0 {
			w.step()
		}
		if _, i := w.look(); len(i.Pools) != 1 || i.Pools[0].State != fleet.KeptCreating || len(i.Pools[0].Fixed)+len(i.Pools[0].Drift) > 0 {
			t.Errorf("while it is made, the pools are %+v", i.Pools)
		}
		end()
		w.rest()
		x, version := w.template()
		data, mark := w.cloud.TemplateVersion(x.ID, 1)
		if !w.cluster.Owns(x.Tags) || x.Tags["fairlead.dev/pool"] != "pool" || x.Tags["team"] != "web" || !strings.HasPrefix(x.Attr["launchTemplateName"], "eu-1-pool-") || version != "1" {
			t.Errorf("the launch template is %+v, and version %s is used", x, version)
		}
		if mark != "Fairlead 4e1d4813bc87b81c" {
			t.Errorf("the version is described by %q: another text replaces the machines of all node groups with a launch template", mark)
		}
		const want = "BlockDeviceMapping.1.DeviceName=%2Fdev%2Fxvda&BlockDeviceMapping.1.Ebs.DeleteOnTermination=true&BlockDeviceMapping.1.Ebs.VolumeSize=30&BlockDeviceMapping.1.Ebs.VolumeType=gp3&" +
			"BlockDeviceMapping.2.DeviceName=%2Fdev%2Fsdb&BlockDeviceMapping.2.Ebs.DeleteOnTermination=true&BlockDeviceMapping.2.Ebs.Encrypted=true&BlockDeviceMapping.2.Ebs.VolumeSize=100&BlockDeviceMapping.2.Ebs.VolumeType=gp3&" +
			"InstanceType=m6i.large&KeyName=ops&MetadataOptions.HttpEndpoint=enabled&MetadataOptions.HttpProtocolIpv6=disabled&MetadataOptions.HttpPutResponseHopLimit=2&MetadataOptions.HttpTokens=required&MetadataOptions.InstanceMetadataTags=disabled&" +
			"PrivateDnsNameOptions.EnableResourceNameDnsAAAARecord=false&PrivateDnsNameOptions.EnableResourceNameDnsARecord=false&PrivateDnsNameOptions.HostnameType=resource-name&" +
			"TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=team&TagSpecification.1.Tag.1.Value=web&TagSpecification.2.ResourceType=volume&TagSpecification.2.Tag.1.Key=team&TagSpecification.2.Tag.1.Value=web&" +
			"TagSpecification.3.ResourceType=network-interface&TagSpecification.3.Tag.1.Key=team&TagSpecification.3.Tag.1.Value=web"
		if got := data.Encode(); got != want {
			t.Errorf("it has\n%s, want\n%s", got, want)
		}
		machines := w.machinesOf()
		for n, size := range []string{"40", "50", "60", "40", "30"} { // the second version is gone when its size comes back
			w.group(strings.Replace(templateSpec, "size: 30", "size: "+size, 1))
			if _, i := w.look(); len(i.Pools[0].Drift) != 1 || !strings.Contains(i.Pools[0].Drift[0], "version of launch template "+x.Attr["launchTemplateName"]+": ") || len(i.Pools[0].Fixed) > 0 || i.Pools[0].Message != "" {
				t.Errorf("drift %q, fixed %q, message %q", i.Pools[0].Drift, i.Pools[0].Fixed, i.Pools[0].Message)
			}
			w.rest()
			now := w.machinesOf()
			if slices.ContainsFunc(now, func(id string) bool { return slices.Contains(machines, id) }) {
				t.Errorf("the machines %v are of those before, %v", now, machines)
			}
			machines = now
			if _, version := w.template(); version != []string{"2", "3", "4", "5", "1"}[n] {
				t.Errorf("with %s GiB it has version %s", size, version)
			}
		}
		if left := fmt.Sprint(w.cloud.TemplateVersions(x.ID)); left != "[1 5]" {
			t.Errorf("versions %s are left, and the first is used", left)
		}
		w.change("v1.33.5", "v1.34")
		w.cluster.KeptPools[0].Version = "v1.34.0"
		w.rest()
		if is := w.attr(awstest.Nodegroups, "version") + " " + w.attr(awstest.Nodegroups, "templateVersion"); is != "1.34 1" {
			t.Errorf("after an upgrade it has %s", is)
		}
		if n := w.made("CreateLaunchTemplate") + w.made("CreateLaunchTemplateVersion"); n != 5 {
			t.Errorf("%d requests made a launch template and versions of it", n)
		}
		w.cluster.Delete = true
		w.rest()
		if after := w.cloud.Contents(); !slices.Equal(after, before) {
			t.Errorf("left: %q", after)
		}
		if len(w.errs) > 0 {
			t.Errorf("errors: %v", w.errs)
		}
	})
}

// ownImage is a node group with an image of people.
const ownImage = `{eksNodegroupName: prod_pool, instanceType: m6i.large, awsLaunchTemplate: {ami: {id: ami-00000000000000001}, rootVolume: {size: 30}, additionalSecurityGroups: [{filters: [{name: group-name, values: [people]}]}]}}`

// TestImageOfPeople: machines with an image of people boot with what their NodeadmConfig says, in the security group of the cluster, too.
// The image of a newer version of Kubernetes waits for the control plane, and EKS is told of no version.
func TestImageOfPeople(t *testing.T) {
	inCluster(t, planeSpec, ownImage, func(w *managedWorld) {
		people := w.cloud.AddGroup(w.vpc(), "people")
		pool := &w.cluster.KeptPools[0]
		for range 60 {
			if w.step(); len(w.errs) > 0 {
				break
			}
		}
		wantKind(t, "without configuration", w.errs[0], fleet.Invalid, "name a NodeadmConfig in bootstrap.configRef of the MachinePool")
		w.errs = nil
		boot, err := fleet.NewBootstrap("NodeadmConfig", map[string]any{"kubelet": map[string]any{"flags": []string{"--max-pods=42"}}})
		if err != nil {
			t.Fatal(err)
		}
		pool.Bootstrap = &boot
		w.rest()
		x, _ := w.template()
		data, _ := w.cloud.TemplateVersion(x.ID, 1)
		text, err := base64.StdEncoding.DecodeString(data.Get("UserData"))
		for _, part := range []string{"application/node.eks.aws", "name: 'prod_eu-1'", "--max-pods=42", "apiServerEndpoint: 'https://"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("the user data lacks %q, %v:\n%s", part, err, text)
			}
		}
		if strings.Contains(string(text), "uninitialized") {
			t.Errorf("nothing takes the taint off:\n%s", text)
		}
		group := w.cloud.Things(awstest.ManagedClusters)[0].Attr["group"]
		if got := []string{data.Get("SecurityGroupId.1"), data.Get("SecurityGroupId.2")}; !slices.Equal(got, []string{group, people}) || group == "" {
			t.Errorf("they are in the groups %q, want %q", got, []string{group, people})
		}
		if data.Get("BlockDeviceMapping.1.DeviceName") != "/dev/sda1" || w.attr(awstest.Nodegroups, "image") != "CUSTOM" {
			t.Errorf("the root device is %s", data.Get("BlockDeviceMapping.1.DeviceName"))
		}
		w.group(strings.Replace(ownImage, "ami-00000000000000001", "ami-00000000000000002", 1))
		pool.Version = "v1.34.0"
		if err := w.provider.EnsurePool(w.Context(), "op", &w.cluster, *pool); err != nil || w.made("UpdateNodegroupVersion") > 0 {
			t.Errorf("its image is newer than the control plane, and machines get it: %v", err)
		}
		if _, i := w.look(); len(i.Pools[0].Drift) > 0 || i.Pools[0].Version != "v1.33.0" {
			t.Errorf("before the control plane is upgraded the pool is %+v", i.Pools[0])
		}
		w.change("v1.33.5", "v1.34")
		w.rest()
		if is := w.attr(awstest.Nodegroups, "release") + " " + w.attr(awstest.Nodegroups, "templateVersion"); is != "ami-00000000000000002 2" {
			t.Errorf("after the upgrade it has %s", is)
		}
		if _, i := w.look(); i.Pools[0].Version != "v1.34.0" || i.Pools[0].Message != "" {
			t.Errorf("after the upgrade the pool is %+v", i.Pools[0])
		}
		boot, err = fleet.NewBootstrap("NodeadmConfig", map[string]any{"kubelet": map[string]any{"flags": []string{"--max-pods=43"}}})
		if err != nil {
			t.Fatal(err)
		}
		w.rest()
		if _, version := w.template(); version != "3" {
			t.Errorf("with another configuration it has version %s", version)
		}
		if len(w.errs) > 0 {
			t.Errorf("errors: %v", w.errs)
		}
	})
}

// TestFixedLaunchTemplate: what EKS changes of no node group is told, and makes no request.
func TestFixedLaunchTemplate(t *testing.T) {
	fixed := func(w *managedWorld, want string) {
		w.Helper()
		_, i := w.look()
		if got := strings.Join(i.Pools[0].Fixed, "|"); !strings.Contains(got, want) || len(i.Pools[0].Drift) > 0 {
			w.Errorf("fixed %q, drift %q, want %q", got, i.Pools[0].Drift, want)
		}
		if err := w.provider.EnsurePool(w.Context(), "op", &w.cluster, w.cluster.KeptPools[0]); err != nil || w.made("UpdateNodegroupVersion")+w.made("CreateLaunchTemplateVersion") > 0 || w.made("CreateLaunchTemplate") > 1 {
			w.Errorf("EKS is asked for it: %v", err)
		}
	}
	t.Run("with one", func(t *testing.T) {
		inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
			w.rest()
			x, _ := w.template()
			w.group(strings.Replace(templateSpec, "{instanceType", "{name: another, instanceType", 1))
			fixed(w, "awsLaunchTemplate.name "+x.Attr["launchTemplateName"]+" → another; a node group keeps")
			w.group(strings.Replace(templateSpec, "{instanceType", "{ami: {id: ami-00000000000000001}, instanceType", 1))
			fixed(w, "amiType AL2023_x86_64_STANDARD → CUSTOM; a node group keeps")
			w.group(groupSpec)
			fixed(w, "awsLaunchTemplate "+x.Attr["launchTemplateName"]+" → none; a node group keeps")
			w.group(templateSpec)
			w.cloud.Edit(x.ID, func(x *awstest.Thing) { x.Tags = map[string]string{} })
			fixed(w, "launch template "+x.Attr["launchTemplateName"]+" of the node group is gone, or lost the tags of the cluster (bring them back)")
			w.cloud.Remove(x.ID)
			fixed(w, "launch template "+x.ID+" of the node group is gone")
		})
	})
	t.Run("without one", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.group(`{eksNodegroupName: prod_pool, labels: {tier: web}, awsLaunchTemplate: {rootVolume: {size: 30}}}`)
			fixed(w, "awsLaunchTemplate none → one; a node group keeps")
		})
	})
	t.Run("an image of people", func(t *testing.T) {
		inCluster(t, planeSpec, strings.Replace(ownImage, ", additionalSecurityGroups: [{filters: [{name: group-name, values: [people]}]}]", "", 1), func(w *managedWorld) {
			w.cluster.KeptPools[0].Bootstrap = &fleet.Bootstrap{Kind: "NodeadmConfig"}
			w.rest()
			w.group(`{eksNodegroupName: prod_pool, instanceType: m6i.large, awsLaunchTemplate: {rootVolume: {size: 31}}}`)
			w.cluster.KeptPools[0].Bootstrap = nil
			fixed(w, "awsLaunchTemplate.ami.id ami-00000000000000001 → none; a node group keeps")
			w.cluster.KeptPools[0].Version = "v1.34.0"
			fixed(w, "awsLaunchTemplate.ami.id ami-00000000000000001 → none; a node group keeps")
		})
	})
}

// TestLaunchTemplateBehindTheBack: a node group that people moved to a version of their own comes back.
func TestLaunchTemplateBehindTheBack(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		w.rest()
		x, _ := w.template()
		w.cloud.Edit(x.ID, func(x *awstest.Thing) {
			x.Attr["versions"] = strings.TrimSuffix(x.Attr["versions"], "]") + `,{"Number":2,"Description":"theirs","Data":{}}]`
		})
		w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) { g.Attr["templateVersion"] = "2" })
		if _, i := w.look(); len(i.Pools[0].Drift) != 1 || !strings.HasSuffix(i.Pools[0].Drift[0], ": 2 → 1") {
			t.Errorf("drift %q", i.Pools[0].Drift)
		}
		w.rest()
		if _, version := w.template(); version != "1" || w.made("CreateLaunchTemplateVersion") > 0 {
			t.Errorf("it has version %s", version)
		}
	})
}

// TestTwoLaunchTemplates: of several launch templates with the tags of a pool, and of several versions that are as Git says, that of the node
// group counts. All of them go with the pool.
func TestTwoLaunchTemplates(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		w.rest()
		x, _ := w.template()
		w.cloud.AddLaunchTemplate("another")
		for n, y := range w.cloud.Things(awstest.LaunchTemplates) {
			at := func(number int) string {
				return strings.Replace(strings.Trim(x.Attr["versions"], "[]"), `"Number":1`, fmt.Sprintf(`"Number":%d`, number), 1)
			}
			w.cloud.Edit(y.ID, func(y *awstest.Thing) {
				y.Tags, y.Attr["versions"] = x.Tags, "["+at(10*n+1)+","+at(10*n+2)+"]"
			})
			w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) {
				g.Attr["template"], g.Attr["templateVersion"] = y.ID, fmt.Sprint(10*n+1)
			})
			if _, i := w.look(); len(i.Pools) != 1 || len(i.Pools[0].Drift)+len(i.Pools[0].Fixed) > 0 {
				t.Errorf("with %s: %+v", y.ID, i.Pools)
			}
		}
		w.cluster.Delete = true
		w.cloud.Remove(w.cloud.Things(awstest.Nodegroups)[0].ID)
		if _, i := w.look(); len(i.Pools) != 1 || i.Pools[0].State != fleet.KeptFailed {
			t.Errorf("pools %+v", i.Pools)
		}
		w.rest()
		if left := w.cloud.Things(awstest.LaunchTemplates); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestLaunchTemplateName: a name that another launch template has is refused, and that one stays.
func TestLaunchTemplateName(t *testing.T) {
	inCluster(t, planeSpec, strings.Replace(templateSpec, "{instanceType", "{name: theirs, instanceType", 1), func(w *managedWorld) {
		pool := w.cluster.KeptPools[0]
		w.cluster.KeptPools = nil
		w.rest()
		w.cloud.AddLaunchTemplate("theirs")
		time.Sleep(settle)
		w.cluster.KeptPools = []fleet.KeptPool{pool}
		wantKind(t, "the name of others", w.provider.EnsurePool(w.Context(), "op", &w.cluster, pool), fleet.Conflict, "set another name in awsLaunchTemplate.name")
		if err := w.provider.DeletePool(w.Context(), "op", &w.cluster, "pool"); err != nil || len(w.cloud.Things(awstest.LaunchTemplates)) != 1 {
			t.Errorf("that of others goes: %v", err)
		}
	})
}

// TestLaunchTemplateThatIsNotSeenYet: EKS does not find a launch template that was just made, and is asked again; one with a mistake is
// told as that.
func TestLaunchTemplateThatIsNotSeenYet(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		unseen := awstest.Fault{Times: 1, Status: http.StatusBadRequest, Code: "InvalidParameterException", Message: "Launch template not found"}
		for _, next := range []struct{ action, size string }{{"CreateNodegroup", "30"}, {"UpdateNodegroupVersion", "40"}} {
			w.group(strings.Replace(templateSpec, "size: 30", "size: "+next.size, 1))
			unseen.Action, w.errs = next.action, nil
			end := w.cloud.Inject(unseen)
			if next.action == "CreateNodegroup" { // a launch template without a node group is no pool
				for len(w.cloud.Things(awstest.LaunchTemplates)) == 0 {
					w.step()
				}
				if _, i := w.look(); len(i.Pools) > 0 {
					t.Errorf("before the node group is made, there are pools %+v", i.Pools)
				}
			}
			w.rest()
			end()
			if len(w.errs) != 1 {
				t.Fatalf("errors %v", w.errs)
			}
			wantKind(t, next.action, w.errs[0], fleet.Unavailable, "was just made")
		}
		unseen.Message, unseen.Times = "Launch template should not specify that", 0
		w.cloud.Inject(unseen)
		w.group(strings.Replace(templateSpec, "size: 30", "size: 50", 1))
		pool := w.cluster.KeptPools[0]
		wantKind(t, "at first", w.provider.EnsurePool(w.Context(), "op", &w.cluster, pool), fleet.Unavailable, "should not specify that")
		time.Sleep(settle)
		wantKind(t, "later", w.provider.EnsurePool(w.Context(), "op", &w.cluster, pool), fleet.Invalid, "should not specify that")
	})
}

// TestPoolWithTemplateLeavesGit: the launch template goes after the node group, also by another agent, and before it there is no other
// one of the name.
func TestPoolWithTemplateLeavesGit(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		w.rest()
		w.cluster.KeptPools = nil
		seen := make(map[fleet.KeptState]bool)
		for range 60 {
			_, i := w.look()
			if len(i.Pools) == 0 {
				break
			}
			if i.Pools[0].Name != "pool" || len(i.Pools) != 1 {
				t.Fatalf("pools %+v", i.Pools)
			}
			seen[i.Pools[0].State] = true
			if len(w.cloud.Things(awstest.Nodegroups)) == 1 && len(w.cloud.Things(awstest.LaunchTemplates)) != 1 {
				t.Fatal("the launch template goes before its node group")
			}
			if i.Pools[0].State != fleet.KeptDeleting {
				w.say(w.provider.DeletePool(w.Context(), w.op(), &w.cluster, "pool"))
			}
			w.start(w.cloud.Client())
		}
		if left := len(w.cloud.Things(awstest.Nodegroups)) + len(w.cloud.Things(awstest.LaunchTemplates)); left > 0 || !seen[fleet.KeptFailed] || len(w.errs) > 0 {
			t.Errorf("%d things are left, states %v, errors %v", left, seen, w.errs)
		}
	})
}

// TestUpgradeOfATemplateThatFailed: a node group whose Pods could not be evicted stays at its version of the launch template, and people are
// told.
func TestUpgradeOfATemplateThatFailed(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		w.stable = true
		w.rest()
		w.group(strings.Replace(templateSpec, "size: 30", "size: 40", 1))
		for range 60 {
			if w.step(); w.attr(awstest.Nodegroups, "status") == "UPDATING" {
				break
			}
		}
		w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) { g.Attr["then"] = "{}" })
		time.Sleep(time.Minute)
		if _, i := w.look(); !strings.Contains(i.Pools[0].Message, "EKS began to move it to version 2 of its launch template and gave up") {
			t.Errorf("the pool says %q", i.Pools[0].Message)
		}
		w.rest()
		if _, i := w.look(); i.Pools[0].Message != "" || w.made("CreateLaunchTemplateVersion") != 1 {
			t.Errorf("once it is moved, the pool says %q", i.Pools[0].Message)
		}
	})
}

// TestOrphanedLaunchTemplate: a launch template of a cluster that left Git is listed, and goes. Credentials without the right to list some
// are those of clusters without them.
func TestOrphanedLaunchTemplate(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		w.rest()
		other := w.cluster
		other.Key.Name = "another"
		git := []*fleet.Cluster{&other}
		lost, err := w.provider.Orphans(w.Context(), "fleet-a", git)
		i := slices.IndexFunc(lost, func(o fleet.Orphan) bool { return o.Kind == "launch template" })
		if err != nil || i < 0 {
			t.Fatalf("%+v, %v", lost, err)
		}
		if err := w.provider.RemoveOrphan(w.Context(), "fleet-a", git, lost[i]); err != nil || len(w.cloud.Things(awstest.LaunchTemplates)) > 0 {
			t.Errorf("it is still there, %v", err)
		}
		w.cloud.Deny("DescribeLaunchTemplates", true)
		for range 2 {
			w.errs = nil
			w.look()
			wantKind(t, "a launch template in Git", w.errs[0], fleet.Unauthorized, "(allow ec2:DescribeLaunchTemplates in the policy")
		}
		_, err = w.provider.Orphans(w.Context(), "fleet-a", git)
		wantKind(t, "a cluster with a launch template", err, fleet.Unauthorized, "(allow ec2:DescribeLaunchTemplates in the policy")
		other.KeptPools = nil
		if _, err = w.provider.Orphans(w.Context(), "fleet-a", git); err != nil {
			t.Errorf("clusters without: %v", err)
		}
	})
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.cloud.Deny("DescribeLaunchTemplates", true)
		w.rest()
		if n := w.made("DescribeLaunchTemplates"); len(w.errs) > 0 || n != 1 {
			t.Errorf("a cluster without launch templates, %d requests: %v", n, w.errs)
		}
		time.Sleep(time.Hour)
		w.look()
		if n := w.made("DescribeLaunchTemplates"); n != 2 {
			t.Errorf("after an hour %d requests", n)
		}
		w.group(templateSpec)
		w.look()
		wantKind(t, "one that comes into Git", w.errs[0], fleet.Unauthorized, "(allow ec2:DescribeLaunchTemplates in the policy")
	})
}

// TestLaunchTemplateTroubles: whatever goes wrong with a request about a launch template or for its node group, there is one launch template,
// and one version for each definition.
func TestLaunchTemplateTroubles(t *testing.T) {
	troubles := map[string]awstest.Fault{
		"request lost": {Cut: awstest.Before}, "answer lost": {Cut: awstest.After},
		"throttled":      {Status: http.StatusServiceUnavailable, Code: "RequestLimitExceeded", Message: "Request limit exceeded."},
		"internal error": {Status: http.StatusInternalServerError, Code: "InternalError", Message: "An internal error has occurred"},
	}
	for _, action := range []string{"CreateLaunchTemplate", "CreateLaunchTemplateVersion", "DescribeLaunchTemplates", "DescribeLaunchTemplateVersions", "DeleteLaunchTemplateVersions", "DeleteLaunchTemplate", "CreateNodegroup", "UpdateNodegroupVersion"} {
		for name, trouble := range troubles {
			t.Run(action+" "+name, func(t *testing.T) {
				inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
					before := w.cloud.Contents()
					if trouble.Action, trouble.Times = action, 2; action == "DeleteLaunchTemplateVersions" { // which is tried before the next one
						trouble.Times = 1
					}
					trouble.Do = func(awstest.Call) {
						if n := len(w.cloud.Things(awstest.LaunchTemplates)); n > 1 {
							t.Errorf("%d launch templates", n)
						}
					}
					w.cloud.Inject(trouble)
					w.rest()
					for _, size := range []string{"40", "50", "60", "70"} {
						w.group(strings.Replace(templateSpec, "size: 30", "size: "+size, 1))
						w.rest()
					}
					if x, version := w.template(); version != "5" || fmt.Sprint(w.cloud.TemplateVersions(x.ID)) != "[1 4 5]" {
						t.Errorf("the node group has version %s, of %v", version, w.cloud.TemplateVersions(x.ID))
					}
					w.cluster.Delete = true
					w.rest()
					if after := w.cloud.Contents(); !slices.Equal(after, before) {
						t.Errorf("left: %q", after)
					}
					if len(w.errs) == 0 {
						t.Error("nothing went wrong")
					}
				})
			})
		}
	}
}

// TestLaunchTemplateAtOnce: a request that follows a lost answer before anything is listed makes nothing a second time.
func TestLaunchTemplateAtOnce(t *testing.T) {
	inCluster(t, planeSpec, templateSpec, func(w *managedWorld) {
		pool := w.cluster.KeptPools[0]
		w.cluster.KeptPools = nil
		w.rest()
		w.cluster.KeptPools = []fleet.KeptPool{pool}
		ensure := func() error { return w.provider.EnsurePool(w.Context(), w.op(), &w.cluster, w.cluster.KeptPools[0]) }
		w.cloud.Inject(awstest.Fault{Action: "CreateLaunchTemplate", Times: 1, Cut: awstest.After})
		wantKind(t, "a lost answer", ensure(), fleet.Unanswered)
		wantKind(t, "at once", ensure(), fleet.Unavailable, "it was made, and is not listed yet")
		time.Sleep(settle)
		w.rest()
		w.group(strings.Replace(templateSpec, "size: 30", "size: 40", 1))
		w.cloud.Inject(awstest.Fault{Action: "CreateLaunchTemplateVersion", Times: 1, Cut: awstest.After})
		wantKind(t, "a lost answer", ensure(), fleet.Unanswered)
		if err := ensure(); err != nil {
			t.Errorf("at once: %v", err)
		}
		w.rest()
		if x, version := w.template(); version != "2" || fmt.Sprint(w.cloud.TemplateVersions(x.ID)) != "[1 2]" {
			t.Errorf("the node group has version %s, of %v", version, w.cloud.TemplateVersions(x.ID))
		}
	})
}
