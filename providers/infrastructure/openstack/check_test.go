package openstack_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// check returns the findings for the cluster, and sees that nothing was asked to change.
func (w *world) check() []providers.Finding {
	w.Helper()
	time.Sleep(2 * tick)
	before := len(w.mine())
	got, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
	if err != nil {
		w.Fatal(err)
	}
	if after := len(w.mine()); after != before {
		w.Errorf("there are %d things of the cluster after a check, and were %d", after, before)
	}
	return got
}

// What Git names is looked for one by one, before anything is made.
func TestCheck(t *testing.T) {
	spoiled := func(change func(s *api.OpenStackMachineSpec)) *api.OpenStackMachineSpec {
		s := machineSpec()
		change(s)
		return s
	}
	for reason, tc := range map[string]struct {
		machine *api.OpenStackMachineSpec
		spoil   func(w *world)
		what    string // that fails; empty: nothing does
		words   string
	}{
		"all is there": {machine: machineSpec()},
		"no such image": {
			spoiled(func(s *api.OpenStackMachineSpec) { s.Image.Filter.Name = ptr("debian") }), nil,
			"image", `the project sees no image like {"name":"debian"}`,
		},
		"no such flavor": {
			spoiled(func(s *api.OpenStackMachineSpec) { s.Flavor.Filter.Name = ptr("huge") }), nil,
			"flavor", `the project sees no flavor like {"name":"huge"}`,
		},
		"no such key pair": {
			spoiled(func(s *api.OpenStackMachineSpec) { s.SSHKeyName = "nobody" }), nil,
			"key pair", "has no key pair nobody (make it, or correct sshKeyName)",
		},
		"no such group": {
			spoiled(func(s *api.OpenStackMachineSpec) {
				s.SecurityGroups = []api.SecurityGroupParam{{Filter: &api.SecurityGroupFilter{Name: "nobody"}}}
			}), nil,
			"security groups", "securityGroups[0]",
		},
		"too few servers": {
			machineSpec(), func(w *world) { w.cloud.SetQuota("alpha", "instances", 5) },
			"quota", "6 instances are needed, and 5 of 5 are free",
		},
		"no such network": {machineSpec(), func(w *world) {
			spec := clusterSpec()
			spec.ExternalNetwork = &api.NetworkParam{Filter: &api.NetworkFilter{Name: "nowhere"}}
			w.cluster.Infrastructure = object(w, "OpenStackCluster", "eu-1", w.cloud.CloudsYAML(ost.URL, "alice"), spec)
		}, "networks", "nowhere"},
		"no such zone": {machineSpec(), func(w *world) {
			spec := clusterSpec()
			spec.ControlPlaneAvailabilityZones = []string{"az9"}
			w.cluster.Infrastructure = object(w, "OpenStackCluster", "eu-1", w.cloud.CloudsYAML(ost.URL, "alice"), spec)
		}, "zones", "Nova has no zone az9"},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), tc.machine, func(w *world) {
				if tc.spoil != nil {
					tc.spoil(w)
				}
				failed := false
				for _, f := range w.check() {
					if f.Err == nil {
						continue
					}
					failed = true
					if f.What != tc.what || !strings.Contains(f.Err.Error(), tc.words) || !fleet.Refused(f.Err) {
						t.Errorf("%s: %v of kind %s, want %s: %s", f.What, f.Err, fleet.KindOf(f.Err), tc.what, tc.words)
					}
				}
				if failed != (tc.what != "") {
					t.Errorf("something fails: %v, want %s", failed, tc.what)
				}
			})
		})
	}
}

// Machines that are there need no room any more.
func TestCheckOfWhatIsThere(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		w.cloud.SetQuota("alpha", "instances", 6)
		for _, f := range w.check() {
			if f.What == "quota" && (f.Err != nil || !strings.Contains(f.Text, "5 of 5 free instances")) {
				t.Errorf("%s: %v", f.Text, f.Err)
			}
		}
	})
}
