package openstack_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

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

// A server that ends in ERROR says why, and its parts go with it.
func TestFailedServer(t *testing.T) {
	spec := machineSpec()
	spec.RootVolume = &api.RootVolume{SizeGiB: 30}
	inBubble(t, clusterSpec(), spec, func(w *world) {
		w.cloud.Set(func(o *ost.Options) {
			o.FailServer = func(ost.Object) string { return "No valid host was found. There are not enough hosts available." }
		})
		w.settle()
		w.mustCreate(0)
		m := w.await(0, fleet.MachineFailed)
		if !strings.HasPrefix(m.Message, "No valid host was found. There are not enough hosts available. (no hypervisor has room") {
			w.Errorf("message %q, want Nova's words and a next step", m.Message)
		}
		w.delete(0)
		w.calm()
		w.wantParts(0)
	})
}

// What an agent that died left of a machine shows as pending while its server
// may appear, stays while the machine may be created again, and goes then.
func TestLeftovers(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.cloud.Inject(ost.Fault{Service: "compute", Method: http.MethodPost, Path: "/servers", Times: 1, Cut: ost.Before})
		w.wantError("CreateMachine", w.create(0), fleet.Unanswered)
		w.wantParts(0, "ports")
		w.restart()
		time.Sleep(2 * tick)
		got := w.observe()
		if len(got.Machines) != 1 || got.Machines[0].State != fleet.MachinePending || got.Machines[0].Pool != "eu-1-md-0" || got.Machines[0].Name != w.name(0) || len(got.Drift) != 0 {
			w.Fatalf("before the settle window: %+v", got)
		}
		if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
			w.Fatal(err)
		}
		w.wantParts(0, "ports")
		time.Sleep(settle + tick)
		if got = w.observe(); len(got.Machines) != 0 || len(got.Drift) != 0 {
			w.Fatalf("after the settle window: %+v, want the machine missing, and its parts kept for it", got)
		}
		w.settle()
		w.wantParts(0, "ports")
		time.Sleep(settle + tick)
		got = w.observe()
		if want := "left over of " + string(w.name(0)) + ": port " + string(w.name(0)) + "-0"; len(got.Machines) != 0 || len(got.Drift) != 1 || got.Drift[0] != want {
			w.Fatalf("after another one: %+v", got)
		}
		w.settle()
		w.wantParts(0)
	})
}

// A request that is repeated before the server shows makes no second one, and
// does no harm to the first.
func TestRepeatedBeforeItShows(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		time.Sleep(4 * tick)
		w.restart()
		id := w.cloud.Objects(ost.Servers)[0].ID()
		hide := func(project string) {
			w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["project_id"] = w.cloud.ProjectID(project) })
		}
		hide("beta") // listings leave it out
		w.wantError("CreateMachine again", w.create(0), fleet.Conflict, "which was not seen yet")
		hide("alpha")
		time.Sleep(2 * tick)
		w.await(0, fleet.MachineRunning)
		w.wantParts(0, "ports", "servers")
	})
}

// So does one that Nova refuses since the port got its server by now.
func TestRefusedForAPortInUse(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.cloud.Inject(ost.Fault{
			Service: "compute", Method: http.MethodPost, Path: "/servers", Times: 1, Status: http.StatusConflict,
			Body: `{"conflictingRequest": {"code": 409, "message": "Port 1 is still in use."}}`,
		})
		w.wantError("CreateMachine", w.create(0), fleet.Conflict, "Port 1 is still in use.")
		w.wantParts(0, "ports")
	})
}

// A server that somebody stopped is not running, one that somebody deleted is gone.
func TestBehindOurBack(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		id := w.cloud.Objects(ost.Servers)[0].ID()
		w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["status"] = "SHUTOFF" })
		time.Sleep(2 * tick)
		if m := w.await(0, fleet.MachinePending); !strings.Contains(m.Message, "server is SHUTOFF") {
			w.Errorf("message %q", m.Message)
		}
		w.cloud.Remove(ost.Servers, id)
		time.Sleep(2 * tick)
		got := w.observe()
		if len(got.Machines) != 0 || len(got.Drift) != 1 {
			w.Errorf("after its deletion: %+v, want its port left over", got)
		}
		w.settle()
		w.wantParts(0)
	})
}

