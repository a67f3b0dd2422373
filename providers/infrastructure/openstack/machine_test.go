package openstack_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// everything is a machine with all that a machine may have.
func everything(group, sg string) *api.OpenStackMachineSpec {
	s := machineSpec()
	s.SSHKeyName = "key"
	s.Tags = []string{"blue", "kept"}
	s.ServerMetadata = []api.ServerMetadata{{Key: "team", Value: "a"}}
	s.ConfigDrive = ptr(true)
	s.ServerGroup = &api.ServerGroupParam{Filter: &api.ServerGroupFilter{Name: ptr(group)}}
	s.SecurityGroups = []api.SecurityGroupParam{{Filter: &api.SecurityGroupFilter{Name: sg}}}
	s.SchedulerHintAdditionalProperties = []api.SchedulerHintAdditionalProperty{
		{Name: "shape", Value: api.SchedulerHintAdditionalValue{Type: api.SchedulerHintTypeString, String: ptr("round")}},
	}
	s.RootVolume = &api.RootVolume{SizeGiB: 30, BlockDeviceVolume: api.BlockDeviceVolume{
		Type: "fast", AvailabilityZone: &api.VolumeAvailabilityZone{From: api.VolumeAZFromMachine},
	}}
	s.AdditionalBlockDevices = []api.AdditionalBlockDevice{
		{Name: "etcd", SizeGiB: 10, Storage: api.BlockDeviceStorage{Type: api.VolumeBlockDevice, Volume: &api.BlockDeviceVolume{Type: "slow"}}},
		{Name: "scratch", SizeGiB: 5, Storage: api.BlockDeviceStorage{Type: api.LocalBlockDevice}},
	}
	s.Ports = []api.PortOpts{
		{
			Trunk: ptr(true), NameSuffix: ptr("main"), Description: ptr("first"), Tags: []string{"green"},
			FixedIPs: []api.FixedIP{{Subnet: &api.SubnetParam{Filter: &api.SubnetFilter{CIDR: "10.6.0.0/24"}}, IPAddress: ptr("10.6.0.77")}},
			ResolvedPortSpecFields: api.ResolvedPortSpecFields{
				MACAddress: ptr("fa:16:3e:00:00:01"), AllowedAddressPairs: []api.AddressPair{{IPAddress: "10.6.0.200"}},
			},
		},
		{ResolvedPortSpecFields: api.ResolvedPortSpecFields{EnablePortSecurity: ptr(false)}},
	}
	return s
}

