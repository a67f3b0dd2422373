package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/sops"
)

// encrypted returns a file that sops wrote, and one that decrypts it.
func encrypted(t *testing.T, name string, o sops.Options) (*fstest.MapFile, *sops.Decrypter) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("sops", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	o.Identities = append(o.Identities, fleet.NewSecret(read("identity.txt")))
	d, err := sops.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: read(name)}, d
}

func TestRenderEncrypted(t *testing.T) {
	secret, d := encrypted(t, "secret.yaml", sops.Options{})
	app, _ := encrypted(t, "app.json", sops.Options{})
	fleetTree := tree("-- clusters/a/kustomization.yaml --\n" +
		"namespace: other\nresources: [c.yaml, secret.yaml]\nsecretGenerator: [{name: app, files: [app.json]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n" +
		"-- clusters/a/c.yaml --\n" + clusterYAML("team", "a"))
	fleetTree.MapFS["clusters/a/secret.yaml"] = secret
	fleetTree.MapFS["clusters/a/app.json"] = app
	t.Run("before kustomize", func(t *testing.T) {
		objects, problems, err := newBuilder(render.Options{Decrypter: d}).Objects(t.Context(), fleetTree, ".")
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v, %v", err, problems)
		}
		got := asYAML(objects)
		for _, want := range []string{
			"namespace: other", `password: "aHVudGVyMg=="`, "correct horse",
			"ewogICJjbG91ZHMiOiB7", // {"clouds": {
		} {
			if !strings.Contains(got, want) {
				t.Errorf("there is no %q in\n%s", want, got)
			}
		}
		if strings.Contains(got, "ENC[") || strings.Contains(got, "sops") {
			t.Errorf("something is still encrypted:\n%s", got)
		}
	})
	t.Run("without an identity", func(t *testing.T) {
		f := newBuilder(render.Options{}).render(t, "1", fleetTree)
		if len(f.Clusters) > 0 || len(f.Problems) != 1 {
			t.Fatalf("got %v and %v", keys(f), lines(f.Problems))
		}
		got := f.Problems[0]
		if got.File != "clusters/a/secret.yaml" || !strings.Contains(got.Message, "is encrypted for age1") || !strings.Contains(got.Hint, "--age-identity-file") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("built again when it changes", func(t *testing.T) {
		b := newBuilder(render.Options{Decrypter: d})
		first := b.render(t, "1", fleetTree)
		if b.render(t, "2", fleetTree); b.stats.Built != 0 {
			t.Errorf("built %d overlays, none has changed", b.stats.Built)
		}
		changed := fleetTree.with("")
		changed.MapFS["clusters/a/secret.yaml"], _ = encrypted(t, "plainregex.yaml", sops.Options{})
		second := b.render(t, "3", changed)
		if len(first.Clusters) != 1 || len(second.Clusters) != 1 || first.Clusters[0].Digest == second.Clusters[0].Digest {
			t.Errorf("got %v, then %v", lines(first.Problems), lines(second.Problems))
		}
	})
}

// Whatever a problem quotes, what was decrypted is not in it.
func TestProblemsHideWhatWasDecrypted(t *testing.T) {
	file, d := encrypted(t, "token.bin", sops.Options{})
	fleetTree := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml]\nsecretGenerator: [{name: app, envs: [token, again]}]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a"))
	fleetTree.MapFS["clusters/a/token"], fleetTree.MapFS["clusters/a/again"] = file, file
	for what, problems := range map[string]func(b *rendered) []fleet.Problem{
		"of a fleet": func(b *rendered) []fleet.Problem { return b.render(t, "1", fleetTree).Problems },
		"of objects": func(b *rendered) []fleet.Problem {
			_, problems, err := b.Objects(t.Context(), fleetTree, "clusters/a")
			if err != nil {
				t.Fatal(err)
			}
			return problems
		},
	} {
		got := strings.Join(lines(problems(newBuilder(render.Options{Decrypter: d}))), "\n")
		if !strings.Contains(got, "REDACTED") || strings.Contains(got, "hunter2") || strings.Contains(got, "at all") {
			t.Errorf("%s: got %q", what, got)
		}
	}
}

