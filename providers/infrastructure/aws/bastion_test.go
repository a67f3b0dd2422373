package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

const bastionSpec = `{bastion: {enabled: true, allowedCIDRBlocks: [203.0.113.0/24]}, sshKeyName: ops, region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb, healthCheckProtocol: HTTPS}}`

// bastions returns the instances that live and are one.
func (w *world) bastions() (out []awstest.Thing) {
	for _, i := range w.cloud.Things(awstest.Instances) {
		if i.Tags["fairlead.dev/part"] == "bastion" && (i.Attr["state"] == "running" || i.Attr["state"] == "pending") {
			out = append(out, i)
		}
	}
	return out
}

// rulesOf returns the rules of the security group of a role, in words.
func (w *world) rulesOf(role string) string {
	for _, g := range w.cloud.Things(awstest.Groups) {
		if g.Tags["fairlead.dev/part"] == "group-"+role {
			return strings.ReplaceAll(strings.Join(g.Sets["rules"], "\n"), "\x00", " ")
		}
	}
	return ""
}

// TestBastion: an instance in a public subnet leads to the others, is no machine, is made once, and goes.
func TestBastion(t *testing.T) {
	inBubble(t, bastionSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		if got := w.settle(); len(got.Machines) != 1 {
			w.Errorf("machines %+v", got.Machines)
		}
		all := w.bastions()
		if len(all) != 1 {
			w.Fatalf("%d bastions", len(all))
		}
		b := all[0]
		image, _ := w.cloud.Thing(b.Attr["imageId"])
		subnet, _ := w.cloud.Thing(b.Attr["subnetId"])
		got := []string{image.Attr["name"][:20], b.Attr["instanceType"], b.Attr["keyName"], b.Attr["httpTokens"], subnet.Tags["fairlead.dev/part"]}
		if want := []string{"ubuntu/images/hvm-ss", "t3.micro", "ops", "required", "public"}; !slices.Equal(got, want) || b.Attr["ipAddress"] == "" {
			w.Errorf("it is made with %q at %q, want %q", got, b.Attr["ipAddress"], want)
		}
		group := b.Sets["groups"][0]
		for role, want := range map[string]string{"bastion": "tcp 22 22 203.0.113.0/24", "node": "tcp 22 22 " + group, "controlplane": "tcp 22 22 " + group} {
			if rules := w.rulesOf(role); !strings.Contains(rules, want) {
				w.Errorf("rules of %s lack %q:\n%s", role, want, rules)
			}
		}
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(bastionSpec, "allowedCIDRBlocks: [203.0.113.0/24]", "disableIngressRules: true", 1))
		w.settle()
		if rules := w.rulesOf("bastion"); rules != "" {
			w.Errorf("with disableIngressRules it lets in %s", rules)
		}
		w.cloud.Edit(b.ID, func(b *awstest.Thing) { b.Attr["state"], b.Gone = "shutting-down", time.Now().Add(time.Hour) })
		if got := w.observe(); !slices.Contains(got.Drift, "create the bastion") {
			w.Errorf("while it is terminated, drift is %q", got.Drift)
		}
		w.cloud.Reclaim(b.ID, "Client.UserInitiatedShutdown: User initiated shutdown")
		time.Sleep(settle)
		if got := w.observe(); !slices.Equal(got.Drift, []string{"create the bastion"}) {
			w.Errorf("after people terminated it, drift is %q", got.Drift)
		}
		w.cloud.Fill("eu-central-1a", "")
		w.settle()
		if again := w.bastions(); len(again) != 1 || again[0].ID == b.ID {
			w.Errorf("after it was terminated there are %+v", again)
		}
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(bastionSpec, "enabled: true", "enabled: false", 1))
		w.settle()
		if left := w.bastions(); len(left) > 0 || strings.Contains(w.rulesOf("node"), "tcp 22 ") {
			w.Errorf("Git has none, and there are %+v, and nodes let in\n%s", left, w.rulesOf("node"))
		}
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", bastionSpec)
		w.settle()
		w.dismantle("m-0")
		if left := w.cloud.Contents(); len(left) > 0 {
			w.Errorf("left over: %q", left)
		}
	})
}

