package credentials

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/oci"
)

// Registry sets the credentials of o to what the files hold now, for the registry at
// host.
func (c Files) Registry(host string, o *oci.Options) error {
	c.Personal = false // what Git knows of a person is for repositories
	if c.Dir != "" {
		if err := c.fromDir(); err != nil {
			return err
		}
		c.Dir = ""
	}
	docker := c.DockerConfigFile
	c.DockerConfigFile = ""
	var g git.Options
	if err := c.Git(&g); err != nil {
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

// Secret returns the credentials under the keys of Files.Dir; nothing
// where there are none.
func (c Files) Secret() (fleet.SecretData, error) {
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
