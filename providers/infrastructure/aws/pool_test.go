package aws_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// TestMachinePool: machines of an AWSMachinePool are instances of their own, where it says: in zones of its own or of the MachinePool, of
// which another one is used if one has no capacity, and in subnets that it names.
func TestMachinePool(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		p := w.cluster.Workers[0]
		p.Name, p.Kind = "pool", fleet.MachinePoolKind
		w.cluster.Workers = []fleet.Pool{p}
		n := 0
		made := func(spec string, of []string, zone string) (awstest.Thing, error) {
			n++
			p := &w.cluster.Workers[0]
			p.FailureDomains = of
			p.Infrastructure = object(w, "AWSMachinePool", "pool", strings.Replace(spec, "{", "{awsLaunchTemplate: {instanceType: m6i.large, iamInstanceProfile: nodes, rootVolume: {size: 30}}, additionalTags: {team: web}, ", 1))
			name := fleet.MachineName(fmt.Sprint("m-", n))
			err := w.create(name, *p, zone)
			time.Sleep(settle)
			return w.instances()[string(name)], err
		}
		is, err := made("{availabilityZones: [eu-central-1b]}", nil, "")
		if err != nil || is.Attr["zone"] != "eu-central-1b" || is.Attr["profile"] != "nodes" || is.Attr["rootSize"] != "30" || is.Tags["team"] != "web" || is.Attr["ipAddress"] != "" {
			t.Errorf("%+v, %v", is, err)
		}
		if m := w.observe().Machines[0]; m.Pool != "pool" {
			t.Errorf("%+v", m)
		}
		of := []string{"eu-central-1a", "eu-central-1c"}
		if is, err = made("{}", of, "eu-central-1c"); err != nil || is.Attr["zone"] != "eu-central-1c" {
			t.Errorf("%+v, %v", is, err)
		}
		w.cloud.Fill("eu-central-1c", "m6i.large")
		if is, err = made("{}", of, "eu-central-1c"); err != nil || is.Attr["zone"] != "eu-central-1a" {
			t.Errorf("without capacity: %+v, %v", is, err)
		}
		w.cloud.Fill("eu-central-1a", "m6i.large")
		_, err = made("{}", of, "eu-central-1c")
		wantKind(t, "neither of its zones has capacity", err, fleet.Exhausted)
		is, err = made("{availabilityZoneSubnetType: public}", nil, "")
		s, _ := w.cloud.Thing(is.Attr["subnetId"])
		if err != nil || s.Tags["fairlead.dev/part"] != "public" || is.Attr["ipAddress"] == "" {
			t.Errorf("in a public subnet: %+v in %+v, %v", is, s, err)
		}
		if is, err = made("{subnets: [{id: "+s.ID+"}]}", nil, ""); err != nil || is.Attr["subnetId"] != s.ID {
			t.Errorf("in the subnet of Git: %+v, %v", is, err)
		}
		_, err = made("{subnets: [{id: "+s.ID+"}], availabilityZones: [eu-central-1a]}", nil, "")
		wantKind(t, "a subnet of another zone", err, fleet.Invalid, "no subnet of the cluster is as availabilityZones and availabilityZoneSubnetType of the AWSMachinePool say")
		_, err = made("{availabilityZones: [eu-central-1b]}", []string{"eu-central-1a"}, "eu-central-1a")
		wantKind(t, "zones that contradict", err, fleet.Invalid, "in failure domain eu-central-1a")
		for _, s := range w.cloud.Things(awstest.Subnets) {
			if s.Tags["fairlead.dev/part"] == "private" && s.Attr["zone"] == "eu-central-1b" {
				if is, err = made("{availabilityZoneSubnetType: public, subnets: [{id: "+s.ID+"}]}", nil, ""); err != nil || is.Attr["subnetId"] != s.ID || is.Attr["ipAddress"] != "" {
					t.Errorf("in a private subnet of Git: %+v, %v", is, err)
				}
			}
		}
		w.cloud.Fill("eu-central-1b", "m6i.large")
		_, err = made("{availabilityZoneSubnetType: all, availabilityZones: [eu-central-1b]}", nil, "")
		wantKind(t, "all subnets of a zone", err, fleet.Exhausted, "(tried eu-central-1b, eu-central-1b;")
	})
}