func TestMachineWithEverything(t *testing.T) {
	inBubble(t, clusterSpec(), everything("nodes", "mine"), func(w *world) {
		group := w.cloud.Add("alpha", ost.ServerGroups, ost.Object{"name": "nodes", "policies": []string{"soft-anti-affinity"}})
		sg := w.cloud.Add("alpha", ost.SecurityGroups, ost.Object{"name": "mine"})
		w.settle()
		if err := w.createWith(0, "#cloud-config\n{}\n", "az2"); err != nil {
			w.Fatal(err)
		}
		m := w.await(0, fleet.MachineRunning)
		if m.FailureDomain != "az2" || !slices.Contains(m.Addresses, "10.6.0.77") {
			w.Errorf("machine %+v, want it in az2 with its address", m)
		}
		s := w.cloud.Objects(ost.Servers)[0]
		if d := cmp.Diff([]string{"blue", "kept"}, s.Strings("tags")); d != "" {
			w.Errorf("tags: %s", d)
		}
		if s.String("key_name") != "key" || s.Object("metadata")["team"] != "a" || s.Object("metadata")["fairlead.dev:pool"] != "eu-1-md-0" {
			w.Errorf("server %v", s)
		}
		hints := s.Object("scheduler_hints")
		if hints["shape"] != "round" || hints["group"] != group {
			w.Errorf("hints %v", hints)
		}
		ports := map[string]ost.Object{}
		for _, p := range w.cloud.Objects(ost.Ports) {
			ports[p.String("name")] = p
		}
		main, second := ports[string(w.name(0))+"-main"], ports[string(w.name(0))+"-1"]
		if main == nil || second == nil {
			w.Fatalf("ports %v", ports)
		}
		if got := main.String("description"); got != "first [fairlead.dev fleet=fleet-a cluster=prod/eu-1 machine="+string(w.name(0))+"]" {
			w.Errorf("description %q", got)
		}
		if d := cmp.Diff([]string{"blue", "green", "kept"}, main.Strings("tags")); d != "" {
			w.Errorf("tags of the port: %s", d)
		}
		if groups := main.Strings("security_groups"); len(groups) != 2 || !slices.Contains(groups, sg) {
			w.Errorf("security groups %q, want the managed one and %s", groups, sg)
		}
		if main.String("mac_address") != "fa:16:3e:00:00:01" || len(main.Objects("allowed_address_pairs")) != 1 {
			w.Errorf("port %v", main)
		}
		if second.Bool("port_security_enabled") || len(second.Strings("security_groups")) != 0 {
			w.Errorf("port without security %v", second)
		}
		for _, v := range w.cloud.Objects(ost.Volumes) {
			want := map[string]string{string(w.name(0)) + "-root": "fast", string(w.name(0)) + "-etcd": "slow"}[v.String("name")]
			if v.String("volume_type") != want || v.Object("metadata")["fairlead.dev:machine"] != string(w.name(0)) || len(v.Objects("attachments")) != 1 {
				w.Errorf("volume %v", v)
			}
		}
		w.wantParts(0, "ports", "ports", "servers", "trunks", "volumes", "volumes")
		w.delete(0)
		w.calm()
		w.wantParts(0)
		w.remove()
		if left := w.mine(); len(left) > 0 {
			w.Errorf("left: %q", left)
		}
		if _, ok := w.cloud.Object(ost.SecurityGroups, sg); !ok {
			w.Error("the security group of the user is gone")
		}
	})
}