// A value is not told whole, cut or escaped, whatever quotes it; and a value that is an
// ordinary word takes no word out of what is wrong elsewhere.
func TestProblemsDoNotDependOnSecrets(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	d, err := sops.New(sops.Options{Identities: []fleet.Secret{fleet.NewSecret([]byte(identity.String()))}})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ password, cluster, want string }{
		"a value that a message cuts": {
			"${p\"ss\twörd-that-is-longer-than-what-a-message-quotes-of-a-value-and-goes-on", clusterYAML("team", "a"),
			"clusters/a/secret.yaml: Secret team/cloud: stringData: it cannot be used, for what a file holds that is encrypted",
		},
		"a value that is a word": {
			"default", clusterYAML("team", "a") + "  labels: {a: '${default'}\n",
			"the expression ${default is not closed",
		},
	} {
		t.Run(what, func(t *testing.T) {
			sealed, err := sops.EncryptSecret(fmt.Appendf(nil, "apiVersion: v1\nkind: Secret\nmetadata: {name: cloud, namespace: team}\nstringData: {password: %q}\n", c.password),
				[]string{identity.Recipient().String()}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			fleetTree := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml, secret.yaml]\n-- clusters/a/c.yaml --\n" + c.cluster)
			fleetTree.MapFS["clusters/a/secret.yaml"] = &fstest.MapFile{Data: sealed}
			f := newBuilder(render.Options{Decrypter: d}).render(t, "1", fleetTree)
			got := strings.Join(lines(f.Problems), "\n")
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if strings.Contains(got, "ss") && strings.Contains(got, "wörd") || strings.Contains(got, "REDACTED") {
				t.Errorf("the problem shows what was decrypted, or lacks a word that the Secret has as well: %q", got)
			}
		})
	}
}

func TestSealedSecretsPass(t *testing.T) {
	file, _ := encrypted(t, "secret.yaml", sops.Options{})
	var told []string
	d, err := sops.New(sops.Options{Sealed: func(file, _ string) { told = append(told, file) }})
	if err != nil {
		t.Fatal(err)
	}
	fleetTree := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml, secret.yaml]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a"))
	fleetTree.MapFS["clusters/a/secret.yaml"] = file
	f := newBuilder(render.Options{Decrypter: d}).render(t, "1", fleetTree)
	if len(f.Clusters) != 1 || len(f.Problems) > 0 {
		t.Errorf("got %v and %v", keys(f), lines(f.Problems))
	}
	if diff := cmp.Diff([]string{"clusters/a/secret.yaml"}, told); diff != "" {
		t.Errorf("told of: -want +got:\n%s", diff)
	}
}

// TestRenderAsksAgain: a file that sops could not decrypt is a problem of its folder alone,
// and is decrypted by the next render of the same content that sops answers.
func TestRenderAsksAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands in for sops is a script")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "sops")
	script := "#!/bin/sh\ntest -e " + dir + "/there || exit 128\ncat <<'END'\napiVersion: v1\nkind: Secret\nmetadata: {name: cloud, namespace: team}\nstringData: {password: hunter2}\nEND\n"
	if err := os.WriteFile(program, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := sops.New(sops.Options{Program: program})
	if err != nil {
		t.Fatal(err)
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: cloud, namespace: team}\nstringData: {password: \"ENC[AES256_GCM,data:aaaa,iv:aaaa,tag:aaaa,type:str]\"}\n" +
		"sops: {kms: [{arn: x}], encrypted_regex: ^stringData$, lastmodified: \"2026-01-01T00:00:00Z\", mac: \"ENC[AES256_GCM,data:aaaa,iv:aaaa,tag:aaaa,type:str]\"}\n"
	fleetTree := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml, secret.yaml]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a") +
		"-- clusters/a/secret.yaml --\n" + secret +
		"-- clusters/b/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/b/c.yaml --\n" + clusterYAML("team", "b"))
	b := newBuilder(render.Options{Decrypter: d})
	f := b.render(t, "1", fleetTree)
	if len(f.Clusters) != 1 || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].String(), "clusters/a/secret.yaml") || b.Stale() {
		t.Errorf("got %v, %v, stale %v", keys(f), lines(f.Problems), b.Stale())
	}
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := b.render(t, "1", fleetTree); len(f.Clusters) != 2 || len(f.Problems) != 0 {
		t.Errorf("got %v, %v", keys(f), lines(f.Problems))
	}
}

// oneWorker builds one overlay after the other, in the order of their names.
type oneWorker struct{ *fakeWorkers }

func (oneWorker) Processes() int { return 1 }

// TestDecryptedIsSaid: workers know of each overlay whether it has what was encrypted.
func TestDecryptedIsSaid(t *testing.T) {
	secret, d := encrypted(t, "secret.yaml", sops.Options{})
	fleetTree := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml, ../../secrets]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a") +
		"-- secrets/kustomization.yaml --\nresources: [secret.yaml]\n" +
		"-- clusters/b/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/b/c.yaml --\n" + clusterYAML("team", "b"))
	fleetTree.MapFS["secrets/secret.yaml"] = secret
	w := &fakeWorkers{here: kustomize.New(kustomize.DefaultLimits())}
	newBuilder(render.Options{Decrypter: d, Workers: oneWorker{w}}).render(t, "1", fleetTree)
	if diff := cmp.Diff(map[string]bool{"clusters/a": true, "clusters/b": false}, w.decrypted); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
