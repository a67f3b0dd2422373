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
		w.cloud.Reclaim(b.ID, "Client.UserInitiatedShutdown: User initiated shutdown")
		time.Sleep(settle)
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
