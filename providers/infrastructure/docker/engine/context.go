package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// chosen returns the daemon that people chose, as the command docker reads it: DOCKER_HOST, or else the context of
// DOCKER_CONTEXT, or else the current context of the configuration. Source: docker/cli, cli/context/store.
func chosen() (string, error) {
	if h := os.Getenv("DOCKER_HOST"); h != "" {
		return h, nil
	}
	name, dir := os.Getenv("DOCKER_CONTEXT"), os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		switch {
		case err != nil && name != "":
			return "", fmt.Errorf("the context %q: %w. Set DOCKER_CONFIG or DOCKER_HOST", name, err)
		case err != nil: // there is no configuration
			return DefaultHost, nil
		}
		dir = filepath.Join(home, ".docker")
	}
	if name == "" {
		var config struct{ CurrentContext string }
		if err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		name = config.CurrentContext
	}
	if cmp.Or(name, "default") == "default" {
		return DefaultHost, nil
	}
	var meta struct {
		Endpoints struct {
			Docker struct {
				Host          string
				SkipTLSVerify bool
			}
		}
	}
	hash := sha256.Sum256([]byte(name))
	contexts, id := filepath.Join(dir, "contexts"), hex.EncodeToString(hash[:])
	file := filepath.Join(contexts, "meta", id, "meta.json")
	if err := readJSON(file, &meta); err != nil {
		return "", fmt.Errorf("the context %q: %w. Correct DOCKER_CONTEXT, run 'docker context use', or set DOCKER_HOST", name, err)
	}
	at := meta.Endpoints.Docker
	_, noTLS := os.Stat(filepath.Join(contexts, "tls", id, "docker"))
	if parse(at.Host) == nil || at.SkipTLSVerify || noTLS == nil {
		return "", fmt.Errorf("the context %q has the host %q in %s, and only unix:// and tcp:// without TLS are supported. Set DOCKER_HOST, for example to a socket that 'ssh -L' forwards", name, at.Host, file)
	}
	return at.Host, nil
}

func readJSON(file string, out any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	return nil
}
