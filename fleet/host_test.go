package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func TestHostFacts(t *testing.T) {
	t.Parallel()
	h := &fleet.HostHardware{
		Manufacturer: "Fairlead", Architecture: "x86_64", CPUs: 8, MemoryMiB: 16384,
		Disks: []fleet.HostDisk{{Name: "/dev/sda", Bytes: 107374182400, Type: "SSD"}, {Name: "/dev/sdb", Bytes: 107374182400}},
		NICs:  []fleet.HostNIC{{MAC: "52:54:00:00:01:01", Gbps: 10}},
	}
	want := map[string]string{
		"vendor": "Fairlead", "cpu.arch": "x86_64", "cpu.count": "8", "memory.mib": "16384", "disks": "2", "nics": "1",
		"disk.0.name": "/dev/sda", "disk.0.bytes": "107374182400", "disk.0.type": "SSD",
		"disk.1.name": "/dev/sdb", "disk.1.bytes": "107374182400",
		"nic.0.mac": "52:54:00:00:01:01", "nic.0.gbps": "10",
	}
	if diff := cmp.Diff(want, h.Facts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := h.String(), "8 CPUs, 16 GiB, 2 disks of 107 GB, 1 NIC"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if h = nil; h.Facts() != nil || h.String() != "" {
		t.Errorf("nothing is known: %v, %q", h.Facts(), h.String())
	}
}

func TestHostStatus(t *testing.T) {
	t.Parallel()
	cluster := fleet.Key{Namespace: "prod", Name: "eu-1"}
	for name, test := range map[string]struct {
		host     fleet.Host
		status   string
		free     bool
		consumer string
	}{
		"not enrolled": {fleet.Host{State: fleet.HostUnmanaged}, "discovered", false, ""},
		"available":    {fleet.Host{ID: "1", State: fleet.HostAvailable}, "OK", true, ""},
		"held":         {fleet.Host{ID: "1", State: fleet.HostAvailable, Held: "it is paused"}, "delayed", false, ""},
		"left Git":     {fleet.Host{ID: "1", State: fleet.HostAvailable, Gone: true, Held: "Git has it no more"}, "error", false, ""},
		"in trouble":   {fleet.Host{ID: "1", State: fleet.HostAvailable, Trouble: "no answer", TroubleIn: fleet.HostPowerError}, "error", false, ""},
		"a machine's": {
			fleet.Host{ID: "1", State: fleet.HostAvailable, Consumer: fleet.HostConsumer{Cluster: cluster, Machine: "eu-1-md-0-x7k"}},
			"OK", false, "prod/eu-1 eu-1-md-0-x7k",
		},
		"another fleet's": {
			fleet.Host{ID: "1", State: fleet.HostProvisioned, Consumer: fleet.HostConsumer{Fleet: "other", Cluster: cluster, Machine: "m"}},
			"OK", false, "fleet other: prod/eu-1 m",
		},
		"another tool's": {
			fleet.Host{ID: "1", State: fleet.HostProvisioned, Consumer: fleet.HostConsumer{Instance: "0f0e"}},
			"OK", false, "0f0e",
		},
	} {
		if got := test.host.OperationalStatus(); got != test.status {
			t.Errorf("%s: %s, want %s", name, got, test.status)
		}
		if got := test.host.Free(); got != test.free {
			t.Errorf("%s: free %t", name, got)
		}
		if got := test.host.Consumer.String(); got != test.consumer {
			t.Errorf("%s: consumer %q, want %q", name, got, test.consumer)
		}
	}
}
