package kubeadm_test

import (
	"encoding/json"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/kubeadm/inside"
)

// configured returns spec as a pool has it.
func configured(spec bootstrapv1.KubeadmConfigSpec) fleet.Bootstrap {
	b, err := fleet.NewBootstrap("", spec)
	if err != nil {
		panic(err)
	}
	return b
}

// specOf returns the configuration b.
func specOf(b fleet.Bootstrap) (spec bootstrapv1.KubeadmConfigSpec) {
	if b.Spec != nil {
		if err := json.Unmarshal(b.Spec, &spec); err != nil {
			panic(err)
		}
	}
	return spec
}

// edit changes the configuration b.
func edit(b *fleet.Bootstrap, change func(*bootstrapv1.KubeadmConfigSpec)) {
	spec := specOf(*b)
	change(&spec)
	*b = configured(spec)
}

// userData is that of a machine whose token is not derived.
func userData(in providers.BootstrapInput) (providers.UserData, error) {
	return kubeadm.UserDataWith(in, inside.Token{ID: "abcdef", Secret: fleet.NewSecret([]byte("0123456789abcdef"))})
}