func TestFloatingIPPool(t *testing.T) {
	for policy, kept := range map[api.ReclaimPolicy]bool{api.ReclaimDelete: false, api.ReclaimRetain: true} {
		spec := machineSpec()
		spec.FloatingIPPoolRef = &corev1.TypedLocalObjectReference{Kind: "OpenStackFloatingIPPool", Name: "web"}
		inBubble(t, clusterSpec(), spec, func(w *world) {
			w.settle()
			w.cloud.Set(func(o *ost.Options) { o.Delays.Listing = 0 }) // as Neutron is
			external := w.cloud.Objects(ost.Networks)[0].ID()
			given := w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_network_id": external, "floating_ip_address": "198.18.0.200"})
			w.cluster.Companions = []fleet.Object{object(w, "OpenStackFloatingIPPool", "web", nil, api.OpenStackFloatingIPPoolSpec{
				IdentityRef: identity(), ReclaimPolicy: policy, PreAllocatedFloatingIPs: []string{"198.18.0.200"}, MaxIPs: ptr(2),
			})}
			time.Sleep(2 * tick)
			w.mustCreate(0)
			w.mustCreate(1)
			w.wantError("a third of two", w.create(2), fleet.Exhausted, "all 2 of maxIPs are in use")
			w.wantParts(2)
			if m := w.await(0, fleet.MachineRunning); !slices.Contains(m.Addresses, "198.18.0.200") {
				w.Errorf("addresses %q, want the one that is given", m.Addresses)
			}
			m := w.await(1, fleet.MachineRunning)
			made := m.Addresses[len(m.Addresses)-1]
			for n := range 2 {
				w.delete(n)
			}
			w.calm()
			w.wantParts(0)
			w.wantParts(1)
			if _, ok := w.cloud.Object(ost.FloatingIPs, given); !ok {
				w.Errorf("%s: the floating IP of the user is gone", policy)
			}
			is := slices.ContainsFunc(w.cloud.Objects(ost.FloatingIPs), func(o ost.Object) bool { return o.String("floating_ip_address") == made })
			if is != kept {
				w.Errorf("%s: the floating IP that was made is kept: %v", policy, is)
			}
			if kept {
				w.mustCreate(3)
				w.mustCreate(4)
				if m := w.await(4, fleet.MachineRunning); !slices.Contains(m.Addresses, made) {
					w.Errorf("addresses %q, want the kept one, %s", m.Addresses, made)
				}
				w.delete(4)
				w.calm()
			}
			w.remove()
			if left := w.mine(); len(left) > 0 {
				w.Errorf("%s: left: %q", policy, left)
			}
		})
	}
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

// What a quota refuses after volumes were made leaves none of them, whether the machine
// is asked for again or not, and what comes is made once there is room.
func TestQuotaWithVolumes(t *testing.T) {
	disks := func() *api.OpenStackMachineSpec {
		s := diskSpec()
		s.AdditionalBlockDevices = []api.AdditionalBlockDevice{{Name: "etcd", SizeGiB: 5, Storage: api.BlockDeviceStorage{Type: api.VolumeBlockDevice}}}
		return s
	}
	for resource, tc := range map[string]struct {
		limit int
		words string
		made  int // volumes, in three tries
	}{
		"instances": {0, "Quota exceeded for instances: Requested 1, but already used 0 of 0 instances", 0},
		"cores":     {1, "Quota exceeded for cores: Requested 2, but already used 0 of 1 cores", 0},
		"ram":       {1024, "Quota exceeded for ram", 0},
		"volumes":   {1, "Maximum number of volumes allowed (1) exceeded", 3},
		"port":      {-1, "Quota exceeded for resources: ['port']", 0},
	} {
		t.Run(resource, func(t *testing.T) {
			inBubble(t, clusterSpec(), disks(), func(w *world) {
				w.settle()
				if resource == "port" {
					tc.limit = 0
				}
				w.cloud.SetQuota("alpha", resource, tc.limit)
				made := func() (n int) {
					for _, c := range w.cloud.Calls() {
						if c.Method == "POST" && c.Service == "block-storage" && strings.HasSuffix(c.Path, "/volumes") && c.Status < 300 {
							n++
						}
					}
					return n
				}
				for range 3 {
					w.wantError("CreateMachine", w.create(0), fleet.Exhausted, tc.words)
					time.Sleep(time.Minute)
				}
				if n := made(); n > tc.made {
					t.Errorf("%d volumes were made for what is refused, want %d", n, tc.made)
				}
				for range 12 {
					w.calm()
				}
				w.wantParts(0)
				w.cloud.SetQuota("alpha", resource, -1)
				w.mustCreate(0)
				w.await(0, fleet.MachineRunning)
				w.wantParts(0, "ports", "servers", "volumes", "volumes")
			})
		})
	}
}
