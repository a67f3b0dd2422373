package openstackauth

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// TestRenamedCloudWaitsWithItsName: one commit renames the entry of clouds.yaml and the cloudName of the OpenStackCluster, which waits.
func TestRenamedCloudWaitsWithItsName(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "login"}
	define := func(cloud string) *fleet.Cluster {
		return &fleet.Cluster{Infrastructure: fleet.Object{
			GVK: schema.GroupVersionKind{Kind: "OpenStackCluster"}, Spec: json.RawMessage(`{"identityRef":{"name":"login","cloudName":"` + cloud + `"}}`),
			Secrets: map[fleet.Key]fleet.SecretData{k: fleet.NewSecretData(map[string][]byte{CloudsYAMLKey: []byte("clouds: {" + cloud + ": {auth: {auth_url: 'https://a', username: u, password: p, project_id: x}}}")})},
		}}
	}
	read := func(c *fleet.Cluster) error {
		var spec struct{ IdentityRef struct{ CloudName string } }
		if err := json.Unmarshal(c.Infrastructure.Spec, &spec); err != nil {
			t.Fatal(err)
		}
		_, err := Credential{Secret: c.Infrastructure.Secrets[k], Cloud: spec.IdentityRef.CloudName, From: "Secret " + k.String()}.parse()
		return err
	}
	held, next := define("prod"), define("prod-2")
	if held.RolloutDigest() == next.RolloutDigest() {
		t.Fatal("it does not wait")
	}
	for what, c := range map[string]*fleet.Cluster{"held": held, "next": next, "held while next waits": held.WhileWaiting(next)} {
		if err := read(c); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
