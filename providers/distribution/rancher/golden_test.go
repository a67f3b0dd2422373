package rancher_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/k3s"
	"fairlead.dev/providers/distribution/pki/pkitest"
	"fairlead.dev/providers/distribution/rke2"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const serverToken = "0123456789abcdef0123456789abcdef"

func secrets(t testing.TB) map[fleet.SecretName]fleet.SecretData {
	return map[fleet.SecretName]fleet.SecretData{
		fleet.ClusterCA: pkitest.Authority(t, "ca", 1), fleet.ClientCA: pkitest.Authority(t, "cca", 2), fleet.EtcdCA: pkitest.Authority(t, "etcd", 3), fleet.EtcdPeerCA: pkitest.Authority(t, "peer", 4),
		fleet.ServerToken: {fleet.TokenKey: fleet.NewSecret([]byte(serverToken))},
	}
}

func distributions() map[string]providers.Distribution {
	return map[string]providers.Distribution{"k3s": k3s.New(nil), "rke2": rke2.New(nil)}
}

// manifests returns those of testdata/NAME.yaml with pairs of old and new text exchanged.
func manifests(t testing.TB, name string, pairs ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s has no %q", name, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

func decoded(text string) ([]fleet.Cluster, []fleet.Problem) {
	var objects []render.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "f.yaml", YAML: []byte(doc)})
	}
	return decode.New("f1", slices.Concat(inmemory.Kinds(), k3s.Kinds(), rke2.Kinds())).Decode("o", objects)
}

func cluster(t testing.TB, name string, pairs ...string) fleet.Cluster {
	t.Helper()
	clusters, problems := decoded(manifests(t, name, pairs...))
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	return clusters[0]
}

// input returns the request for a machine of c.
func input(t testing.TB, c *fleet.Cluster, join fleet.Join) providers.BootstrapInput {
	in := providers.BootstrapInput{
		Cluster: c, Pool: c.ControlPlane, Machine: "eu-cp-abcde", Join: join, Endpoint: fleet.Endpoint{Host: "api.example.com", Port: 6443},
		Secrets: secrets(t), NodeID: "cloud:///1",
	}
	if join == fleet.JoinWorker {
		in.Pool, in.Machine = c.Workers[0], "eu-md-0-abcde"
		in.Secrets = map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: in.Secrets[fleet.ClusterCA]}
	}
	return in
}

// TestUserData holds user data against golden files. A change of them replaces machines
// of nobody, but new ones differ from those that are there.
func TestUserData(t *testing.T) {
	for name, d := range distributions() {
		for variant, pairs := range map[string][]string{"everything": nil} {
			c := cluster(t, name, pairs...)
			for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker} {
				file := filepath.Join("testdata", fmt.Sprintf("%s-%s-%s.golden", name, join, variant))
				t.Run(filepath.Base(file), func(t *testing.T) {
					got, err := d.UserData(input(t, &c, join))
					if err != nil {
						t.Fatal(err)
					}
					data := got.Content.Reveal()
					if *update {
						if err := os.WriteFile(file, data, 0o644); err != nil {
							t.Fatal(err)
						}
					}
					want, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(string(want), string(data)); d != "" {
						t.Errorf("-want +got:\n%s", d)
					}
					if join == fleet.JoinWorker && strings.Contains(string(data), serverToken) {
						t.Error("a worker is given the server token")
					}
					if join != fleet.JoinInit && strings.Contains(string(data), "PRIVATE KEY") {
						t.Error("another machine than the first is given a private key")
					}
				})
			}
		}
	}
}
