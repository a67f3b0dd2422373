package decode_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestPortOfAPIServers: the first machine and those that join listen where their own part of the
// configuration says.
func TestPortOfAPIServers(t *testing.T) {
	const at = "    joinConfiguration:\n      nodeRegistration:\n        kubeletExtraArgs: [{name: cloud-provider"
	first := "    initConfiguration: {localAPIEndpoint: {bindPort: 7443}}\n" + at
	for reason, tc := range map[string]struct {
		manifests    string
		init, joined int32
	}{
		"neither":     {newest, 6443, 6443},
		"the first":   {replaced(t, newest, at, first), 7443, 6443},
		"the joining": {replaced(t, newest, at, "    joinConfiguration:\n      controlPlane: {localAPIEndpoint: {bindPort: 8443}}\n"+at[len("    joinConfiguration:\n"):]), 6443, 8443},
	} {
		p := mustDecode(t, tc.manifests).ControlPlane
		if init, joined := p.ListensAt(fleet.JoinInit), p.ListensAt(fleet.JoinControlPlane); init != tc.init || joined != tc.joined {
			t.Errorf("%s: they listen at %d and %d, want %d and %d", reason, init, joined, tc.init, tc.joined)
		}
	}
	worker := mustDecode(t, newest).Workers[0]
	if port := worker.ListensAt(fleet.JoinWorker); port != 0 {
		t.Errorf("a worker has an API server at %d", port)
	}
}
