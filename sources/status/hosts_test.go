package status_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func host(name string, change ...func(*fleet.Host)) fleet.Host {
	h := fleet.Host{
		Namespace: "metal", Name: name, Provider: "metal3", State: fleet.HostAvailable, ID: "6d2c", Power: fleet.HostOff, Online: true,
		Labels: map[string]string{"rack": "r1"}, BMC: "redfish-virtualmedia+https://10.0.0.9/redfish/v1/Systems/1", BootMAC: "52:54:00:00:00:01",
		Enrolled: time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC), Since: time.Date(2026, 1, 2, 2, 30, 0, 500, time.UTC),
		Hardware: &fleet.HostHardware{
			Manufacturer: "Fairlead", Product: "lab", Serial: "s-1", BIOS: "1.0", BootMode: "UEFI", Architecture: "x86_64", CPUs: 8, MemoryMiB: 16384,
			Disks: []fleet.HostDisk{{Name: "/dev/sda", Bytes: 107374182400, Type: "SSD"}}, NICs: []fleet.HostNIC{{MAC: "52:54:00:00:00:01", Gbps: 10, PXE: true}},
		},
	}
	for _, c := range change {
		c(&h)
	}
	return h
}

func had(by fleet.HostConsumer) func(*fleet.Host) {
	return func(h *fleet.Host) { h.State, h.Consumer = fleet.HostProvisioned, by }
}

// of returns a report of a cluster that tells of hosts.
func of(name string, hosts ...fleet.Host) fleet.Report {
	r := report(fleet.PhaseProvisioned)
	r.Cluster = fleet.Key{Namespace: "metal", Name: name}
	r.Hosts = append([]fleet.Host{}, hosts...)
	return r
}

func hostsIn(t *testing.T, b *branch) []fleet.Host {
	t.Helper()
	_, tree, err := b.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s, err := status.Read(tree)
	if err := errors.Join(append(s.DamagedHosts, err)...); err != nil {
		t.Fatal(err)
	}
	return s.Hosts
}

