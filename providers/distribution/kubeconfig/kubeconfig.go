package kubeconfig

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers/distribution/pki"
)

// The part of a kubeconfig that is written and read here. A Config has one cluster and one
// user where it is written here.
type (
	Config struct {
		APIVersion     string         `json:"apiVersion"`
		Kind           string         `json:"kind"`
		Clusters       []namedCluster `json:"clusters"`
		Contexts       []namedContext `json:"contexts"`
		CurrentContext string         `json:"current-context"`
		Users          []namedUser    `json:"users"`
	}
	namedCluster struct {
		Name    string  `json:"name"`
		Cluster Cluster `json:"cluster"`
	}
	Cluster struct {
		Server                   string `json:"server"`
		TLSServerName            string `json:"tls-server-name,omitempty"`
		InsecureSkipTLSVerify    bool   `json:"insecure-skip-tls-verify,omitempty"`
		CertificateAuthorityData []byte `json:"certificate-authority-data,omitempty"`
		ProxyURL                 string `json:"proxy-url,omitempty"`
	}
	namedContext struct {
		Name    string        `json:"name"`
		Context userInCluster `json:"context"`
	}
	userInCluster struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	}
	namedUser struct {
		Name string `json:"name"`
		User User   `json:"user"`
	}
	User struct {
		ClientCertificateData []byte        `json:"client-certificate-data,omitempty"`
		ClientKeyData         []byte        `json:"client-key-data,omitempty"`
		AuthProvider          *AuthProvider `json:"auth-provider,omitempty"`
		Exec                  *Exec         `json:"exec,omitempty"`
	}
	AuthProvider struct {
		Name   string            `json:"name"`
		Config map[string]string `json:"config,omitempty"`
	}
	Exec struct {
		APIVersion         string                              `json:"apiVersion"`
		Command            string                              `json:"command"`
		Args               []string                            `json:"args,omitempty"`
		Env                []bootstrapv1.KubeConfigAuthExecEnv `json:"env,omitempty"`
		ProvideClusterInfo bool                                `json:"provideClusterInfo,omitempty"`
		InteractiveMode    string                              `json:"interactiveMode"`
	}
)

// New returns a kubeconfig of one cluster and one user.
func New(cluster, user, context string, c Cluster, u User) Config {
	return Config{
		APIVersion:     "v1",
		Kind:           "Config",
		Clusters:       []namedCluster{{Name: cluster, Cluster: c}},
		Contexts:       []namedContext{{Name: context, Context: userInCluster{Cluster: cluster, User: user}}},
		CurrentContext: context,
		Users:          []namedUser{{Name: user, User: u}},
	}
}

// Issue returns a kubeconfig of the administrator of c: API servers show what trusted, a
// bundle in PEM form, has signed, and signer signs what the administrator shows. It is good
// for a year, and its names are those that Cluster API gives. Equal arguments give equal
// bytes.
func Issue(c *fleet.Cluster, e fleet.Endpoint, trusted []byte, signer *pki.CA, now time.Time) (fleet.SecretData, error) {
	op := "issue the kubeconfig of cluster " + c.Key.String()
	if e.IsZero() {
		return nil, fleet.Errorf(fleet.Unknown, op, "the endpoint is not known yet")
	}
	cert, key, err := signer.NewClient(pki.Client{
		CommonName:   "kubernetes-admin",
		Organization: "system:masters",
		Purpose:      c.Key.String(),
	}, now, validity)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	user := c.Key.Name + "-admin"
	data, err := yaml.Marshal(New(c.Key.Name, user, user+"@"+c.Key.Name,
		Cluster{Server: "https://" + HostPort(e), CertificateAuthorityData: trusted},
		User{ClientCertificateData: cert, ClientKeyData: key}))
	if err != nil {
		return nil, fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	return fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret(data)}, nil
}

const validity = 365 * 24 * time.Hour

// Inspect describes a kubeconfig. It follows the current
// context, as kubectl does. A kubeconfig without content does not exist; one
// that cannot be read is an error, whose text holds nothing of it.
func Inspect(s fleet.SecretData) (fleet.KubeconfigState, error) {
	data := s[fleet.KubeconfigKey]
	if data.IsZero() {
		return fleet.KubeconfigState{}, nil
	}
	state, err := inspect(data)
	if err != nil {
		return fleet.KubeconfigState{}, fleet.Errorf(fleet.Unknown, "read a kubeconfig", "%w", err)
	}
	return state, nil
}

func inspect(data fleet.Secret) (fleet.KubeconfigState, error) {
	var none fleet.KubeconfigState
	var k Config
	if err := documents.Unmarshal(data.Reveal(), &k, documents.DefaultLimits()); err != nil {
		return none, errors.New("it is not a kubeconfig in YAML")
	}
	context, ok := find(k.Contexts, k.CurrentContext, func(c namedContext) string { return c.Name })
	if !ok {
		return none, errors.New("its current context is not in it")
	}
	cluster, ok := find(k.Clusters, context.Context.Cluster, func(c namedCluster) string { return c.Name })
	if !ok {
		return none, errors.New("the cluster of its current context is not in it")
	}
	user, ok := find(k.Users, context.Context.User, func(u namedUser) string { return u.Name })
	if !ok {
		return none, errors.New("the user of its current context is not in it")
	}
	endpoint, err := parseServer(cluster.Cluster.Server)
	if err != nil {
		return none, err
	}
	certs, err := pki.Certificates(user.User.ClientCertificateData)
	if err != nil {
		return none, errors.New("its user has no client certificate that can be read")
	}
	return fleet.KubeconfigState{
		Exists:    true,
		Endpoint:  endpoint,
		NotBefore: certs[0].NotBefore,
		NotAfter:  certs[0].NotAfter,
		Trust:     fleet.TrustChecksum(cluster.Cluster.CertificateAuthorityData),
	}, nil
}

func find[T any](in []T, name string, nameOf func(T) string) (T, bool) {
	for _, t := range in {
		if nameOf(t) == name {
			return t, true
		}
	}
	var zero T
	return zero, false
}

// parseServer reads the endpoint of a URL; without a port it is that of https.
func parseServer(server string) (fleet.Endpoint, error) {
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return fleet.Endpoint{}, errors.New("the server of its cluster is not a URL")
	}
	if u.Port() == "" {
		return fleet.Endpoint{Host: u.Hostname(), Port: 443}, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return fleet.Endpoint{}, fmt.Errorf("the server of its cluster has the port %q", u.Port())
	}
	return fleet.Endpoint{Host: u.Hostname(), Port: int32(port)}, nil
}

// HostPort returns "host:port", with brackets around an IPv6 address.
func HostPort(e fleet.Endpoint) string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}
