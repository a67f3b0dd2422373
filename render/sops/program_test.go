package sops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet/documents"
)

// standIn returns a Decrypter whose program is this script. It has $dir to write to.
func standIn(t *testing.T, script string, files ...string) (d *Decrypter, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands in for sops is a script")
	}
	dir = t.TempDir()
	program := filepath.Join(dir, "sops")
	// What a script has open for writing cannot be executed: a child of another test may have it.
	if err := os.WriteFile(program, []byte("#!/bin/sh\ndir="+dir+"\n"+script+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	d = decrypter(t, Options{Program: program}, files...)
	d.program.timeout = time.Minute
	return d, dir
}

// printing returns a script that prints text.
func printing(text string) string { return "cat >/dev/null\ncat <<'END'\n" + text + "END" }

// refused returns the refusal that err holds, and fails where it shows a value.
func refused(t *testing.T, err error) *documents.Refusal {
	t.Helper()
	r, ok := errors.AsType[*documents.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	for _, s := range []string{"hunter2", "correct horse", "aHVudGVyMg", "AGE-SECRET", "s.token"} {
		if strings.Contains(r.Message+r.Hint, s) {
			t.Errorf("shows a value: %v; %s", r, r.Hint)
		}
	}
	if r.Hint == "" || strings.Contains(r.Message, "\n") {
		t.Errorf("no line with a hint: %q, %q", r.Message, r.Hint)
	}
	return r
}

func TestProgramDecrypts(t *testing.T) {
	file, plain := forPGP(t, pgp)
	d, _ := standIn(t, printing(plain))
	got, values, err := d.Decrypt(t.Context(), "secret.yaml", file)
	if err != nil || string(got) != plain || len(values) != 3 {
		t.Errorf("got %q, %v, %v", got, values, err)
	}
	// As with an identity, what it holds can be left out.
	red := *d
	red.redact = true
	if got, _, err := red.Decrypt(t.Context(), "secret.yaml", file); err != nil || strings.Contains(string(got), "correct horse") {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestProgramIsNotRunUnasked: only who names it has it run, and an identity that decrypts
// the file is enough.
func TestProgramIsNotRunUnasked(t *testing.T) {
	file, _ := forPGP(t, pgp)
	_, _, err := decrypter(t, Options{}, ours).Decrypt(t.Context(), "secret.yaml", file)
	if r := refused(t, err); !strings.Contains(r.Message, "for PGP 0123ABCD") || !strings.Contains(r.Hint, "--sops-program") || !strings.Contains(r.Hint, "gpg") {
		t.Errorf("got %v; %s", r, r.Hint)
	}
	d, dir := standIn(t, "touch $dir/ran; exit 1", ours)
	both := strings.Replace(string(read(t, "secret.yaml")), "sops:\n", "sops:\n"+pgp, 1)
	if _, _, err := d.Decrypt(t.Context(), "secret.yaml", []byte(both)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the program was run for a file that an age identity decrypts")
	}
}

func TestProgramIsNotThere(t *testing.T) {
	file, _ := forPGP(t, "    kms: [{arn: 'arn:aws:kms:eu-1:1:key/a'}]\n")
	_, _, err := decrypter(t, Options{Program: "no-such-sops"}).Decrypt(t.Context(), "secret.yaml", file)
	if r := refused(t, err); !strings.Contains(r.Message, "for AWS KMS arn:aws:kms:eu-1:1:key/a") || !strings.Contains(r.Hint, "install sops") {
		t.Errorf("got %v; %s", r, r.Hint)
	}
}

// TestProgramFails: whatever the program does, it ends, and what it said is not told.
func TestProgramFails(t *testing.T) {
	file, plain := forPGP(t, pgp)
	for name, c := range map[string]struct {
		script, want string
		timeout      time.Duration
	}{
		"hangs":              {script: "sleep 100 & sleep 100", timeout: time.Second, want: "did not end within 1s"},
		"exits":              {script: "echo hunter2 >&2; exit 1", want: "exit code 1"},
		"without the key":    {script: "echo 'gpg: decryption failed: No secret key hunter2' >&2; exit 128", want: "did not get the key of the file: the private key is not there"},
		"changed":            {script: "exit 51", want: "was changed after it was encrypted"},
		"killed":             {script: "kill -9 $$", want: "killed"},
		"prints garbage":     {script: "echo hunter2: '['", want: "is not the file decrypted"},
		"prints nothing":     {script: "true", want: "is not the file decrypted"},
		"prints without end": {script: "cat >/dev/null; yes hunter2", want: "prints too much"},
		"prints an error":    {script: "yes hunter2 | head -c 100000000 >&2; exit 1", want: "exit code 1"},
		"takes memory":       {script: "sleep 0.1; head -c 200000000 /dev/zero | tail >/dev/null || exit 1; exit 3", want: "exit code 1"},
		"prints aliases":     {script: printing("a: &a [x, x]\nb: [" + strings.Repeat("*a, ", 60_000) + "]\n"), want: "is not the file decrypted"},
		"prints another key": {script: printing(strings.Replace(plain, "odd:", "even:", 1)), want: "is not the file decrypted"},
		"prints a key more":  {script: printing(plain + "more: x\n"), want: "is not the file decrypted"},
		"prints a document":  {script: printing(plain + "---\na: b\n"), want: "is not the file decrypted"},
		"prints a number":    {script: printing(strings.Replace(plain, `"aHVudGVyMg=="`, "7", 1)), want: "is not the file decrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "takes memory" && runtime.GOOS != "linux" {
				t.Skip("only Linux bounds the memory of another process")
			}
			d, _ := standIn(t, c.script)
			if name == "takes memory" {
				d.program.memory = 32 << 20
			}
			if c.timeout > 0 {
				d.program.timeout = c.timeout
			}
			plain, values, err := d.Decrypt(t.Context(), "secret.yaml", file)
			if r := refused(t, err); !strings.Contains(r.Message, c.want) {
				t.Errorf("got %q, want %q", r.Message, c.want)
			}
			if plain != nil || values != nil {
				t.Error("gives content of what it refuses")
			}
		})
	}
}

// TestProgramChangesNothingElse: of what it prints, only what was encrypted counts.
func TestProgramChangesNothingElse(t *testing.T) {
	file, plain := forPGP(t, pgp)
	d, _ := standIn(t, printing(strings.Replace(plain, "name: login", "name: logout", 1)))
	got, _, err := d.Decrypt(t.Context(), "secret.yaml", file)
	if err != nil || string(got) != plain {
		t.Errorf("got %q, %v", got, err)
	}
	configmap := strings.Replace(string(file), "kind: Secret", "kind: ConfigMap", 1)
	d, _ = standIn(t, printing(strings.Replace(plain, "kind: Secret", "kind: ConfigMap", 1)))
	if _, _, err := d.Decrypt(t.Context(), "secret.yaml", []byte(configmap)); !strings.Contains(refused(t, err).Message, "more than Secrets") {
		t.Errorf("got %v", err)
	}
}

// TestProgramEnvironment: it gets what the services of the file need, and no more; of the
// file what was looked at, and no more.
func TestProgramEnvironment(t *testing.T) {
	file, plain := forPGP(t, pgp+"    hc_vault: [{vault_address: 'https://vault.example.com/', key_name: k, enc: x}]\n    HC_VAULT: [{vault_address: 'https://evil.example.com'}]\n    age: []\n")
	d, dir := standIn(t, "cat >$dir/file; env >$dir/env; exec <<'END' cat\n"+plain+"END")
	d.program.environ = func() []string {
		return []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/home/a", "GNUPGHOME=/keys", "VAULT_ADDR=https://vault.example.com", "VAULT_TOKEN=s.token",
			"AWS_SECRET_ACCESS_KEY=no", "FAIRLEAD_TOKEN_FILE=no", "SOPS_AGE_KEY=no", "KUBECONFIG=no", "LD_PRELOAD=no",
		}
	}
	if _, _, err := d.Decrypt(t.Context(), "secret.yaml", file); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, line := range strings.Fields(string(env)) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(n string) bool { return n == "PWD" || n == "_" || n == "SHLVL" || n == "OLDPWD" }) // of the shell
	if want := []string{"GNUPGHOME", "HOME", "LC_ALL", "PATH", "VAULT_ADDR", "VAULT_TOKEN"}; !slices.Equal(names, want) {
		t.Errorf("it has %v, want %v", names, want)
	}
	given, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || strings.Contains(string(given), "evil") || !strings.Contains(string(given), "0123ABCD") {
		t.Errorf("it is given %s, %v", given, err)
	}
}

