package decode_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
)

func TestSecretsStayHidden(t *testing.T) {
	for name, data := range map[string]string{
		"not base64":      `data: {p: "hunter2!"}`,
		"number":          `stringData: {p: 31337}`,
		"boolean":         `data: {p: 31337}`,
		"unknown field":   `hunter2: 31337`,
		"still encrypted": `stringData: {p: "ENC[AES256_GCM,data:31337,iv:x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeAll("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + data)
			if len(problems) != 1 {
				t.Fatalf("got %d problems, want 1", len(problems))
			}
			for _, s := range []string{"hunter2!", "31337"} {
				if got := problems[0].String(); strings.Contains(got, s) {
					t.Errorf("%q shows the content of a secret", got)
				}
			}
		})
	}
}

func TestRefusedKinds(t *testing.T) {
	cases := map[string]struct {
		object  string
		message string
		hint    string
	}{
		"unknown kind of Cluster API": {
			object:  "apiVersion: runtime.cluster.x-k8s.io/v1beta2\nkind: ExtensionConfig\nmetadata: {name: x}",
			message: "ExtensionConfig is not supported",
			hint:    "remove it from the overlay",
		},
		"unknown infrastructure": {
			object:  "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: MoonCluster\nmetadata: {name: x}",
			message: "no infrastructure provider of this build knows MoonCluster of infrastructure.cluster.x-k8s.io/v1beta2",
			hint:    "these kinds of infrastructure are known: OtherMachineTemplate, SameMachineTemplate, TestCluster, TestMachine, TestMachineTemplate",
		},
		"workload": {
			object:  "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}",
			message: "Deployment of apps/v1 is no Cluster API object",
			hint:    "Fairlead applies Cluster API objects only, not what runs in a cluster; keep it outside of the overlay",
		},
		"core": {
			object:  "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: x}",
			message: "ServiceAccount of v1 is no Cluster API object",
			hint:    "Fairlead applies Cluster API objects only, not what runs in a cluster; keep it outside of the overlay",
		},
		"no kind": {
			object:  "metadata: {name: x}",
			message: "is not a Kubernetes object: apiVersion and kind are expected",
		},
		"no object": {
			object:  "[1, 2]",
			message: "is not a Kubernetes object: a mapping with apiVersion, kind and metadata is expected",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clusters, problems := decodeAll(newest + "\n---\n" + c.object)
			if len(problems) != 1 {
				t.Fatalf("got %d problems, want 1: %v", len(problems), problems)
			}
			if diff := cmp.Diff([2]string{c.message, c.hint}, [2]string{problems[0].Message, problems[0].Hint}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(clusters) != 0 || problems[0].Cluster != (fleet.Key{}) {
				t.Errorf("the problem is of no cluster: all clusters of the overlay must be held back")
			}
		})
	}
}
