package api_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/docker/api"
)

// TestReadMachine: machines are made from each kind that describes one, also from those of pools.
func TestReadMachine(t *testing.T) {
	const dev, flat = `{"backend":{"docker":{"customImage":"a"}}}`, `{"customImage":"a"}`
	for kind, spec := range map[string]string{
		"DevMachine": dev, "DevMachineTemplate": dev, "DevMachinePool": dev,
		"DockerMachine": flat, "DockerMachineTemplate": flat, "DockerMachinePool": flat,
	} {
		got, err := api.ReadMachine(fleet.Object{GVK: schema.GroupVersionKind{Kind: kind}, Spec: []byte(spec)})
		if err != nil || got.CustomImage != "a" {
			t.Errorf("%s: got %+v, error %v", kind, got, err)
		}
	}
	if _, err := api.ReadMachine(fleet.Object{GVK: schema.GroupVersionKind{Kind: "DevMachinePool"}, Spec: []byte(`{"backend":{"inMemory":{}}}`)}); err == nil {
		t.Error("a pool of another provider is read")
	}
}
