package kubeadm

import (
	"encoding/json"
	"fmt"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// specOf returns the configuration b as kubeadm's type has it.
func specOf(b fleet.Bootstrap) (bootstrapv1.KubeadmConfigSpec, error) {
	var out bootstrapv1.KubeadmConfigSpec
	if b.Kind != "" {
		return out, fmt.Errorf("its bootstrap configuration is a %s, not a KubeadmConfig", b.Kind)
	}
	if b.Spec == nil {
		return out, nil
	}
	if err := json.Unmarshal(b.Spec, &out); err != nil {
		return out, fmt.Errorf("bootstrap configuration: %w", err)
	}
	return out, nil
}
