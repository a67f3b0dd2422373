package rancher_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/k3s"
	"fairlead.dev/providers/distribution/pki/pkitest"
	"fairlead.dev/providers/workload"
)

func TestManifests(t *testing.T) {
	for reason, tc := range map[string]struct {
		name, old, new string
		field, say     string
	}{
		"an unknown field":           {"k3s", "tlsSan:", "tlsSans:", "spec.kthreesConfigSpec.serverConfig.tlsSans", `did you mean "tlsSan"?`},
		"no release of K3s":          {"k3s", "  version: v1.34.1+k3s1\n  machineTemplate", "  version: v1.34.1\n  machineTemplate", "spec.version", "must be a release such as v1.34.1+k3s1"},
		"a version of a pool":        {"k3s", "    preK3sCommands", "    version: v1.34.1+k3s1\n    preK3sCommands", "spec.kthreesConfigSpec.version", "it comes from the version of the KThreesControlPlane"},
		"a name of a Node":           {"k3s", "nodeLabels: [tier=front]", "nodeName: one", "spec.kthreesConfigSpec.agentConfig.nodeName", "Nodes are called as their machines"},
		"no port":                    {"k3s", `"7443"`, `"74430"`, "spec.kthreesConfigSpec.serverConfig.httpsListenPort", "must be a port"},
		"a bad taint":                {"k3s", "control-plane=:NoSchedule", "control-plane=:Never", "spec.kthreesConfigSpec.agentConfig.nodeTaints[0]", "must be key=value:effect"},
		"a file without its Secret":  {"k3s", "secret: {name: motd, key: text}", "secret: {name: motd, key: txt}", "spec.kthreesConfigSpec.files[0].contentFrom.secret", `refers to key "txt"`},
		"even servers":               {"k3s", "replicas: 3", "replicas: 2", "spec.replicas", "must be odd"},
		"no infrastructure":          {"k3s", "kind: DevMachineTemplate, name: m}\n    nodeDrain", "kind: DevMachineTemplate, name: other}\n    nodeDrain", "spec.machineTemplate.infrastructureRef", "which the overlay does not hold"},
		"a rotation of an authority": {"k3s", "metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork", "metadata: {name: eu, namespace: prod, annotations: {fairlead.dev/rotate-ca: x}}\nspec:\n  clusterNetwork", "metadata.annotations.fairlead.dev/rotate-ca", "cannot be granted: clusters with a KThreesControlPlane have no such rotation"},
		"addresses of servers":       {"rke2", "registrationMethod: address", "registrationMethod: internal-first", "spec.registrationMethod", "is not a value of this field"},
		"no address":                 {"rke2", "  registrationAddress: join.example.com\n", "", "spec.registrationAddress", "with registrationMethod address"},
		"a datastore elsewhere":      {"rke2", "    cni: cilium", "    externalDatastoreSecret: {name: a}\n    cni: cilium", "spec.serverConfig.externalDatastoreSecret", "servers have their data in etcd of their own"},
		"ignition":                   {"rke2", "format: cloud-config", "format: ignition", "spec.agentConfig.format", "is not a value of this field"},
		"too much surge":             {"rke2", "maxSurge: 1", "maxSurge: 2", "spec.rolloutStrategy.rollingUpdate.maxSurge", "must be 0 or 1"},
		"no release of RKE2":         {"rke2", "  version: v1.34.1+rke2r1\n  machineTemplate", "  version: v1.34.1+k3s1\n  machineTemplate", "spec.version", "must be a release such as v1.34.1+rke2r1"},
		"workers of K3s":             {"rke2", "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: RKE2ConfigTemplate", "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KThreesConfigTemplate", "", ""},
	} {
		t.Run(reason, func(t *testing.T) {
			clusters, problems := decoded(manifests(t, tc.name, tc.old, tc.new))
			if len(clusters) > 0 || len(problems) == 0 {
				t.Fatalf("%d clusters, problems %v", len(clusters), problems)
			}
			if tc.field != "" && (len(problems) != 1 || problems[0].Field != tc.field || !strings.Contains(problems[0].String(), tc.say)) {
				t.Errorf("problems %v, want %s: %s", problems, tc.field, tc.say)
			}
		})
	}
}

// TestNoRotation: what Git cannot ask for is not done either.
func TestNoRotation(t *testing.T) {
	for name, d := range distributions() {
		c := cluster(t, name)
		for _, authority := range []fleet.SecretName{fleet.ClusterCA, fleet.EtcdCA, fleet.ServiceAccount} {
			got, err := d.Rotate(&c, authority, secrets(t)[authority], fleet.RotationState{Wish: "x", Stage: fleet.RotationTrust})
			if got != nil || fleet.KindOf(err) != fleet.Invalid || !strings.Contains(fmt.Sprint(err), name+" certificate rotate-ca") {
				t.Errorf("%s rotates %s: %v, %v", name, authority, got, err)
			}
		}
	}
}

