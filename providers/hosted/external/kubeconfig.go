package external

import (
	"encoding/json"
	"errors"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// The part of a kubeconfig that is used, and what of it is refused.
type (
	kubeconfig struct {
		APIVersion     string         `json:"apiVersion"`
		Kind           string         `json:"kind"`
		Clusters       []namedCluster `json:"clusters"`
		Users          []namedUser    `json:"users"`
		Contexts       []namedContext `json:"contexts"`
		CurrentContext string         `json:"current-context"`
	}
	namedCluster struct {
		Name    string       `json:"name"`
		Cluster clusterEntry `json:"cluster"`
	}
	namedUser struct {
		Name string    `json:"name"`
		User userEntry `json:"user"`
	}
	namedContext struct {
		Name    string       `json:"name"`
		Context contextEntry `json:"context"`
	}
	clusterEntry struct {
		Server                   string `json:"server"`
		TLSServerName            string `json:"tls-server-name,omitempty"`
		ProxyURL                 string `json:"proxy-url,omitempty"`
		CertificateAuthorityData []byte `json:"certificate-authority-data,omitempty"`

		CertificateAuthority  string `json:"certificate-authority,omitempty"`
		InsecureSkipTLSVerify bool   `json:"insecure-skip-tls-verify,omitempty"`
	}
	userEntry struct {
		ClientCertificateData []byte `json:"client-certificate-data,omitempty"`
		ClientKeyData         []byte `json:"client-key-data,omitempty"`
		Token                 string `json:"token,omitempty"`
		Username              string `json:"username,omitempty"`
		Password              string `json:"password,omitempty"`

		ClientCertificate string          `json:"client-certificate,omitempty"`
		ClientKey         string          `json:"client-key,omitempty"`
		TokenFile         string          `json:"tokenFile,omitempty"`
		Exec              json.RawMessage `json:"exec,omitempty"`
		AuthProvider      json.RawMessage `json:"auth-provider,omitempty"`
	}
	contextEntry struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	}
)

// plain returns the current context of a kubeconfig alone, and the authority in it. It
// comes from somebody else: what it says of files and programs would be read and run where
// the agent is, so that such a one is refused.
func plain(data fleet.Secret) (fleet.Secret, []byte, error) {
	none := fleet.Secret{}
	var in kubeconfig
	if err := documents.Unmarshal(data.Reveal(), &in, documents.DefaultLimits()); err != nil {
		return none, nil, errors.New("it is no kubeconfig in YAML")
	}
	cluster, user, ok := in.current()
	switch {
	case !ok:
		return none, nil, errors.New("its current context, or the cluster or user of that, is not in it")
	case len(user.Exec)+len(user.AuthProvider) > 0:
		return none, nil, errors.New("it has a program run for credentials (exec, auth-provider), which the agent does not: give it a client certificate or a token")
	case cluster.CertificateAuthority != "" || user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "":
		return none, nil, errors.New("it names files, which the agent does not have: put their content into it (kubectl config view --flatten)")
	case cluster.InsecureSkipTLSVerify:
		return none, nil, errors.New("it trusts anybody (insecure-skip-tls-verify)")
	}
	const name = "external"
	out, err := json.Marshal(kubeconfig{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters: []namedCluster{{name, cluster}}, Users: []namedUser{{name, user}}, Contexts: []namedContext{{name, contextEntry{name, name}}},
	})
	if err != nil {
		return none, nil, errors.New("it cannot be written")
	}
	return fleet.NewSecret(out), cluster.CertificateAuthorityData, nil
}

// current returns the cluster and the user of the current context.
func (k *kubeconfig) current() (c clusterEntry, u userEntry, ok bool) {
	for _, context := range k.Contexts {
		if context.Name != k.CurrentContext {
			continue
		}
		for _, cluster := range k.Clusters {
			for _, user := range k.Users {
				if cluster.Name == context.Context.Cluster && user.Name == context.Context.User {
					return cluster.Cluster, user.User, true
				}
			}
		}
	}
	return c, u, false
}