// TestProgramShowsNoTokenToOthers: a file does not say where the token of a Vault is sent.
func TestProgramShowsNoTokenToOthers(t *testing.T) {
	vault := func(address string) string {
		return pgp + "    hc_vault: [{vault_address: '" + address + "', key_name: k, enc: x}]\n"
	}
	for name, c := range map[string]struct{ ours, address string }{
		"another one":    {"https://vault.example.com", "https://evil.example.com"},
		"longer":         {"https://vault.example.com", "https://vault.example.com.evil.example.com"},
		"none is named":  {"", "https://evil.example.com"},
		"neither is":     {"", ""},
		"in plain words": {"https://vault.example.com", "http://vault.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			file, _ := forPGP(t, vault(c.address))
			d, dir := standIn(t, "touch $dir/ran; exit 1")
			d.program.environ = func() []string { return []string{"VAULT_ADDR=" + c.ours, "VAULT_TOKEN=s.token"} }
			_, _, err := d.Decrypt(t.Context(), "secret.yaml", file)
			if r := refused(t, err); !strings.Contains(r.Message, "VAULT_ADDR") {
				t.Errorf("got %v", r)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("the program was run")
			}
		})
	}
}

// TestProgramIsTriedAgain: what it could not decrypt is not asked for at once again, and is
// after a while; where it hangs, it is not run for each file.
func TestProgramIsTriedAgain(t *testing.T) {
	file, plain := forPGP(t, pgp)
	d, dir := standIn(t, "echo >>$dir/runs; test -e $dir/good || exit 128\n"+printing(plain))
	var mu sync.Mutex
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d.program.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	runs := func() int {
		b, _ := os.ReadFile(filepath.Join(dir, "runs"))
		return len(b)
	}
	for range 2 {
		_, _, err := d.Decrypt(t.Context(), "secret.yaml", file)
		refused(t, err)
	}
	if runs() != 1 || d.Due() {
		t.Errorf("it was run %d times, due: %v", runs(), d.Due())
	}
	now = now.Add(retryAfter)
	if !d.Due() {
		t.Error("it is not tried again")
	}
	if err := os.WriteFile(filepath.Join(dir, "good"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.Tree(t.Context(), nil)
	for range 2 {
		if _, _, err := d.Decrypt(t.Context(), "secret.yaml", file); err != nil {
			t.Error(err)
		}
	}
	if runs() != 2 || d.Due() {
		t.Errorf("it was run %d times, due: %v", runs(), d.Due())
	}

	d, dir = standIn(t, "echo >>$dir/runs; exec sleep 100")
	d.program.timeout = 300 * time.Millisecond
	for i := range 2 * hangsMost {
		other, _ := forPGP(t, strings.Replace(pgp, "0123ABCD", fmt.Sprintf("0123ABCD%d", i), 1))
		_, _, err := d.Decrypt(t.Context(), "secret.yaml", other)
		refused(t, err)
	}
	if runs() > hangsMost {
		t.Errorf("a program that hangs was run %d times", runs())
	}
}

// TestProgramEndsWithItsCaller: no run outlives the render that it is for.
func TestProgramEndsWithItsCaller(t *testing.T) {
	file, _ := forPGP(t, pgp)
	d, _ := standIn(t, "exec sleep 100")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, _, err := d.Decrypt(ctx, "secret.yaml", file); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if d.program.hangs != 0 {
		t.Error("a run that nobody waited for counts as one that hangs")
	}
}
