package external_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/hosted/external"
)

var key = fleet.Key{Namespace: "prod", Name: "eu"}

// store has the secrets of one cluster.
type store map[fleet.SecretName]fleet.SecretData

func (s store) Get(_ context.Context, _ fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if d, ok := s[name]; ok {
		return d, nil
	}
	return nil, fleet.Errorf(fleet.NotFound, "get secret", "there is none")
}

func kubeconfig(cluster, user string) fleet.SecretData {
	return fleet.SecretData{"value": fleet.NewSecret([]byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: "https://10.0.0.9:6443"` + cluster + `}}], users: [{name: a, user: {` + user + `}}]}`))}
}

// tokenT is the token in a kubeconfig, as people write it or rewritten.
var tokenT = regexp.MustCompile(`token"?: ?"?t"?}`)

const authority = `, certificate-authority-data: Q0E=` // "CA"

func cluster(spec string, secrets map[string]fleet.SecretData) *fleet.Cluster {
	return &fleet.Cluster{Key: key, Secrets: secrets, Hosted: &fleet.HostedControlPlane{
		Object:   fleet.Object{GVK: schema.GroupVersionKind{Kind: external.Kind}, Spec: []byte(spec)},
		Endpoint: fleet.Endpoint{Host: "10.0.0.9", Port: 6443},
	}}
}

// given are the Secrets of people that have one.
func given(name string, d fleet.SecretData) map[fleet.Key]fleet.SecretData {
	return map[fleet.Key]fleet.SecretData{{Namespace: "prod", Name: name}: d}
}

func giver(given map[fleet.Key]fleet.SecretData) func(context.Context, fleet.Key) (fleet.SecretData, error) {
	return func(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
		if d, ok := given[k]; ok {
			return d, nil
		}
		return nil, fleet.Errorf(fleet.NotFound, "get Secret", "there is none")
	}
}

// A control plane is ready where its kubeconfig can be used; it is never made here.
func TestObserve(t *testing.T) {
	good := kubeconfig(authority, "token: t")
	for reason, tc := range map[string]struct {
		spec    string
		git     map[string]fleet.SecretData
		given   map[fleet.Key]fleet.SecretData
		stored  store
		message string // empty: it is ready
		ca      string
	}{
		"in the store":            {stored: store{"kubeconfig": good}, ca: "CA"},
		"in Git":                  {git: map[string]fleet.SecretData{"eu-kubeconfig": good}, ca: "CA"},
		"given":                   {given: given("eu-kubeconfig", good), ca: "CA"},
		"given anew":              {given: given("eu-kubeconfig", good), stored: store{"kubeconfig": kubeconfig(authority, "token: old")}, ca: "CA"},
		"in Git, by name":         {spec: `{"kubeconfigRef":{"name":"k","key":"value"}}`, git: map[string]fleet.SecretData{"k": good}, ca: "CA"},
		"with an authority":       {git: map[string]fleet.SecretData{"eu-kubeconfig": good, "eu-ca": {"tls.crt": fleet.NewSecret([]byte("other"))}}, ca: "other"},
		"with a stored authority": {stored: store{"kubeconfig": kubeconfig("", "token: t"), "ca": {"tls.crt": fleet.NewSecret([]byte("stored"))}}, ca: "stored"},
		"with a given authority":  {given: given("eu-ca", fleet.SecretData{"tls.crt": fleet.NewSecret([]byte("given"))}), stored: store{"kubeconfig": kubeconfig("", "token: t")}, ca: "given"},
		"with another authority":  {given: given("eu-ca", fleet.SecretData{"tls.crt": fleet.NewSecret([]byte("given"))}), stored: store{"kubeconfig": good}, ca: "CA"},
		"nowhere":                 {message: "add Secret prod/eu-kubeconfig to Git"},
		"without authority":       {stored: store{"kubeconfig": kubeconfig("", "token: t")}, message: "its CA is not known"},
		"a program":               {stored: store{"kubeconfig": kubeconfig(authority, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}")}, message: "program"},
		"a file of a token":       {stored: store{"kubeconfig": kubeconfig(authority, "tokenFile: /var/run/secrets/token")}, message: "it names files"},
		"a file of a key":         {stored: store{"kubeconfig": kubeconfig(authority, "client-certificate: /c, client-key: /k")}, message: "it names files"},
		"a file of an authority":  {stored: store{"kubeconfig": kubeconfig(", certificate-authority: /ca", "token: t")}, message: "it names files"},
		"anybody":                 {stored: store{"kubeconfig": kubeconfig(", insecure-skip-tls-verify: true", "token: t")}, message: "it trusts anybody"},
		"nonsense":                {stored: store{"kubeconfig": {"value": fleet.NewSecret([]byte("}"))}}, message: "it is no kubeconfig"},
	} {
		t.Run(reason, func(t *testing.T) {
			if tc.spec == "" {
				tc.spec = "{}"
			}
			got, err := external.New(giver(tc.given)).Observe(t.Context(), cluster(tc.spec, tc.git), tc.stored)
			if err != nil {
				t.Fatal(err)
			}
			s := got.State
			if !s.External || s.Exists || s.Endpoint.Host != "10.0.0.9" || s.Ready != (tc.message == "") || !strings.Contains(s.Message, tc.message) {
				t.Errorf("state %+v, want message %q", s, tc.message)
			}
			if ca := string(got.Secrets[fleet.ClusterCA]["tls.crt"].Reveal()); ca != tc.ca {
				t.Errorf("authority %q, want %q", ca, tc.ca)
			}
			if k := string(got.Secrets[fleet.Kubeconfig]["value"].Reveal()); (tc.message == "") != tokenT.MatchString(k) {
				t.Errorf("kubeconfig %s", k)
			}
		})
	}
}

// What is given is the same every time: nothing is stored again.
func TestWhatIsStoredIsGivenAgain(t *testing.T) {
	c := cluster("{}", map[string]fleet.SecretData{"eu-kubeconfig": kubeconfig(authority, "token: t")})
	first, err := external.New(nil).Observe(t.Context(), c, store{})
	if err != nil {
		t.Fatal(err)
	}
	c.Secrets = nil // it left Git
	second, err := external.New(nil).Observe(t.Context(), c, store(first.Secrets))
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range first.Secrets {
		if !d.Equal(second.Secrets[name]) {
			t.Errorf("%s changed", name)
		}
	}
}

// A store in Kubernetes has what people gave it where the cluster's own would be, and refuses
// to replace that: it is given back as it is, with whatever else is in it.
func TestWhatPeopleStoredIsNotReplaced(t *testing.T) {
	own := store{
		"kubeconfig": kubeconfig(authority, "token: t"),
		"ca":         {"tls.crt": fleet.NewSecret([]byte("CA")), "tls.key": fleet.NewSecret([]byte("key"))},
	}
	given := map[fleet.Key]fleet.SecretData{{Namespace: "prod", Name: "eu-kubeconfig"}: own["kubeconfig"], {Namespace: "prod", Name: "eu-ca"}: own["ca"]}
	seen, err := external.New(giver(given)).Observe(t.Context(), cluster("{}", nil), own)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range seen.Secrets {
		if !d.Equal(own[name]) {
			t.Errorf("%s would be replaced", name)
		}
	}
}