// What is definitely refused leaves nothing, and says why in the cloud's words.
func TestMachineRefused(t *testing.T) {
	other := func(change func(s *api.OpenStackMachineSpec)) *api.OpenStackMachineSpec {
		s := machineSpec()
		s.RootVolume = &api.RootVolume{SizeGiB: 30}
		change(s)
		return s
	}
	for reason, tc := range map[string]struct {
		spec  *api.OpenStackMachineSpec
		spoil func(w *world)
		data  string
		zone  string
		kind  fleet.ErrorKind
		words string
	}{
		"quota of servers": {
			other(func(*api.OpenStackMachineSpec) {}), func(w *world) { w.cloud.SetQuota("alpha", "instances", 0) }, "", "",
			fleet.Exhausted, "Quota exceeded for instances",
		},
		"quota of ports": {
			other(func(*api.OpenStackMachineSpec) {}), func(w *world) { w.cloud.SetQuota("alpha", "port", 0) }, "", "",
			fleet.Exhausted, "Quota exceeded for resources: ['port']",
		},
		"no such image": {
			other(func(s *api.OpenStackMachineSpec) { s.Image.Filter.Name = ptr("debian") }), nil, "", "",
			fleet.Invalid, `the project sees no image like {"name":"debian"}`,
		},
		"no such flavor": {
			other(func(s *api.OpenStackMachineSpec) { s.Flavor.Filter.Name = ptr("huge") }), nil, "", "",
			fleet.Invalid, `the project sees no flavor like {"name":"huge"}`,
		},
		"images alike": {other(func(s *api.OpenStackMachineSpec) { s.Image.Filter.Name = ptr("twin") }), func(w *world) {
			w.cloud.Add("alpha", ost.Images, ost.Object{"name": "twin", "status": "active"})
			w.cloud.Add("alpha", ost.Images, ost.Object{"name": "twin", "status": "active"})
		}, "", "", fleet.Invalid, `2 are like {"name":"twin"}`},
		"no such zone": {other(func(*api.OpenStackMachineSpec) {}), nil, "", "az9", fleet.Invalid, "The requested availability zone is not available"},
		"no such key":  {other(func(s *api.OpenStackMachineSpec) { s.SSHKeyName = "nobody" }), nil, "", "", fleet.Invalid, "key_name"},
		"no such network": {other(func(s *api.OpenStackMachineSpec) {
			s.Ports = []api.PortOpts{{}, {Network: &api.NetworkParam{Filter: &api.NetworkFilter{Name: "nowhere"}}}}
		}), nil, "", "", fleet.Invalid, "ports[1].network"},
		"no such security group": {other(func(s *api.OpenStackMachineSpec) {
			s.SecurityGroups = []api.SecurityGroupParam{{Filter: &api.SecurityGroupFilter{Name: "nobody"}}}
		}), nil, "", "", fleet.Invalid, "securityGroups[0]"},
		"volume that fails": {other(func(*api.OpenStackMachineSpec) {}), func(w *world) {
			w.cloud.Set(func(o *ost.Options) { o.FailVolume = func(ost.Object) bool { return true } })
		}, "", "", fleet.Exhausted, `Cinder says "error"`},
		"user data too large": {
			machineSpec(), nil, "#cloud-config\nwrite_files:\n- path: /etc/small\n  content: x\n- path: /etc/large\n  content: " + noise(120_000) + "\n", "",
			fleet.Invalid, "/etc/large with 120000, /etc/small with 1",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), tc.spec, func(w *world) {
				w.settle()
				if tc.spoil != nil {
					tc.spoil(w)
					time.Sleep(2 * tick)
				}
				data := tc.data
				if data == "" {
					data = "#cloud-config\n{}\n"
				}
				w.wantError("CreateMachine", w.createWith(0, data, tc.zone), tc.kind, tc.words)
				time.Sleep(2 * tick) // Cinder takes its time
				w.wantParts(0)
			})
		})
	}
}

// noise is text that no compression makes small.
func noise(n int) string {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return base64.StdEncoding.EncodeToString(b)[:n]
}

// User data that is too large as it is goes compressed.
func TestUserDataCompressed(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		if err := w.createWith(0, "#cloud-config\n"+strings.Repeat("# much the same\n", 10_000), ""); err != nil {
			w.Fatal(err)
		}
		data := w.cloud.Objects(ost.Servers)[0].String("OS-EXT-SRV-ATTR:user_data")
		plain, err := base64.StdEncoding.DecodeString(data)
		if err != nil || len(data) > 65535 || !strings.HasPrefix(string(plain), "\x1f\x8b") {
			w.Errorf("%d bytes of user data, %v, want them compressed", len(data), err)
		}
	})
}

func TestFailureDomains(t *testing.T) {
	for reason, tc := range map[string]struct {
		change func(s *api.OpenStackClusterSpec)
		want   []string // those of the control plane
	}{
		"all":   {func(*api.OpenStackClusterSpec) {}, []string{"az1", "az2", "az3"}},
		"named": {func(s *api.OpenStackClusterSpec) { s.ControlPlaneAvailabilityZones = []string{"az2"} }, []string{"az2"}},
		"none":  {func(s *api.OpenStackClusterSpec) { s.ControlPlaneOmitAvailabilityZone = ptr(true) }, nil},
	} {
		s := clusterSpec()
		tc.change(s)
		inBubble(t, s, machineSpec(), func(w *world) {
			var all, got []string
			for _, d := range w.observe().FailureDomains {
				all = append(all, d.Name)
				if d.ControlPlane {
					got = append(got, d.Name)
				}
			}
			if !slices.Equal(got, tc.want) || !slices.Equal(all, []string{"az1", "az2", "az3"}) {
				w.Errorf("%s: failure domains %q, of the control plane %q, want %q", reason, all, got, tc.want)
			}
		})
	}
}
