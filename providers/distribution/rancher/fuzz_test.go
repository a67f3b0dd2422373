package rancher_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// FuzzUserData: from each configuration of K3s and RKE2 that its manifests may have comes
// user data that cloud-init reads, always the same, or an error of the kind Invalid.
func FuzzUserData(f *testing.F) {
	joins := []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker}
	clusters := map[string]fleet.Cluster{}
	for name := range distributions() {
		c := cluster(f, name)
		clusters[name] = c
		f.Add(string(c.ControlPlane.Bootstrap.Spec), name == "rke2", uint8(0))
		f.Add(string(c.ControlPlane.Bootstrap.Spec), name == "rke2", uint8(1))
		f.Add(string(c.Workers[0].Bootstrap.Spec), name == "rke2", uint8(2))
	}
	for _, spec := range []string{
		"{}", `{"kthreesConfigSpec":{"files":[{"path":"/a","content":"{{ x }}"}],"preK3sCommands":["#}"]}}`,
		`{"kthreesConfigSpec":{"agentConfig":{"nodeLabels":["a=b"],"kubeletArgs":["a=b"]},"serverConfig":{"disableComponents":["servicelb"]}}}`,
		`{"agentConfig":{"nodeTaints":["a=b:NoSchedule"],"additionalUserData":{"config":"a: b","strict":true}}}`,
		`{"serverConfig":{"cni":"none","kubeAPIServer":{"extraArgs":["a=b"]}},"files":[{"path":"/a","content":"YQ==","encoding":"base64"}]}`,
	} {
		for join := range joins {
			f.Add(spec, false, uint8(join))
			f.Add(spec, true, uint8(join))
		}
	}
	secret := []byte(serverToken)
	f.Fuzz(func(t *testing.T, spec string, rke2 bool, n uint8) {
		if !json.Valid([]byte(spec)) {
			return
		}
		name := map[bool]string{false: "k3s", true: "rke2"}[rke2]
		c, d, join := clusters[name], distributions()[name], joins[int(n)%len(joins)]
		if join == fleet.JoinWorker {
			c.Workers = []fleet.Pool{c.Workers[0]}
			c.Workers[0].Bootstrap.Spec = json.RawMessage(spec)
		} else {
			c.ControlPlane.Bootstrap.Spec = json.RawMessage(spec)
		}
		in := input(t, &c, join)
		u, err := d.UserData(in)
		if err != nil {
			if fleet.KindOf(err) != fleet.Invalid || strings.Contains(err.Error(), serverToken) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := d.UserData(in)
		if err != nil || !bytes.Equal(u.Content.Reveal(), again.Content.Reveal()) {
			t.Fatalf("made twice, it differs: %v", err)
		}
		_, content, ok := bytes.Cut(u.Content.Reveal(), []byte("#cloud-config\n"))
		var out map[string]any
		if err := yaml.UnmarshalStrict(content, &out); !ok || err != nil {
			t.Fatalf("%v\n%s", err, u.Content.Reveal())
		}
		if join != fleet.JoinWorker && !bytes.Contains(content, secret) {
			t.Fatalf("no token in\n%s", content)
		}
	})
}
