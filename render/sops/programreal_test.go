package sops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet/documents"
	"fairlead.dev/test/lab/kube/binaries"
	"fairlead.dev/test/run/needs"
)

// forPGP returns the file of testdata with a PGP key in place of the age recipients, and
// how sops prints it.
func forPGP(t *testing.T, metadata string) (file []byte, printed string) {
	t.Helper()
	text := string(read(t, "secret.yaml"))
	plain, _, err := decrypter(t, Options{}, ours).Decrypt(t.Context(), "secret.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(text, "    age:")
	j := strings.Index(text, "    encrypted_regex")
	return []byte(text[:i] + metadata + text[j:]), string(plain)
}

const pgp = "    pgp: [{fp: 0123ABCD, enc: x, created_at: \"2026-01-01T00:00:00Z\"}]\n"

// TestRealProgram has sops itself encrypt for a PGP key, and decrypt.
func TestRealProgram(t *testing.T) {
	program, err := binaries.Path("sops")
	if err != nil {
		t.Skip(err)
	}
	needs.Program(t, "gpg", "apt-get install gnupg")
	home, err := os.MkdirTemp("", "gpg") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GNUPGHOME", home)
	run := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	run(t, "gpg", "--batch", "--passphrase", "", "--quick-gen-key", "fairlead@example.com", "default", "default", "never")
	fingerprint := ""
	for _, line := range strings.Split(run(t, "gpg", "--list-keys", "--with-colons"), "\n") {
		if f := strings.Split(line, ":"); f[0] == "fpr" && fingerprint == "" {
			fingerprint = f[9]
		}
	}
	for name, text := range map[string]string{
		"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n    name: a\n# a remark\nstringData:\n    # another\n    a: hunter2\n    b: \"  yes\\tno: 'x' ü\\r\\n\\n\"\n    c: \"\"\n---\napiVersion: v1\nkind: Secret\nstringData:\n    n: 2020-01-02\n    l: [1, 2.5, 1.0, true, null, text]\n",
		"app.json":    "{\n  \"b\": [1, 1.5, true, null, \"x\"],\n  \"a\": {\"z\": \"hunter2\", \"y\": 10000000000}\n}\n",
		"app.env":     "USER=admin\n# a remark\nPASSWORD=hunter2=x\nLINES=one\\ntwo\nEMPTY=\nNUMBER=12\n",
		"token.bin":   "not YAML: [ at all\n\thunter2\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, program, "encrypt", "--in-place", "--pgp", fingerprint, path)
			file, err := os.ReadFile(path)
			if err != nil || strings.Contains(string(file), "hunter2") {
				t.Fatalf("%v: %s", err, file)
			}
			d := decrypter(t, Options{Program: program})
			got, values, err := d.Decrypt(t.Context(), name, file)
			if err != nil {
				t.Fatalf("%v\n%s", err, file)
			}
			want := run(t, program, "decrypt", path)
			if filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".json" {
				got, want = []byte(plainly(t, got)), plainly(t, []byte(want))
			}
			if name == "app.env" {
				want = strings.Replace(want, "# a remark\n", "", 1)
			}
			if string(got) != want || len(values) == 0 {
				t.Errorf("got %q\nwant %q", got, want)
			}
			at := strings.Index(string(file), "data:") + len("data:")
			damaged := string(file[:at]) + "AAAA" + string(file[at+4:])
			_, _, err = d.Decrypt(t.Context(), name, []byte(damaged))
			refused(t, err)
		})
	}
}

// plainly returns the documents in data as JSON.
func plainly(t *testing.T, data []byte) string {
	t.Helper()
	f, err := documents.Parse(data, documents.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, doc := range f.Documents {
		b, err := documents.JSON(doc)
		if err != nil {
			t.Fatal(err)
		}
		out += string(b) + "\n"
	}
	return out
}
