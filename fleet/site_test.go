package fleet

import "testing"

// A guest is told where the API server is: as Git names it, or as it was found. The object of
// a provider may name a port alone.
func TestEndpointOfAGuest(t *testing.T) {
	found := Endpoint{Host: "10.0.0.9", Port: 6443}
	for spec, want := range map[string]Endpoint{
		`{}`:                                    found,
		`{"controlPlaneEndpoint":{"port":443}}`: found,
		`{"controlPlaneEndpoint":{"host":"10.0.0.1","port":443}}`: {Host: "10.0.0.1", Port: 443},
	} {
		c := &Cluster{Provider: "hosts", Infrastructure: Object{Spec: []byte(spec)}, Residence: Residence{Endpoint: found}, Guests: []Site{{Provider: "openstack"}}}
		if got := c.At("openstack").Endpoint; got != want {
			t.Errorf("with %s the API server is at %v, want %v", spec, got, want)
		}
	}
}
