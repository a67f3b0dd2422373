package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

func TestWanted(t *testing.T) {
	known := fleet.Residence{ControlPlane: fleet.InitializedOnce, Endpoint: fleet.Endpoint{Host: "10.0.0.7", Port: 7443}}
	for reason, tc := range map[string]struct {
		cluster     fleet.Cluster
		want, known string
	}{
		"nothing knows one":            {fleet.Cluster{}, "", ""},
		"the port that Git names":      {fleet.Cluster{Network: clusterv1.ClusterNetwork{APIServerPort: 8443}}, ":8443", ""},
		"the Cluster names it":         {fleet.Cluster{Endpoint: fleet.Endpoint{Host: "a", Port: 1}, Residence: known}, "a:1", ""},
		"its infrastructure names it":  {fleet.Cluster{Infrastructure: fleet.Object{Spec: []byte(`{"controlPlaneEndpoint":{"host":"b","port":2}}`)}}, "b:2", ""},
		"the machines know it":         {fleet.Cluster{Residence: known}, "10.0.0.7", "10.0.0.7:7443"},
		"none of them ever was there":  {fleet.Cluster{Residence: fleet.Residence{ControlPlane: fleet.NeverInitialized, Endpoint: known.Endpoint}}, "", ""},
		"a host, and the network port": {fleet.Cluster{Endpoint: fleet.Endpoint{Host: "a"}, Network: clusterv1.ClusterNetwork{APIServerPort: 8443}}, "a:8443", ""},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := Wanted(&tc.cluster); text(got) != tc.want {
				t.Errorf("wanted %s, want %s", text(got), tc.want)
			}
			if got := Known(&tc.cluster); text(got) != tc.known {
				t.Errorf("known %s, want %s", text(got), tc.known)
			}
		})
	}
}

// text is e without what is zero.
func text(e fleet.Endpoint) string {
	if e.Port == 0 {
		return e.Host
	}
	return fmt.Sprintf("%s:%d", e.Host, e.Port)
}

func TestSuccessors(t *testing.T) {
	outdated := func(s string) bool { return strings.HasPrefix(s, "old") }
	for given, want := range map[string]string{
		"old1 old2 new1 new2": "old2 old1 new1 new2",
		"old1 new1 new2":      "new1 new2 old1",
		"old1 new1":           "old1 new1",
		"new1 new2":           "new1 new2",
		"":                    "",
	} {
		if got := strings.Join(Successors(strings.Fields(given), outdated), " "); got != want {
			t.Errorf("of %q: %q, want %q", given, got, want)
		}
	}
}

func TestLeads(t *testing.T) {
	server := fleet.Machine{Role: fleet.RoleControlPlane, State: fleet.MachineRunning}
	worker, gone, released := server, server, server
	worker.Role, gone.State, released.State = fleet.RoleWorker, fleet.MachineDeleting, fleet.MachineReleased
	if got := []bool{Leads(&server), Leads(&worker), Leads(&gone), Leads(&released)}; !slices.Equal(got, []bool{true, false, false, false}) {
		t.Errorf("%v, want the server alone", got)
	}
}