func TestOlderManifests(t *testing.T) {
	now := cluster(t, "k3s").ControlPlane
	old := cluster(t, "k3s", "controlplane.cluster.x-k8s.io/v1beta2\nkind: KThrees", "controlplane.cluster.x-k8s.io/v1beta1\nkind: KThrees",
		"  machineTemplate:\n    infrastructureRef:", "  infrastructureTemplate:", "    nodeDrainTimeout", "  nodeDrainTimeout",
		`      cloudProviderName: ""`+"\n      disableCloudController: false\n", "      disableExternalCloudProvider: true\n").ControlPlane
	if now.Template != old.Template || now.NodeDrainTimeoutSeconds != 120 || old.NodeDrainTimeoutSeconds != 120 {
		t.Errorf("in v1beta1 %+v\nin v1beta2 %+v", old, now)
	}
	if now.Kind != "KThreesControlPlane" || now.APIPort != 7443 || now.Ports != nil || *now.Remediation.RetryPeriodSeconds != 60 {
		t.Errorf("%+v", now)
	}
	now = cluster(t, "rke2").ControlPlane
	old = cluster(t, "rke2", "controlplane.cluster.x-k8s.io/v1beta2\nkind: RKE2", "controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2",
		"    spec:\n      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind", "    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind",
		"      deletion: {nodeDrainTimeoutSeconds: 60}", "    nodeDrainTimeout: 1m").ControlPlane
	if now.Template != old.Template || now.NodeDrainTimeoutSeconds != 60 || old.NodeDrainTimeoutSeconds != 60 || len(now.Ports) != 1 || now.Ports[0] != 9345 {
		t.Errorf("in v1beta1 %+v\nin v1beta2 %+v", old, now)
	}
}

// TestMembers is about answers that the cloud in memory does not give.
func TestMembers(t *testing.T) {
	nodes := `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"cp-a","labels":{"node-role.kubernetes.io/etcd":"true"},"annotations":{"etcd.k3s.cattle.io/node-name":"cp-a-11111111"}},
		"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"EtcdIsVoter","status":"True"}]}}]}`
	for reason, tc := range map[string]struct {
		status int
		answer string
		kind   fleet.ErrorKind
		want   string
	}{
		"members": {
			200, `{"members":[{"ID":18446744073709551615,"name":"cp-a-11111111"},{"ID":2,"isLearner":true,"peerURLs":["https://10.0.0.2:2380"]},{"ID":3,"name":"cp-a-22222222"}]}`, "",
			"[{2   true false false} {18446744073709551615 cp-a-11111111 cp-a false true false} {3 cp-a-22222222 cp-a false false false}]",
		},
		"an older server without a quorum": {200, `{"members":[{"name":"cp-a-11111111"}]}`, fleet.Unavailable, ""},
		"a server without a quorum":        {500, `{"kind":"Status"}`, fleet.Unavailable, ""},
		"no member":                        {200, `{"members":[]}`, fleet.Unavailable, ""},
		"no JSON":                          {200, `pong`, fleet.Unavailable, ""},
		"another token":                    {401, ``, fleet.Unauthorized, ""},
	} {
		t.Run(reason, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path != "/db/info" {
					_, _ = w.Write([]byte(nodes))
					return
				}
				if user, password, _ := r.BasicAuth(); user != "server" || password != serverToken || len(r.TLS.PeerCertificates) > 0 {
					t.Errorf("shown as %q with %q and %d certificates", user, password, len(r.TLS.PeerCertificates))
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.answer))
			}))
			s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
			s.StartTLS()
			defer s.Close()
			client := workload.New(workload.Options{})
			defer client.Close()
			got, err := k3s.New(client).Members(t.Context(), accessTo(t, s))
			if (err == nil) != (tc.kind == "") || err != nil && fleet.KindOf(err) != tc.kind {
				t.Fatalf("Members = %v, want the kind %q", err, tc.kind)
			}
			if err == nil && fmt.Sprint(got.Members) != tc.want {
				t.Errorf("members %v, want %s", got.Members, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), serverToken) {
				t.Error("an error tells the server token")
			}
		})
	}
}

// accessTo returns the access to the cluster whose API server s is.
func accessTo(t *testing.T, s *httptest.Server) providers.Access {
	admin := pkitest.Authority(t, "admin", 5)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%q}}],"users":[{"name":"u","user":{"client-certificate-data":%q,"client-key-data":%q}}]}`, s.URL, base64.StdEncoding.EncodeToString(ca),
		base64.StdEncoding.EncodeToString(admin[fleet.TLSCertKey].Reveal()), base64.StdEncoding.EncodeToString(admin[fleet.TLSKeyKey].Reveal()))
	return providers.Access{
		Cluster: fleet.Key{Namespace: "prod", Name: "eu"}, Kubeconfig: fleet.NewSecret([]byte(kubeconfig)),
		Secrets: map[fleet.SecretName]fleet.SecretData{fleet.ServerToken: {fleet.TokenKey: fleet.NewSecret([]byte(serverToken))}},
	}
}

// TestRemovalIsWithdrawn: the request goes from the Node, unless the server met it meanwhile.
func TestRemovalIsWithdrawn(t *testing.T) {
	for name, tc := range map[string]struct{ notes, want string }{
		"it stands": {
			`"etcd.k3s.cattle.io/remove":"true","fairlead.dev/member-removal-asked":"true"`,
			`{"metadata":{"annotations":{"etcd.k3s.cattle.io/remove":null,"fairlead.dev/member-removal-asked":null},"resourceVersion":"7"}}`,
		},
		"it is met":            {`"etcd.k3s.cattle.io/remove":"true","fairlead.dev/member-removal-asked":"true","etcd.k3s.cattle.io/removed-node-name":"cp-a-1"`, ""},
		"somebody else's wish": {`"etcd.k3s.cattle.io/remove":"true"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPatch {
					got, _ = io.ReadAll(r.Body)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"cp-a","resourceVersion":"7","annotations":{%s}}}`, tc.notes)
			}))
			defer s.Close()
			client := workload.New(workload.Options{})
			defer client.Close()
			c := cluster(t, "k3s")
			if err := k3s.New(client).Apply(t.Context(), accessTo(t, s), &c, fleet.Endpoint{}, "KeepMember/cp-a"); err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("patched with %s, want %s", got, tc.want)
			}
		})
	}
}
