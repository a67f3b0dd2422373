package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// TestCompareKubernetes: builds of clouds are the version that they are built of.
func TestCompareKubernetes(t *testing.T) {
	for _, tc := range []struct {
		a, b  string
		order int
		known bool
	}{
		{"v1.31.2", "v1.31.2", 0, true},
		{"v1.31.2-eks-a1b2c3", "v1.31.2", 0, true},
		{"v1.31.2-gke.1", "v1.31.2+k3s1", 0, true},
		{"v1.31.2-gke.1", "v1.31.10", -1, true},
		{"v1.32.0-eks-a1b2c3", "v1.31.9", 1, true},
		{"1.31", "v1.31.2", -1, true},
		{"", "v1.31.2", 0, false},
		{"v1.31.2", "latest", 0, false},
	} {
		if order, known := fleet.CompareKubernetes(tc.a, tc.b); order != tc.order || known != tc.known {
			t.Errorf("CompareKubernetes(%q, %q) = %d, %t, want %d, %t", tc.a, tc.b, order, known, tc.order, tc.known)
		}
	}
	for v, want := range map[string]string{"v1.31.2-eks-a1b2c3": "v1.31.2", "1.31": "v1.31.0", "latest": "", "": ""} {
		if got := fleet.PlainVersion(v); got != want {
			t.Errorf("PlainVersion(%q) = %q, want %q", v, got, want)
		}
	}
}

// TestCurrent: a version is what a pool asks for if it is of the same minor version, and not older.
func TestCurrent(t *testing.T) {
	p := fleet.KeptPool{Version: "v1.31.2"}
	for is, want := range map[string]bool{
		"v1.31.2": true, "v1.31.2-eks-a1b2c3": true, "v1.31.9": true, "v1.31.1-gke.9": false, "v1.32.2": false, "": false, "latest": false,
	} {
		if got := p.Current(is); got != want {
			t.Errorf("Current(%q) = %t, want %t", is, got, want)
		}
	}
}

// TestKeptPoolsWhileWaiting: of a pool that the cloud keeps only what never waits comes from the newest definition.
func TestKeptPoolsWhileWaiting(t *testing.T) {
	between := func(least, most int) *fleet.PoolRange { return &fleet.PoolRange{Min: least, Max: most} }
	for reason, tc := range map[string]struct{ is, next, want fleet.KeptPool }{
		"it is paused":             {fleet.KeptPool{}, fleet.KeptPool{Paused: true}, fleet.KeptPool{Paused: true}},
		"it goes on":               {fleet.KeptPool{Paused: true}, fleet.KeptPool{}, fleet.KeptPool{}},
		"more machines":            {fleet.KeptPool{Count: 2}, fleet.KeptPool{Count: 5}, fleet.KeptPool{Count: 5}},
		"fewer machines wait":      {fleet.KeptPool{Count: 5}, fleet.KeptPool{Count: 2}, fleet.KeptPool{Count: 5}},
		"a version waits":          {fleet.KeptPool{Version: "v1.33.1"}, fleet.KeptPool{Version: "v1.34.1"}, fleet.KeptPool{Version: "v1.33.1"}},
		"a wider range":            {fleet.KeptPool{Count: 1, Range: between(1, 5)}, fleet.KeptPool{Count: 2, Range: between(2, 9)}, fleet.KeptPool{Count: 2, Range: between(2, 9)}},
		"a narrower range waits":   {fleet.KeptPool{Count: 3, Range: between(3, 9)}, fleet.KeptPool{Count: 1, Range: between(1, 5)}, fleet.KeptPool{Count: 3, Range: between(3, 9)}},
		"the cloud is to decide":   {fleet.KeptPool{Count: 2}, fleet.KeptPool{Count: 4, Range: between(4, 9)}, fleet.KeptPool{Count: 4}},
		"the cloud decides it yet": {fleet.KeptPool{Count: 2, Range: between(1, 5)}, fleet.KeptPool{Count: 7}, fleet.KeptPool{Count: 7, Range: between(7, 7)}},
	} {
		kind := fleet.Object{GVK: schema.GroupVersionKind{Kind: "DevMachinePool"}}
		pool := func(p fleet.KeptPool) *fleet.Cluster {
			p.Name, p.Infrastructure = "mp", kind
			return &fleet.Cluster{KeptPools: []fleet.KeptPool{p}}
		}
		is := pool(tc.is)
		if d := cmp.Diff(pool(tc.want).KeptPools, is.WhileWaiting(pool(tc.next)).KeptPools); d != "" {
			t.Errorf("%s: %s", reason, d)
		}
		if d := cmp.Diff(pool(tc.is), is); d != "" {
			t.Errorf("%s: the definition that waits is changed: %s", reason, d)
		}
	}
	is := &fleet.Cluster{KeptPools: []fleet.KeptPool{{Name: "mp", Count: 1}}}
	next := &fleet.Cluster{KeptPools: []fleet.KeptPool{{Name: "mp", Count: 3, Infrastructure: fleet.Object{GVK: schema.GroupVersionKind{Kind: "Other"}}}, {Name: "new"}}}
	if d := cmp.Diff(is.KeptPools, is.WhileWaiting(next).KeptPools); d != "" {
		t.Errorf("a pool of another kind, and a new one, wait: %s", d)
	}
}

// TestKept: a MachinePool whose machines Fairlead creates is reported as any other pool of machines.
func TestKept(t *testing.T) {
	t.Parallel()
	kept, own := fleet.PoolReport{Kind: fleet.MachinePoolKind, Phase: fleet.KeptPhasePending}, fleet.PoolReport{Kind: fleet.MachinePoolKind}
	if !kept.Kept() || own.Kept() {
		t.Errorf("kept by a cloud: %t, and machines of Fairlead: %t", kept.Kept(), own.Kept())
	}
}
