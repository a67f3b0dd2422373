package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
)

func someHosts() []fleet.Host {
	big := &fleet.HostHardware{Architecture: "x86_64", CPUs: 64, MemoryMiB: 262144, Disks: []fleet.HostDisk{{Name: "/dev/sda", Bytes: 960e9}}}
	return []fleet.Host{
		{Namespace: "metal", Name: "m1", ID: "1", State: fleet.HostAvailable, Power: fleet.HostOff, Labels: map[string]string{"rack": "r1"}, Hardware: big},
		{
			Namespace: "metal", Name: "m2", ID: "2", State: fleet.HostProvisioned, Power: fleet.HostOn, Labels: map[string]string{"rack": "r2"},
			Consumer: fleet.HostConsumer{Cluster: fleet.Key{Namespace: "metal", Name: "eu-1"}, Machine: "eu-1-cp-6k2xq"},
			Trouble:  "no answer", TroubleIn: fleet.HostPowerError,
		},
		{Namespace: "metal", Name: "m3", State: fleet.HostUnmanaged, Next: fleet.HostStep{Do: "enrol it", Why: "it is new in Git"}},
		{Namespace: "metal", Name: "m4", ID: "4", State: fleet.HostPreparing, Waits: "clean wait: the ramdisk to call"},
		{Namespace: "metal", Name: "m5", ID: "5", State: fleet.HostRegistering, Held: "it is paused"},
	}
}

func TestHostsTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := showHosts(output.Plain(&b), output.FormatMarkdown, someHosts()); err != nil {
		t.Fatal(err)
	}
	want := `| HOST | STATE | POWER | CONSUMER | HARDWARE | MESSAGE |
| --- | --- | --- | --- | --- | --- |
| metal/m1 | available | off |  | 64 CPUs, 256 GiB, 1 disk of 960 GB |  |
| metal/m2 | provisioned | on | metal/eu-1 eu-1-cp-6k2xq |  | power management error: no answer |
| metal/m3 | unmanaged |  |  |  | next: enrol it: it is new in Git |
| metal/m4 | preparing |  |  |  | waits for clean wait: the ramdisk to call |
| metal/m5 | registering |  |  |  | held: it is paused |
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	if err := showHosts(output.Plain(&b), output.FormatJSON, someHosts()[:1]); err != nil {
		t.Fatal(err)
	}
	var got []statusview.Host
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || len(got) != 1 || !got[0].Free || got[0].Hardware["memory.mib"] != "262144" {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestHostFilter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv            []string
		selector, facts string
		want            []string
		wrong           bool
	}{
		"all":         {want: []string{"m1", "m2", "m3", "m4", "m5"}},
		"by name":     {argv: []string{"metal/m2"}, want: []string{"m2"}},
		"by label":    {selector: "rack in (r1, r3)", want: []string{"m1"}},
		"by hardware": {facts: "cpu.arch=x86_64,disk.0.name", wrong: false, want: []string{"m1"}},
		"by a number": {facts: "memory.mib>200000", want: []string{"m1"}},
		"no name":     {argv: []string{"a/b/c"}, wrong: true},
		"no selector": {selector: "rack in", wrong: true},
		"no facts":    {facts: "cpu in", wrong: true},
	} {
		wanted, err := hostFilter(test.argv, test.selector, test.facts)
		if (err != nil) != test.wrong {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		var got []string
		for _, h := range someHosts() {
			if wanted(&h) {
				got = append(got, h.Name)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
