package forecast

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestEndpointOfAHostedControlPlane: where the object of the infrastructure names a port
// alone, the endpoint is one that stands for what is not known yet.
func TestEndpointOfAHostedControlPlane(t *testing.T) {
	found := fleet.Endpoint{Host: "10.0.0.9", Port: 6443}
	unknown := fleet.Endpoint{Host: "unknown", Port: 6443}
	for _, tc := range []struct {
		spec     string
		is, want fleet.Endpoint
	}{
		{`{}`, fleet.Endpoint{}, unknown},
		{`{}`, found, found},
		{`{"controlPlaneEndpoint":{"port":443}}`, fleet.Endpoint{}, unknown},
		{`{"controlPlaneEndpoint":{"host":"10.0.0.1","port":443}}`, fleet.Endpoint{}, fleet.Endpoint{Host: "10.0.0.1", Port: 443}},
	} {
		c := &fleet.Cluster{Hosted: &fleet.HostedControlPlane{Version: "v1.35.4"}, Infrastructure: fleet.Object{Spec: []byte(tc.spec)}}
		m := &model{git: c}
		m.observed.ControlPlane = &fleet.HostedState{Endpoint: tc.is}
		m.ensureHosted(c)
		if got := m.observed.Infrastructure.Endpoint; got != tc.want {
			t.Errorf("with %s, and %v before, it is at %v, want %v", tc.spec, tc.is, got, tc.want)
		}
	}
}
