package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A zone that Nova does not have is told: before the first machine nothing goes on,
// later no machine of the control plane is put anywhere else.
func TestUnknownZone(t *testing.T) {
	const words = "Nova has no zone az9 that takes servers, it has az1, az2, az3 (correct controlPlaneAvailabilityZones)"
	named := func(zones ...string) func(w *world) {
		return func(w *world) {
			spec := clusterSpec()
			spec.ControlPlaneAvailabilityZones = zones
			w.cluster.Infrastructure = object(w, "OpenStackCluster", "eu-1", w.cloud.CloudsYAML(ost.URL, "alice"), spec)
		}
	}
	control := func(w *world, zone string) error {
		pool := w.cluster.Workers[0]
		pool.Role = fleet.RoleControlPlane
		return w.provider.CreateMachine(w.Context(), "op-cp", providers.MachineRequest{
			Cluster: &w.cluster, Pool: pool, Name: "cp-0", FailureDomain: zone,
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		})
	}
	t.Run("before the first machine", func(t *testing.T) {
		inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
			named("az1", "az9")(w)
			var err error
			for range 20 {
				err = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
				w.observe()
				time.Sleep(2 * time.Second)
			}
			w.wantError("EnsureInfrastructure", err, fleet.Invalid, words)
			if got := w.observe(); got.Ready || !strings.Contains(got.Message, words) {
				t.Errorf("ready %v, %q; want %q", got.Ready, got.Message, words)
			}
			named("az1")(w)
			w.settle()
		})
	})
	t.Run("later", func(t *testing.T) {
		inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
			w.settle()
			w.mustCreate(0)
			w.await(0, fleet.MachineRunning)
			named("az9")(w)
			got := w.observe()
			if !got.Ready || !slices.ContainsFunc(got.Drift, func(d string) bool { return strings.Contains(d, words) }) {
				t.Errorf("ready %v, drift %q; want %q", got.Ready, got.Drift, words)
			}
			w.wantError("CreateMachine", control(w, ""), fleet.Invalid, words)
			named("az1")(w)
			if err := control(w, "az1"); err != nil {
				t.Error(err)
			}
		})
	})
}
