package sites_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

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
// the secret store has what leads to them, and hosts that are nobody's stay enrolled.
func TestMetal3(t *testing.T) {
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
	defer w.close()
	w.live(100 * time.Millisecond)
	for n := range 5 {
		if s := i.Host(fmt.Sprintf("h%d", n)).State(); s.On || s.Disk != nil {
			t.Errorf("host h%d: %+v", n, s)
		}
	}
}
