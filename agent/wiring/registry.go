package wiring

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render/worker"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/oci"
)

// registry returns the source in a registry.
func (s Settings) registry() (*oci.Repository, error) {
	if s.TrustMerges {
		return nil, fmt.Errorf("the source %s is in a registry: it has no merges to trust", s.Source)
	}
	verify, err := artifactVerifier(s.TrustedKeys)
	if err != nil {
		return nil, err
	}
	// Read again for each operation: a Secret that was rotated is used at once.
	host, _, _ := strings.Cut(strings.TrimPrefix(s.Source, oci.Scheme), "/")
	refresh := func(o *oci.Options) error { return s.Credentials.forRegistry(host, o) }
	return oci.New(oci.Options{URL: s.Source, Ref: s.Ref, Path: s.Path, PlainHTTP: s.PlainHTTP, Refresh: refresh, Verify: verify, Log: s.Log})
}

// artifactVerifier is like verifier, for the keys of artifacts.
func artifactVerifier(paths []string) (func(payload, signature []byte) (string, error), error) {
	if len(paths) == 0 {
		return nil, nil
	}
	read := func() (*oci.Keys, error) {
		files, err := keyFiles(paths)
		if err != nil {
			return nil, err
		}
		return oci.NewKeys(files)
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return func(payload, signature []byte) (string, error) {
		k, err := read()
		if err != nil {
			return "", fleet.Errorf(fleet.Unauthorized, "read whose signatures count", "%w", err)
		}
		return k.Verify(payload, signature)
	}, nil
}

// forRegistry sets the credentials of o to what the files hold now, for the registry at
// host.
func (c Credentials) forRegistry(host string, o *oci.Options) error {
	if c.Dir != "" {
		if err := c.fromDir(); err != nil {
			return err
		}
		c.Dir = ""
	}
	docker := c.DockerConfigFile
	c.DockerConfigFile = ""
	var g git.Options
	if err := c.apply(&g); err != nil {
		return err
	}
	if !g.Auth.Key.IsZero() {
		return errors.New("an SSH key does not work over oci")
	}
	o.Proxy, o.CABundle = g.Proxy, g.CABundle
	o.Auth = oci.Auth{Username: g.Auth.Username, Password: g.Auth.Password, Certificate: g.Auth.Certificate, CertificateKey: g.Auth.CertificateKey}
	switch {
	case !g.Auth.Token.IsZero(): // registries take any name with a token
		o.Auth.Username, o.Auth.Password = cmp.Or(g.Auth.Username, "token"), g.Auth.Token
	case !g.Auth.Bearer.IsZero():
		o.Auth.Username, o.Auth.Bearer = "", g.Auth.Bearer
	}
	if docker == "" || o.Auth.Username != "" || !o.Auth.Bearer.IsZero() {
		return nil
	}
	b, err := os.ReadFile(docker)
	if err != nil {
		return fmt.Errorf("cannot read a credential: %w", err)
	}
	if err := fromDocker(b, host, &o.Auth); err != nil {
		return fmt.Errorf("cannot use the credentials in %s: %w", docker, err)
	}
	return nil
}

// fromDocker sets a to what the configuration of docker says of the registry at host. It
// is what docker login writes, and a Secret of the type kubernetes.io/dockerconfigjson has.
// The error shows nothing of it.
func fromDocker(config []byte, host string, a *oci.Auth) error {
	var c struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
		Helpers map[string]string `json:"credHelpers"`
		Store   string            `json:"credsStore"`
	}
	if json.Unmarshal(config, &c) != nil {
		return errors.New("it is no configuration of docker in JSON")
	}
	if c.Store != "" || c.Helpers[host] != "" {
		return errors.New("it leads to a credential helper, a program that is not run: name a file that has the credentials themselves")
	}
	names := []string{host}
	if host == "docker.io" {
		names = append(names, "index.docker.io", "registry-1.docker.io")
	}
	for name, auth := range c.Auths {
		name, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://"), "/")
		if !slices.Contains(names, name) {
			continue
		}
		user, password := auth.Username, auth.Password
		if auth.Auth != "" {
			b, err := base64.StdEncoding.DecodeString(auth.Auth)
			before, after, ok := strings.Cut(string(b), ":")
			if err != nil || !ok {
				return fmt.Errorf("what it has for %s is not USER:PASSWORD in base64", host)
			}
			user, password = before, strings.TrimRight(after, "\x00")
		}
		a.Bearer, a.Refresh = fleet.NewSecret([]byte(auth.RegistryToken)), fleet.NewSecret([]byte(auth.IdentityToken))
		if auth.IdentityToken == "" {
			a.Username, a.Password = user, fleet.NewSecret([]byte(password))
		}
		return nil
	}
	return nil // it is for others: this registry may ask for none
}

// statusFolder returns the folder that the status goes to by StatusRepository; nil where
// that is a Git repository.
func (s Settings) statusFolder() (*dir.Folder, error) {
	if s.StatusRepository == "" || !IsFolder(s.StatusRepository) {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(s.StatusRepository, ".git")); err == nil {
		return nil, nil // as Git has it with a work tree
	}
	return dir.New(dir.Options{Path: s.StatusRepository, Budget: statusBudget(worker.MemoryLimit()).Tree, Log: s.Log})
}

// errNoStatus says that a source in a registry needs a place for its status.
func (s Settings) errNoStatus() error {
	return fleet.Errorf(fleet.Invalid, "open the status branch",
		"the source %s is in a registry, which status is not written to: name a Git repository or a folder with --status-repository", s.Source)
}
