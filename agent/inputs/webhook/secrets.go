package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxSecretFile bounds a file of secrets, in bytes.
const maxSecretFile = 64 << 10

// Secrets name the files of secrets, by kind. A file holds one secret a line;
// all of them are valid, so that a secret can be changed at the forge after it
// was added here. Files are read with each call: a changed one counts at once.
type Secrets struct {
	files map[string][]string
}

// NewSecrets returns the secrets in files, each KIND=FILE, and those in folder,
// where a file is called as its kind, as the keys of a mounted Kubernetes
// Secret are. Either may be empty. All of them must be readable now.
func NewSecrets(files []string, folder string) (Secrets, error) {
	s := Secrets{files: make(map[string][]string)}
	for _, text := range files {
		name, file, ok := strings.Cut(text, "=")
		if !ok || file == "" {
			return Secrets{}, fmt.Errorf("%q is not KIND=FILE", text)
		}
		if !slices.Contains(Kinds(), name) {
			return Secrets{}, fmt.Errorf("there is no kind of webhook %q: use %s", name, strings.Join(Kinds(), ", "))
		}
		s.files[name] = append(s.files[name], file)
	}
	if folder != "" {
		if err := s.addFolder(folder); err != nil {
			return Secrets{}, err
		}
	}
	if len(s.files) == 0 {
		return Secrets{}, errors.New("no secret is set: anyone could call a webhook without one")
	}
	for name := range s.files {
		if _, err := s.of(name); err != nil {
			return Secrets{}, err
		}
	}
	return s, nil
}

func (s Secrets) addFolder(folder string) error {
	found := false
	for _, name := range Kinds() {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			continue
		}
		s.files[name], found = append(s.files[name], file), true
	}
	if !found {
		return fmt.Errorf("the folder %s has no file called as a kind of webhook: %s", folder, strings.Join(Kinds(), ", "))
	}
	return nil
}

// has reports whether there are secrets of that kind.
func (s Secrets) has(kind string) bool { return len(s.files[kind]) > 0 }

// Plain returns the kinds with a secret that travels with each call in clear: unless the
// forge calls over TLS, everyone on the network can read it. GitLab's signing tokens do not.
func (s Secrets) Plain() []string {
	const kind = "gitlab"
	if !s.has(kind) {
		return nil
	}
	secrets, err := s.of(kind)
	if err != nil || !slices.ContainsFunc(secrets, func(b []byte) bool { return !bytes.HasPrefix(b, []byte(standardPrefix)) }) {
		return nil
	}
	return []string{kind}
}

// of returns the secrets of that kind, at least one. Its errors name the file
// and show nothing of its content.
func (s Secrets) of(kind string) ([][]byte, error) {
	var out [][]byte
	for _, file := range s.files[kind] {
		content, err := readSecrets(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the secret of webhooks of kind %s: %w", kind, err)
		}
		for line := range bytes.Lines(content) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				out = append(out, line)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the secret of webhooks of kind %s is empty: %s", kind, strings.Join(s.files[kind], ", "))
	}
	return out, nil
}

func readSecrets(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err == nil && len(content) > maxSecretFile {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxSecretFile)
	}
	return content, err
}
