package kubeadm_test

import (
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// TestNodeID: the kubelet is told its provider id where nobody else would tell it, and
// the user's arguments stay.
func TestNodeID(t *testing.T) {
	const id = "{{ ds.meta_data.provider_id }}"
	arg := func(name string) bootstrapv1.Arg { return bootstrapv1.Arg{Name: name, Value: ptr("theirs")} }
	for name, test := range map[string]struct {
		reason string
		id     string
		given  []bootstrapv1.Arg
		want   any
	}{
		"Told":    {"nobody says anything of it", id, []bootstrapv1.Arg{arg("v")}, id},
		"Alone":   {"there are no other arguments", id, nil, id},
		"Nothing": {"the provider has a cloud controller manager", "", []bootstrapv1.Arg{arg("v")}, nil},
		"Own":     {"the user says it", id, []bootstrapv1.Arg{arg("provider-id")}, "theirs"},
		"Cloud":   {"the user has a cloud controller manager", id, []bootstrapv1.Arg{arg("cloud-provider")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, version := range []string{"v1.30.4", "v1.35.0"} {
				for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker} {
					var spec bootstrapv1.KubeadmConfigSpec
					spec.InitConfiguration.NodeRegistration.KubeletExtraArgs = test.given
					spec.JoinConfiguration.NodeRegistration.KubeletExtraArgs = test.given
					in := input(t, join, version, spec)
					in.NodeID = test.id
					kind := "JoinConfiguration"
					if join == fleet.JoinInit {
						kind = "InitConfiguration"
					}
					args := make(map[string]any)
					registration, _ := boot(t, in).document(t, kind)["nodeRegistration"].(map[string]any)
					switch list := registration["kubeletExtraArgs"].(type) {
					case map[string]any:
						args = list
					case []any:
						for _, a := range list {
							args[a.(map[string]any)["name"].(string)] = a.(map[string]any)["value"]
						}
					}
					if args["provider-id"] != test.want || len(args) < len(test.given) {
						t.Errorf("%s, %s: arguments of the kubelet = %v, want provider-id %v: %s", version, join, args, test.want, test.reason)
					}
				}
			}
		})
	}
}