// TestBastionTwice: a lost answer makes no second one, and what AWS ends by itself is told, and not asked for at once again.
func TestBastionTwice(t *testing.T) {
	inBubble(t, bastionSpec, machineSpec, func(w *world) {
		end := w.cloud.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Cut: awstest.After})
		w.settle()
		end()
		if n := len(w.bastions()); n != 1 {
			w.Errorf("%d bastions", n)
		}
		w.cloud.Reclaim(w.bastions()[0].ID, "Client.VolumeLimitExceeded: Volume limit exceeded")
		time.Sleep(time.Second)
		for range 10 {
			_ = w.observe()
			err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
			wantKind(w, "EnsureInfrastructure", err, fleet.Exhausted, "Volume limit exceeded")
		}
		if n := len(w.cloud.Things(awstest.Instances)); n != 1 {
			w.Errorf("%d instances were made", n)
		}
		time.Sleep(11 * time.Minute)
		w.settle()
	})
}

// TestBastionOfOthers: an instance that lost the tags of the cluster is not terminated.
func TestBastionOfOthers(t *testing.T) {
	inBubble(t, bastionSpec, machineSpec, func(w *world) {
		w.settle()
		id := w.bastions()[0].ID
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", clusterSpec)
		end := w.cloud.Inject(awstest.Fault{Action: "DescribeInstances", Do: func(call awstest.Call) { // what follows on a listing names it
			if call.Form["Filter.1.Name"][0] == "instance-id" {
				w.cloud.Edit(id, func(i *awstest.Thing) { i.Tags["fairlead.dev/cluster"] = "prod/theirs" })
			}
		}})
		_ = w.observe()
		if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
			w.Fatal(err)
		}
		end()
		if i, ok := w.cloud.Thing(id); !ok || i.Attr["state"] != "running" {
			w.Errorf("it is %+v", i)
		}
	})
}

// TestBastionAgain: a bastion that Git has again within a day is another one: the token of the first one answers with what
// ended, though it is not listed any more.
func TestBastionAgain(t *testing.T) {
	inBubble(t, bastionSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		first := w.bastions()[0].ID
		without := strings.Replace(bastionSpec, "enabled: true", "enabled: false", 1)
		for _, spec := range []string{without, bastionSpec} {
			w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", spec)
			w.settle()
			time.Sleep(2 * time.Hour)
		}
		if got := w.bastions(); len(got) != 1 || got[0].ID == first {
			w.Errorf("the first one was %s, and there are %+v", first, got)
		}
	})
}

// TestBastionOfALivingCluster: machines wait for nothing of a bastion that Git has later.
func TestBastionOfALivingCluster(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", bastionSpec)
		if got := w.observe(); !got.Ready || !slices.Contains(got.Drift, "create security group bastion") {
			w.Errorf("ready %t, drift %q", got.Ready, got.Drift)
		}
		for action, cut := range map[string]awstest.Cut{"CreateSecurityGroup": awstest.Before, "RunInstances": awstest.Before} {
			end := w.cloud.Inject(awstest.Fault{Action: action, Times: 1, Cut: cut})
			for range 2 { // until it was asked for
				_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
				if got := w.observe(); !got.Ready {
					w.Errorf("after %s without an answer: %s", action, got.Message)
				}
			}
			end()
			time.Sleep(settle)
		}
		w.settle()
	})
}

// TestNoPlaceForABastion: that a given VPC has no public subnet is told.
func TestNoPlaceForABastion(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		vpc, _, private := w.cloud.AddVPC("10.7.0.0/16")
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.NewReplacer(
			"loadBalancerType: nlb", "loadBalancerType: nlb, scheme: internal", "{bastion", "{network: {vpc: {id: "+vpc+"}, subnets: [{id: "+private[0]+"}]}, bastion").Replace(bastionSpec))
		for range 5 {
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
			time.Sleep(settle)
		}
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "the VPC has no public subnet (set bastion.enabled: false)") {
			w.Errorf("ready %t: %s", got.Ready, got.Message)
		}
	})
}

// TestBastions: of two bastions one goes. One that people copied is none, and stays.
func TestBastions(t *testing.T) {
	inBubble(t, bastionSpec, machineSpec, func(w *world) {
		copied := w.copies()
		w.settle()
		first := w.bastions()[0]
		twin := func() string {
			id := w.cloud.AddInstance("twin")
			w.cloud.Edit(id, func(i *awstest.Thing) { i.Tags = first.Tags })
			return id
		}
		another := twin()
		*copied = twin()
		time.Sleep(settle)
		w.settle()
		var left []string
		for _, b := range w.bastions() {
			left = append(left, b.ID)
		}
		if !slices.Equal(left, []string{first.ID, *copied}) {
			w.Errorf("there were %s, %s and a copy %s, and %q are left", first.ID, another, *copied, left)
		}
	})
}
