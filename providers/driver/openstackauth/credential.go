package openstackauth

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// The keys of a Secret that holds a credential.
// Source: OpenStack provider of Cluster API, identityRef.
const (
	CloudsYAMLKey = "clouds.yaml"
	CACertKey     = "cacert"
	certKey       = "cert" // of a client, with key
	keyKey        = "key"
)

// A Credential says which project to work in, and with which account.
type Credential struct {
	Secret fleet.SecretData // with clouds.yaml and, for a private authority, cacert
	Cloud  string           // entry of clouds.yaml
	Region string           // instead of the one in clouds.yaml, if not empty
	From   string           // where Secret was found, for messages: "Secret prod/cloud-config"
}

// Digest is equal for credentials that make the same session.
func (c Credential) Digest() string {
	h := sha256.New()
	for _, k := range []string{CloudsYAMLKey, CACertKey, certKey, keyKey} {
		data := c.Secret[k].Reveal()
		_, _ = fmt.Fprintf(h, "%d\x00", len(data))
		_, _ = h.Write(data)
	}
	_, _ = fmt.Fprintf(h, "%s\x00%s", c.Cloud, c.Region)
	return hex.EncodeToString(h.Sum(nil))
}

// login is what a Credential says.
type login struct {
	auth     gophercloud.AuthOptions
	endpoint gophercloud.EndpointOpts
	tls      *tls.Config
}

// parse reads c. Nothing of the environment or the file system of the agent
// gets into it. The error quotes no content.
func (c Credential) parse() (login, error) {
	fail := func(format string, args ...any) (login, error) {
		return login{}, fleet.Errorf(fleet.Unauthorized, "read the credential in "+c.From, format, args...)
	}
	content := c.Secret[CloudsYAMLKey].Reveal()
	if len(content) == 0 {
		return fail("it has no key %s (put the file in under that name)", CloudsYAMLKey)
	}
	var file clouds.Clouds
	if err := documents.Unmarshal(content, &file, documents.DefaultLimits()); err != nil {
		return fail("%s is not YAML of the form clouds: NAME: auth: …", CloudsYAMLKey)
	}
	entry, ok := file.Clouds[c.Cloud]
	switch {
	case !ok:
		return fail("%s has no cloud %q; it has %q (correct identityRef.cloudName)", CloudsYAMLKey, c.Cloud, slices.Sorted(maps.Keys(file.Clouds)))
	case entry.AuthInfo == nil || entry.AuthInfo.AuthURL == "":
		return fail("cloud %q of %s has no auth.auth_url (write it out: profiles of vendors are not known)", c.Cloud, CloudsYAMLKey)
	}
	conf, err := c.tls(entry)
	if err != nil {
		return fail("%w", err)
	}
	entry.CACertFile, entry.ClientCertFile, entry.ClientKeyFile, entry.Profile, entry.Cloud = "", "", "", "", ""
	plain, err := json.Marshal(clouds.Clouds{Clouds: map[string]clouds.Cloud{c.Cloud: entry}})
	if err != nil {
		return fail("cloud %q of %s cannot be read", c.Cloud, CloudsYAMLKey)
	}
	auth, endpoint, _, err := clouds.Parse(
		clouds.WithCloudsYAML(bytes.NewReader(plain)), clouds.WithSecureYAML(strings.NewReader("{}")),
		clouds.WithCloudName(c.Cloud), clouds.WithRegion(c.Region), clouds.WithEndpointType(""),
		clouds.WithInsecure(conf.InsecureSkipVerify))
	if err != nil {
		return fail("cloud %q of %s: %w", c.Cloud, CloudsYAMLKey, err)
	}
	// A token alone cannot be renewed.
	auth.AllowReauth = auth.TokenID == ""
	return login{auth: auth, endpoint: endpoint, tls: conf}, nil
}

func (c Credential) tls(entry clouds.Cloud) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if entry.Verify != nil && !*entry.Verify {
		conf.InsecureSkipVerify = true
	}
	switch ca := bytes.TrimSpace(c.Secret[CACertKey].Reveal()); {
	case len(ca) > 0:
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", CACertKey)
		}
	case entry.CACertFile != "":
		return nil, fmt.Errorf("%s names the file %s (put its content into the Secret as %s)", CloudsYAMLKey, entry.CACertFile, CACertKey)
	}
	cert, key := c.Secret[certKey].Reveal(), c.Secret[keyKey].Reveal()
	switch {
	case len(cert) > 0 && len(key) > 0:
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, errors.New("cert and key of the client do not make a pair")
		}
		conf.Certificates = []tls.Certificate{pair}
	case len(cert)+len(key) > 0 || entry.ClientCertFile+entry.ClientKeyFile != "":
		return nil, errors.New("a client certificate needs cert and key in the Secret, with the content of the files")
	}
	return conf, nil
}
