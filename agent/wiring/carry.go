package wiring

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// What an agent takes along to another place, as Secrets that are mounted there.

// Secret returns the credentials under the keys of Credentials.Dir; nothing
// where there are none.
func (c Credentials) Secret() (fleet.SecretData, error) {
	if c.Dir != "" {
		if err := c.fromDir(); err != nil {
			return nil, err
		}
	}
	d := fleet.SecretData{}
	for key, text := range map[string]string{
		usernameKey: c.Username, proxyKey: c.Proxy, appID: c.AppID, appInstallation: c.AppInstallation, appOwner: c.AppOwner, appURL: c.AppURL,
	} {
		if text != "" {
			d[key] = fleet.NewSecret([]byte(text))
		}
	}
	for key, file := range map[string]string{
		tokenKey: c.TokenFile, bearerTokenKey: c.BearerFile, clientCert: c.CertFile, clientKey: c.CertKeyFile, proxyKey: c.ProxyFile, passwordKey: c.PasswordFile, identityKey: c.SSHKeyFile,
		passphraseKey: c.PassphraseFile, knownHostsKey: c.KnownHostsFile, certAuthorities: c.CAFile, appKey: c.AppKeyFile, dockerConfigKey: c.DockerConfigFile,
	} {
		if file == "" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d[key] = fleet.NewSecret(b)
	}
	return d, nil
}

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
		names, err := files(path)
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
