package webhook

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret may change while the agent runs: the new one counts with the next call.
func TestSecretsAreReadAgain(t *testing.T) {
	h, _ := listening(t, nil)
	body := githubPush
	sign := func(key string) *http.Request {
		return call("github", body, "X-GitHub-Event: ping", "X-Hub-Signature-256: sha256="+sum(key, body))
	}
	file := h.o.Secrets.files["github"][0]
	if code, _ := serve(h, sign("newer")); code != 401 {
		t.Fatalf("a secret that is not there yet: got %d, want 401", code)
	}
	if err := os.WriteFile(file, []byte(secret+"\nnewer\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"newer": 200, secret: 200, "older": 401} {
		if code, _ := serve(h, sign(key)); code != want {
			t.Errorf("the secret %s after the change: got %d, want %d", key, code, want)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := serve(h, sign("")); code != 503 || strings.Contains(text, file) {
		t.Errorf("an empty file: got %d %q, want 503 without the file's name", code, text)
	}
}

func TestNewSecrets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for name, content := range map[string]string{"file": "a\n\n b \n", "empty": "\n", "large": strings.Repeat("a", 65<<10)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := NewSecrets([]string{"github=" + file}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.of("github"); err != nil || len(got) != 2 || string(got[1]) != "b" {
		t.Errorf("got %q, %v, want a and b", got, err)
	}
	for name, tc := range map[string]struct {
		files  []string
		folder string
		want   string
	}{
		"none":         {nil, "", "no secret is set"},
		"no kind":      {[]string{file}, "", "is not KIND=FILE"},
		"unknown kind": {[]string{"gogs=" + file}, "", `no kind of webhook "gogs"`},
		"no file":      {[]string{"github=" + file + "x"}, "", "no such file"},
		"empty":        {[]string{"github=" + filepath.Join(dir, "empty")}, "", "is empty"},
		"large":        {[]string{"github=" + filepath.Join(dir, "large")}, "", "larger than"},
		"folder":       {nil, dir, "no file called as a kind"},
	} {
		if _, err := NewSecrets(tc.files, tc.folder); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	if _, err := NewSecrets([]string{"github=" + file + "x"}, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file is not there", err)
	}
}
