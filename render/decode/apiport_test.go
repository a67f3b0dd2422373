package decode_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render/decode"
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

// TestContradictingPorts: a port that is not used, and two ports of one control plane, are warnings.
func TestContradictingPorts(t *testing.T) {
	const (
		network = "spec:\n  clusterNetwork:\n"
		at      = "    joinConfiguration:\n      nodeRegistration:\n        kubeletExtraArgs: [{name: cloud-provider"
		init    = "    initConfiguration: {localAPIEndpoint: {bindPort: 7443}}\n"
		join    = "    joinConfiguration:\n      controlPlane: {localAPIEndpoint: {bindPort: 7443}}\n"
		unused  = "spec.clusterNetwork.apiServerPort: 443 is not used: the endpoint of the cluster has port 6443"
		two     = "spec.kubeadmConfigSpec: the API server of the first machine listens at 7443, and those of machines that join listen at 6443"
	)
	for name, tc := range map[string]struct {
		change []string
		want   string
	}{
		"none":                        {nil, ""},
		"port of the network":         {[]string{network, network + "    apiServerPort: 443\n"}, ""},
		"port of the network, unused": {[]string{network, "spec:\n  controlPlaneEndpoint: {host: a, port: 6443}\n  clusterNetwork:\n    apiServerPort: 443\n"}, unused},
		"the same port":               {[]string{network, "spec:\n  controlPlaneEndpoint: {host: a, port: 443}\n  clusterNetwork:\n    apiServerPort: 443\n"}, ""},
		"the first machine":           {[]string{at, init + at}, two},
		"all machines":                {[]string{at, init + join + strings.TrimPrefix(at, "    joinConfiguration:\n")}, ""},
	} {
		_, problems, warnings := decode.New("f1", testKinds()).DecodeAndWarn("prod", objects(replaced(t, newest, tc.change...)))
		if len(problems) > 0 {
			t.Fatal(name, problems)
		}
		var got []string
		for _, w := range warnings {
			if strings.Contains(w.Message, "listen") || strings.Contains(w.Message, "not used") {
				got = append(got, w.Field+": "+w.Message)
			}
		}
		if tc.want == "" && len(got) > 0 || tc.want != "" && !slices.Equal(got, []string{tc.want}) {
			t.Errorf("%s: warnings %q, want %q", name, got, tc.want)
		}
	}
}
