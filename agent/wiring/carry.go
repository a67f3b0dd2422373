package wiring

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
)

// What an agent takes along to another place, as Secrets that are mounted there.

// AgeIdentities returns all that decrypts files of the fleet, that of the secret
// store among them, as one file; nothing where there is none.
func (s Settings) AgeIdentities() (fleet.SecretData, error) {
	var all bytes.Buffer
	paths := s.AgeIdentityFiles
	if kind, _, _ := strings.Cut(s.Secrets, ":"); kind != kubernetesStore {
		d, err := s.secretsDir()
		if err != nil {
			return nil, err
		}
		if own := filepath.Join(d, secrets.IdentityFile); exists(own) {
			paths = append(paths[:len(paths):len(paths)], own)
		}
	}
	for _, path := range paths {
		names, err := credentials.List(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			all.Write(bytes.TrimSpace(b))
			all.WriteByte('\n')
		}
	}
	if all.Len() == 0 {
		return nil, nil
	}
	return fleet.SecretData{secrets.IdentityFile: fleet.NewSecret(all.Bytes())}, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
