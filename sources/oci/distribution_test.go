package oci_test

import (
	"bytes"
	"crypto/x509"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
	"fairlead.dev/test/lab/kube/binaries"
)

// distribution runs the registry of the CNCF with a configuration, and returns its address.
func distribution(t *testing.T, root, more string) string {
	t.Helper()
	program, err := binaries.Path("registry")
	if err != nil {
		t.Skip(err)
	}
	config := filepath.Join(t.TempDir(), "config.yml")
	text := "version: 0.1\nlog: {level: info}\nstorage:\n  filesystem: {rootdirectory: " + root + "}\nhttp:\n  addr: 127.0.0.1:0\n" + more
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "serve", config)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)
	var said []byte
	for b := make([]byte, 4096); ; {
		n, err := out.Read(b)
		said = append(said, b[:n]...)
		if m := listening.FindSubmatch(said); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return string(m[1])
		}
		if err != nil {
			t.Fatalf("registry: %v: %s", err, said)
		}
	}
}

// TestDistribution reads from the registry of the CNCF, with TLS, a client's certificate
// and a password, what was pushed there and signed in both forms.
func TestDistribution(t *testing.T) {
	folder := t.TempDir()
	root := filepath.Join(folder, "content")
	r := ocitest.Repository{URL: "http://" + distribution(t, root, ""), Name: "team/fleet"}
	server, client := newPair(t, x509.ExtKeyUsageServerAuth), newPair(t, x509.ExtKeyUsageClientAuth)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cert": server.cert, "key": server.key, "ca": client.cert, "htpasswd": append([]byte("bot:"), hash...)} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	guarded := distribution(t, root, "  tls: {certificate: "+in("cert")+", key: "+in("key")+", clientcas: ["+in("ca")+"]}\nauth:\n  htpasswd: {realm: fleet, path: "+in("htpasswd")+"}\n")
	key, public := ocitest.NewKey(t)
	keys, err := oci.NewKeys(map[string][]byte{"cosign.pub": public})
	if err != nil {
		t.Fatal(err)
	}
	repo := open(t, atServer("https://"+guarded, r), oci.Options{
		Ref: "main", CABundle: server.cert, Verify: keys.Verify,
		Auth: oci.Auth{Username: "bot", Password: fleet.NewSecret([]byte("secret")), Certificate: client.cert, CertificateKey: fleet.NewSecret(client.key)},
	})
	one := r.Artifact(t, "main", at(1), files, nil)
	_, _, err = get(t, repo)
	wantError(t, err, fleet.Invalid, "it has no signature")
	r.Sign(t, one, key, nil)
	first, content, err := get(t, repo)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(content, "fleet.yaml"); err != nil || !bytes.Equal(b, []byte(files["fleet.yaml"])) {
		t.Errorf("got %q, %v", b, err)
	}
	two := r.Artifact(t, "main", at(2), map[string]string{"a": "b"}, nil)
	r.Bundle(t, two, key, "https://sigstore.dev/cosign/sign/v1")
	second, _, err := get(t, repo)
	if err != nil || second.Digest != two {
		t.Fatalf("got %v, %v", second, err)
	}
	if err := repo.Continues(t.Context(), first, second); err != nil {
		t.Error(err)
	}
	_, _, err = get(t, open(t, atServer("https://"+guarded, r), oci.Options{Ref: "main", CABundle: server.cert, Auth: oci.Auth{Username: "bot", Password: fleet.NewSecret([]byte("wrong")), Certificate: client.cert, CertificateKey: fleet.NewSecret(client.key)}}))
	wantError(t, err, fleet.Unauthorized, "")
}
