package sites_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

const onMetal3 = `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: eu-1, namespace: prod}
spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: metal, namespace: prod}
spec: {template: {spec: {image: {url: "IMAGE", checksum: SUM, checksumType: sha256, diskFormat: raw}}}}
HOSTS`

const bareMetalHost = `---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: NAME, namespace: prod}
spec:
  online: true
  bootMACAddress: "NIC"
  bootMode: UEFI
  bmc: {address: "BMC", credentialsName: bmc}`

// TestMetal3: workers on hosts of an Ironic beside a control plane elsewhere. When they leave Git
// the secret store has what leads to them.
func TestMetal3(t *testing.T) {
	t.Parallel()
	w, i := newMetal3(t)
	w.live(100 * time.Millisecond)
	for n := range 5 {
		if s := i.Host(fmt.Sprintf("h%d", n)).State(); s.On || s.Disk != nil {
			t.Errorf("host h%d: %+v", n, s)
		}
	}
}

// TestMetal3LosesDatabase: an Ironic that lost its database is no proof that the workers there are
// gone. Their hosts are enrolled and adopted as they run.
func TestMetal3LosesDatabase(t *testing.T) {
	t.Parallel()
	w, i := newMetal3(t)
	git := clusterSpec{near: 1, far: 2, version: "v1.33.5"}
	w.reach(git, 100*time.Millisecond)
	hosts := func() (out []metal3test.State) {
		for n := range 5 {
			out = append(out, i.Host(fmt.Sprintf("h%d", n)).State())
		}
		return out
	}
	running := func() (out []fleet.ProviderID) {
		for _, m := range w.last.Report.Machines {
			out = append(out, m.Machine.ProviderID)
			if m.Phase != fleet.MachinePhaseRunning {
				t.Errorf("machine %s is %s", m.Machine.Name, m.Phase)
			}
		}
		return out
	}
	machines, before := running(), hosts()
	if err := i.LoseDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // a look may be as old as a tick
	for range 5 {
		w.pass(w.git(git), 100*time.Millisecond)
		if d := cmp.Diff(machines, running()); d != "" {
			t.Errorf("after the loss (-before +after):\n%s", d)
		}
	}
	adopted := func() bool {
		return !slices.ContainsFunc(w.last.Report.Hosts, func(h fleet.Host) bool { return h.State != fleet.HostProvisioned && h.State != fleet.HostAvailable })
	}
	for range 600 { // each step of a host is paced
		if w.pass(w.git(git), 100*time.Millisecond); adopted() {
			break
		}
	}
	if d := cmp.Diff(machines, running()) + cmp.Diff(before[:2], hosts()[:2]); d != "" || !adopted() {
		t.Errorf("adopted: %t (-before +after):\n%s", adopted(), d)
	}
}

// newMetal3 returns a world whose other site is a double of Ironic with five hosts.
func newMetal3(t *testing.T) (*world, *metal3test.Ironic) {
	t.Helper()
	i := metal3test.New(t, metal3test.Options{Double: true})
	var list []string
	for n := range 5 {
		h := i.AddHost(fmt.Sprintf("h%d", n))
		h.SetPassword("calvin")
		list = append(list, strings.NewReplacer("NAME", h.Name(), "NIC", h.MAC(), "BMC", h.BMC()).Replace(bareMetalHost))
	}
	kept := map[string]map[string]string{
		"ironic": {"endpoint": i.URL(), "username": metal3test.User, "password": metal3test.Password, "ca.crt": string(i.CA()), "deployISO": i.RamdiskURL()},
		"bmc":    {"username": metal3test.BMCUser, "password": "calvin"},
	}
	p := metal3.New(metal3.Options{
		Ironic: ironic.Options{Rate: 10_000}, Tick: 50 * time.Millisecond, Settle: 400 * time.Millisecond, Retry: time.Second,
		Secret: func(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
			out := make(fleet.SecretData)
			for key, v := range kept[k.Name] {
				out[key] = fleet.NewSecret([]byte(v))
			}
			return out, nil
		},
	})
	t.Cleanup(p.Close)
	w := newWorld(t, guest{
		name: api.ProviderName, kinds: api.Kinds(), provider: p, nodeID: machine.IDPrefix + "{{ ds.meta_data.providerid }}",
		manifests: strings.NewReplacer("IMAGE", i.ImageURL(), "SUM", i.ImageSHA256(), "HOSTS", strings.Join(list, "\n")).Replace(onMetal3),
		template:  "{apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: metal}",
	})
	t.Cleanup(w.close)
	return w, i
}
