package decode_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	planes "fairlead.dev/providers/hosted/external"
	"fairlead.dev/render/decode"
)

const externalPlane = `apiVersion: fairlead.dev/v1alpha1
kind: ExternalControlPlane
metadata: {name: eu-plane, namespace: prod}
spec:
  controlPlaneEndpoint: {host: eu.planes.example.com}
---
`

// hostedManifests are the manifests of newest with a control plane that somebody else keeps.
func hostedManifests(t *testing.T) string {
	t.Helper()
	control, rest, _ := strings.Cut(newest, "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata")
	_, rest, _ = strings.Cut(rest, "\n---\n")
	return replaced(t, control+externalPlane+rest,
		"{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-cp}", "{apiGroup: fairlead.dev, kind: ExternalControlPlane, name: eu-plane}")
}

func decodeHosted(manifests string) ([]fleet.Cluster, []fleet.Problem) {
	return decode.New("f1", append(testKinds(), planes.Kinds()...)).Decode("prod", objects(manifests))
}

// A cluster refers to a control plane that somebody else keeps: no pool is it.
func TestExternalControlPlane(t *testing.T) {
	clusters, problems := decodeHosted(hostedManifests(t))
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	c := clusters[0]
	if c.Hosted == nil || c.ControlPlane.Name != "" || len(c.Pools()) != len(c.Workers) {
		t.Fatalf("hosted %+v, control plane %q, %d pools of %d workers", c.Hosted, c.ControlPlane.Name, len(c.Pools()), len(c.Workers))
	}
	if want := (fleet.Endpoint{Host: "eu.planes.example.com", Port: 6443}); c.NamedEndpoint() != want {
		t.Errorf("endpoint %+v, want %+v", c.NamedEndpoint(), want)
	}
	if got := c.ControlPlaneKind() + " " + c.ControlPlaneName(); got != "ExternalControlPlane eu-plane" {
		t.Errorf("control plane %s", got)
	}
	if _, ok := c.Pool(""); ok {
		t.Error("there is a pool without a name")
	}
	moved, _ := decodeHosted(replaced(t, hostedManifests(t), "eu.planes.example.com", "eu2.planes.example.com"))
	if moved[0].Digest == c.Digest {
		t.Error("another endpoint makes no other definition")
	}
}

func TestExternalControlPlaneProblems(t *testing.T) {
	plane := "controlPlaneEndpoint: {host: eu.planes.example.com}"
	for reason, tc := range map[string]struct {
		change     []string
		field, say string
	}{
		"no endpoint":            {[]string{plane, "version: v1.34.1"}, "spec.controlPlaneEndpoint", "is missing: name the host where machines reach the API server"},
		"an address in a word":   {[]string{plane, "controlPlaneEndpoint: {host: eu/planes}"}, "spec.controlPlaneEndpoint.host", "must be an IP address or a DNS name"},
		"a port alone":           {[]string{plane, "controlPlaneEndpoint: {port: 443}"}, "spec.controlPlaneEndpoint.host", "a port alone is no endpoint"},
		"no version":             {[]string{plane, plane + "\n  version: soon"}, "spec.version", "must be a version of Kubernetes"},
		"an unknown field":       {[]string{plane, plane + "\n  replicas: 3"}, "spec.replicas", "unknown field"},
		"a Secret without Git":   {[]string{plane, plane + "\n  kubeconfigRef: {name: way-in}"}, "spec.kubeconfigRef.name", "refers to Secret prod/way-in, which the overlay does not hold"},
		"workers that are newer": {[]string{plane, plane + "\n  version: v1.30.0"}, "spec.template.spec.version", "must not be newer than the control plane, which has v1.30.0"},
		"two control planes": {[]string{
			"apiVersion: fairlead.dev/v1alpha1\nkind: ExternalControlPlane\n", "apiVersion: controlplane.cluster.x-k8s.io/v1alpha1\nkind: KamajiControlPlane\n",
			"apiGroup: fairlead.dev, kind: ExternalControlPlane", "apiGroup: controlplane.cluster.x-k8s.io, kind: KamajiControlPlane",
		}, "", "refer to that with an ExternalControlPlane"},
	} {
		t.Run(reason, func(t *testing.T) {
			_, problems := decodeHosted(replaced(t, hostedManifests(t), tc.change...))
			for _, p := range problems {
				if p.Field == tc.field && strings.Contains(p.Message+" "+p.Hint, tc.say) {
					return
				}
			}
			t.Errorf("no problem of %s says %q: %v", tc.field, tc.say, problems)
		})
	}
}
