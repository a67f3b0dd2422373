package wiring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
)

// kubernetesStore is what Settings.Secrets says of a store in Kubernetes.
const kubernetesStore = "kubernetes"

// OpenSecrets opens the secret store. With ReadOnly a missing folder is an empty store, and is
// not created.
func (s Settings) OpenSecrets(ctx context.Context, mode Mode) (secrets.Store, error) {
	if kind, kubeconfig, _ := strings.Cut(s.Secrets, ":"); kind == kubernetesStore {
		return secrets.OpenKubernetes(kubeconfig)
	}
	d, exists, err := s.SecretStore()
	if err != nil {
		return nil, err
	}
	if !exists && mode != ReadWrite {
		return secrets.NewMemory(), nil
	}
	return secrets.OpenFile(ctx, d, secrets.Options{})
}

// SecretStore names the secret store, and reports whether it exists: a folder, or a store in
// Kubernetes as --secrets names it, which always counts as existing.
func (s Settings) SecretStore() (name string, exists bool, err error) {
	if kind, _, _ := strings.Cut(s.Secrets, ":"); kind == kubernetesStore {
		return s.Secrets, true, nil
	}
	d, err := s.secretsDir()
	if err != nil {
		return "", false, err
	}
	_, err = os.Stat(d)
	return d, !errors.Is(err, fs.ErrNotExist), nil
}

// secretsDir returns the folder of a secret store that is a folder. It may not exist.
func (s Settings) secretsDir() (string, error) {
	if s.Secrets != "" {
		return s.Secrets, nil
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cannot find a folder for secrets, name one with --secrets: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	id, err := s.Identity()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "fairlead", id, "secrets"), nil
}

// identities returns all age identities that are there to decrypt files of the
// fleet, each Secret a file of them.
func (s Settings) identities() ([]fleet.Secret, error) {
	var all []fleet.Secret
	for _, path := range s.AgeIdentityFiles {
		names, err := credentials.List(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read age identities: %w", err)
		}
		for _, name := range names {
			content, err := secrets.ReadIdentityFile(name)
			if err != nil {
				return nil, err
			}
			all = append(all, content)
		}
	}
	kind, _, _ := strings.Cut(s.Secrets, ":")
	if d, err := s.secretsDir(); err == nil && kind != kubernetesStore {
		content, err := secrets.ReadIdentityFile(filepath.Join(d, secrets.IdentityFile))
		if err == nil {
			all = append(all, content)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}
