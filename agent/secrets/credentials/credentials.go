package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// Files name the files that hold credentials, so that secrets are on no command line.
type Files struct {
	Username       string
	TokenFile      string
	BearerFile     string
	PasswordFile   string
	SSHKeyFile     string
	PassphraseFile string
	KnownHostsFile string
	CAFile         string
	CertFile       string // of the client, for https
	CertKeyFile    string
	ProxyFile      string // holds the URL of a proxy, which may hold a user and a password
	Proxy          string // the URL of a proxy without them
	// DockerConfigFile is a configuration of docker, for a registry; what the other
	// fields name comes first.
	DockerConfigFile string

	// A GitHub App, in place of the others: its number, that of an installation or who
	// has it installed, the URL of the API, and the file of its private key.
	AppID, AppInstallation, AppOwner, AppURL string
	AppKeyFile                               string

	// Dir is a folder with a file for each credential there is, called as the
	// keys of a Secret that Flux takes for a GitRepository: it is how such a
	// Secret looks once it is mounted. What the other fields name comes first.
	Dir string

	// Personal says that, where the other fields name nothing, a repository is shown what
	// Git would show on this computer. It is for commands that a person runs.
	Personal bool
}

// The names of files in Files.Dir. Flux keeps the passphrase of a key
// under password; identity.password says the same and leaves no doubt.
// Source: Flux, GitRepository, spec.secretRef.
const (
	usernameKey     = "username"
	passwordKey     = "password"
	bearerTokenKey  = "bearerToken"
	tokenKey        = "token"
	identityKey     = "identity"
	passphraseKey   = "identity.password"
	knownHostsKey   = "known_hosts"
	certAuthorities = "ca.crt"
	clientCert      = "tls.crt"
	clientKey       = "tls.key"
	appID           = "githubAppID"
	appInstallation = "githubAppInstallationID"
	appOwner        = "githubAppInstallationOwner"
	appKey          = "githubAppPrivateKey"
	appURL          = "githubAppBaseURL"
	proxyKey        = "proxy" // the URL; Flux has a Secret of its own for it
	dockerConfigKey = ".dockerconfigjson"
)

// Git sets the credentials of o to what the files hold now.
func (c Files) Git(o *git.Options) error {
	if c == (Files{Personal: true}) {
		o.Auth, o.CABundle, o.KnownHosts, o.Proxy, o.Address = git.Auth{}, nil, nil, fleet.Secret{}, ""
		return git.Personal(o)
	}
	o.Auth, o.CABundle, o.KnownHosts, o.Proxy = git.Auth{}, nil, nil, fleet.NewSecret([]byte(c.Proxy))
	if c.Dir != "" {
		if err := c.fromDir(); err != nil {
			return err
		}
	}
	if c.DockerConfigFile != "" {
		return fmt.Errorf("the credentials in %s are for a registry, and not for Git", c.DockerConfigFile)
	}
	o.Auth.Username = c.Username
	o.Auth.App = git.App{ID: c.AppID, Installation: c.AppInstallation, Owner: c.AppOwner, API: c.AppURL}
	for _, f := range []struct {
		name string
		to   func([]byte)
	}{
		{c.TokenFile, func(b []byte) { o.Auth.Token = line(b) }},
		{c.BearerFile, func(b []byte) { o.Auth.Bearer = line(b) }},
		{c.CertFile, func(b []byte) { o.Auth.Certificate = b }},
		{c.CertKeyFile, func(b []byte) { o.Auth.CertificateKey = fleet.NewSecret(b) }},
		{c.ProxyFile, func(b []byte) { o.Proxy = line(b) }},
		{c.AppKeyFile, func(b []byte) { o.Auth.App.Key = fleet.NewSecret(b) }},
		{c.PasswordFile, func(b []byte) { o.Auth.Password = line(b) }},
		{c.SSHKeyFile, func(b []byte) { o.Auth.Key = fleet.NewSecret(b) }},
		{c.PassphraseFile, func(b []byte) { o.Auth.Passphrase = line(b) }},
		{c.KnownHostsFile, func(b []byte) { o.KnownHosts = b }},
		{c.CAFile, func(b []byte) { o.CABundle = b }},
	} {
		if f.name == "" {
			continue
		}
		b, err := os.ReadFile(f.name)
		if err != nil {
			return fmt.Errorf("cannot read a credential: %w", err)
		}
		f.to(b)
	}
	return nil
}

// fromDir names the files of the folder in the fields that name none.
func (c *Files) fromDir() error {
	found := 0
	file := func(keys ...string) string {
		for _, key := range keys {
			path := filepath.Join(c.Dir, key)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				found++
				return path
			}
		}
		return ""
	}
	if _, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("cannot read the credentials: %w", err)
	}
	password := file(passwordKey)
	or(&c.SSHKeyFile, file(identityKey))
	or(&c.PassphraseFile, file(passphraseKey))
	if c.SSHKeyFile != "" {
		or(&c.PassphraseFile, password)
	} else {
		or(&c.PasswordFile, password)
	}
	or(&c.TokenFile, file(tokenKey))
	if bearer := file(bearerTokenKey); c.TokenFile == "" {
		or(&c.BearerFile, bearer)
	}
	or(&c.CertFile, file(clientCert))
	or(&c.CertKeyFile, file(clientKey))
	if proxy := file(proxyKey); c.Proxy == "" {
		or(&c.ProxyFile, proxy)
	}
	or(&c.DockerConfigFile, file(dockerConfigKey))
	or(&c.KnownHostsFile, file(knownHostsKey))
	or(&c.CAFile, file(certAuthorities))
	or(&c.AppKeyFile, file(appKey))
	for _, w := range []struct {
		to   *string
		name string
	}{
		{&c.Username, file(usernameKey)},
		{&c.AppID, file(appID)},
		{&c.AppInstallation, file(appInstallation)},
		{&c.AppOwner, file(appOwner)},
		{&c.AppURL, file(appURL)},
	} {
		if w.name == "" || *w.to != "" {
			continue
		}
		b, err := os.ReadFile(w.name)
		if err != nil {
			return fmt.Errorf("cannot read a credential: %w", err)
		}
		*w.to = strings.TrimSpace(string(b))
	}
	if found == 0 {
		return fmt.Errorf("the folder %s holds no credential: name its files %s", c.Dir, strings.Join([]string{
			usernameKey, passwordKey, bearerTokenKey, tokenKey, identityKey, passphraseKey, knownHostsKey, certAuthorities, clientCert, clientKey, proxyKey, dockerConfigKey,
			appID, appInstallation, appOwner, appKey, appURL,
		}, ", "))
	}
	return nil
}

// or sets what is empty.
func or(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

// line returns a secret that a file holds on a line.
func line(b []byte) fleet.Secret { return fleet.NewSecret([]byte(strings.TrimSpace(string(b)))) }

// List returns path, or where it is a folder the files in it, but for those
// that Kubernetes hides there (their names begin with a dot).
func List(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		if info, other := os.Stat(path); other == nil && !info.IsDir() {
			return []string{path}, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return []string{path}, nil // who reads it says what is missing
		}
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the folder %s is empty", path)
	}
	return names, nil
}