// TestHostFile: a host's file is a BareMetalHost, and says all that is known of the host.
func TestHostFile(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	free := host("m1", func(h *fleet.Host) {
		h.Next, h.Waits = fleet.HostStep{Do: "inspect it", Why: "inspectionMode is agent"}, "inspect wait: the ramdisk to call"
	})
	broken := host("m2", had(fleet.HostConsumer{Cluster: fleet.Key{Namespace: "metal", Name: "eu-1"}, Machine: "eu-1-md-0-x7k"}), func(h *fleet.Host) {
		h.Trouble, h.TroubleIn, h.Gone, h.Held, h.Power = "no answer", fleet.HostPowerError, true, "Git has it no more", fleet.HostPowerUnknown
	})
	foreign := host("m3", had(fleet.HostConsumer{Fleet: "other", Instance: "0f0e", Cluster: fleet.Key{Namespace: "a", Name: "b"}}))
	w.Put(of("eu-1", free, broken, foreign))
	flush(t, w)
	golden(t, "testdata/host.yaml", b.file(t, "hosts/metal/m2.yaml"))
	want := []fleet.Host{free, broken, foreign}
	for i := range want {
		want[i].Since = want[i].Since.Truncate(time.Second)
	}
	if diff := cmp.Diff(want, hostsIn(t, b)); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// TestHostsOfManyClusters: what the file of a host says is a function of the newest reports.
func TestHostsOfManyClusters(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	mine := had(fleet.HostConsumer{Cluster: fleet.Key{Namespace: "metal", Name: "eu-1"}, Machine: "x"})
	names := func() (out []string) {
		for _, h := range hostsIn(t, b) {
			out = append(out, h.Name+" "+string(h.State)+" "+h.Held)
		}
		return out
	}
	step := func(what string, want []string, put ...fleet.Report) {
		t.Helper()
		for _, r := range put {
			w.Put(r)
		}
		flush(t, w)
		if diff := cmp.Diff(want, names()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	held := func(h *fleet.Host) { h.Held = "no machine of this cluster" }
	step("one tells", []string{"m1 available ", "m2 available "}, of("eu-1", host("m1"), host("m2")))
	step("the newer of two reports, not the one of the last cluster by name", []string{"m1 provisioned ", "m2 available "},
		of("us-1", host("m1"), host("m2")), of("eu-1", host("m1", mine), host("m2")))
	step("who has it says how it is", []string{"m1 provisioned ", "m2 available "}, of("us-1", host("m1", mine, held), host("m2")))
	step("but not who has it", []string{"m1 available ", "m2 available "}, of("us-1", host("m1"), host("m2")))
	commits := len(b.log)
	step("the same", []string{"m1 available ", "m2 available "}, of("us-1", host("m1"), host("m2")))
	if len(b.log) != commits {
		t.Error("there was a commit of nothing")
	}

	w = writer(b, status.Options{}) // another agent
	unseen := of("us-1")
	unseen.Hosts = nil
	step("a pass that could not look", []string{"m1 available ", "m2 available "}, unseen)
	if len(b.log) != commits {
		t.Error("an agent that starts commits what is there already")
	}
	step("one tells of it still", []string{"m1 available ", "m2 available "}, of("us-1", host("m1")))
	step("nobody tells of it", []string{"m1 available "}, of("eu-1", host("m1")))
	if got, want := b.last().Message, "host metal/m2: gone"; !strings.Contains(got, want) {
		t.Errorf("%q does not say %q", got, want)
	}
	w.Forget(fleet.Key{Namespace: "metal", Name: "us-1"})
	step("a cluster is forgotten", []string{"m1 available "})
	step("no host is left", nil, of("eu-1"))
	if paths := slices.Collect(func(yield func(string) bool) {
		for p := range b.log[len(b.log)-1].tree {
			if strings.HasPrefix(p, "hosts/") && !yield(p) {
				return
			}
		}
	}); len(paths) > 0 {
		t.Errorf("%q are left", paths)
	}
}

// TestHostsOutliveAFailedPush: what could not be written is older than what came since.
func TestHostsOutliveAFailedPush(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	b.before = func() error { return fleet.Errorf(fleet.Unauthorized, "push", "no") }
	w.Put(of("us-1", host("m1")))
	w.Put(of("eu-1", host("m1", func(h *fleet.Host) { h.State = fleet.HostInspecting })))
	if _, err := w.Flush(t.Context()); err == nil {
		t.Fatal("it was pushed")
	}
	w.Put(of("us-1", host("m1", func(h *fleet.Host) { h.State = fleet.HostPreparing })))
	b.before = nil
	flush(t, w)
	if got := hostsIn(t, b); len(got) != 1 || got[0].State != fleet.HostPreparing {
		t.Errorf("%+v", got)
	}
}

// TestDamagedHostFile: a file of a host that cannot be read is told, hides no other, and is
// written again.
func TestDamagedHostFile(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	w.Put(of("eu-1", host("m1"), host("m2")))
	flush(t, w)
	good := b.file(t, "hosts/metal/m1.yaml")
	for name, text := range map[string]string{
		"no YAML": "{", "another kind": "kind: Host\n", "another host": strings.Replace(good, "name: m1", "name: m9", 1), "no time": strings.Replace(good, "2026-01-02T02:30:00Z", "now", 1),
	} {
		b.log[len(b.log)-1].tree["hosts/metal/m1.yaml"].Data = []byte(text)
		_, tree, _ := b.Read(t.Context())
		s, err := status.Read(tree)
		if err != nil || len(s.DamagedHosts) != 1 || !strings.Contains(s.DamagedHosts[0].Error(), "hosts/metal/m1.yaml") || len(s.Hosts) != 1 {
			t.Errorf("%s: %v, damaged %v, hosts %d", name, err, s.DamagedHosts, len(s.Hosts))
		}
	}
	w = writer(b, status.Options{})
	w.Put(of("eu-1", host("m1"), host("m2")))
	flush(t, w)
	if got := b.file(t, "hosts/metal/m1.yaml"); got != good {
		t.Errorf("it is now:\n%s", got)
	}
}
