package fleet

import (
	"bytes"
	"log/slog"
	"maps"
	"slices"
)

const redacted = "REDACTED"

// A Secret is a value that must not be seen. It hides itself from fmt, slog,
// JSON and YAML; only Reveal shows it.
type Secret struct{ data []byte }

// NewSecret returns a secret of data, which the caller must not change.
func NewSecret(data []byte) Secret { return Secret{data} }

// Reveal returns the content. Calls to it are few and easy to find.
func (s Secret) Reveal() []byte { return s.data }

// IsZero reports whether there is no content.
func (s Secret) IsZero() bool { return len(s.data) == 0 }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return redacted }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler, which JSON and YAML use.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// SecretData is the content of one Kubernetes Secret: key to value.
type SecretData map[string]Secret

// NewSecretData returns values, which the caller must not change, as secrets.
func NewSecretData(values map[string][]byte) SecretData {
	out := make(SecretData, len(values))
	for key, value := range values {
		out[key] = NewSecret(value)
	}
	return out
}

// Reveal returns the content, which is never nil. See Secret.Reveal.
func (d SecretData) Reveal() map[string][]byte {
	out := make(map[string][]byte, len(d))
	for key, value := range d {
		out[key] = value.Reveal()
	}
	return out
}

// Equal reports whether d and o have the same content.
func (d SecretData) Equal(o SecretData) bool {
	return maps.EqualFunc(d, o, func(a, b Secret) bool { return bytes.Equal(a.data, b.data) })
}

// A SecretName says what a secret of a cluster is for. The Kubernetes Secret of
// purpose p is called "<cluster>-<p>", as Cluster API calls it.
type SecretName string

// The secrets that a cluster may have. CA certificates have the keys tls.crt and
// tls.key, the kubeconfig and the server token have the key value.
// Source: Cluster API, util/secret; its providers for K3s and RKE2, pkg/secret and pkg/token.
const (
	ClusterCA      SecretName = "ca"
	EtcdCA         SecretName = "etcd"
	FrontProxyCA   SecretName = "proxy"
	ServiceAccount SecretName = "sa"
	Kubeconfig     SecretName = "kubeconfig"
	// EtcdClient is what API servers show an external etcd: people give it, and
	// the certificate of EtcdCA with it.
	EtcdClient SecretName = "apiserver-etcd-client"

	// ClientCA is the authority that clients of API servers are known by where that is
	// another than ClusterCA, and EtcdPeerCA the one that members of etcd know each other
	// by where that is another than EtcdCA: with K3s and RKE2.
	ClientCA   SecretName = "cca"
	EtcdPeerCA SecretName = "peer-etcd"
	// ServerToken opens what servers of K3s and RKE2 keep in their datastore, the keys of
	// all CAs among it: a process that has it is a server.
	ServerToken SecretName = "token"

	// BootstrapSeed is what bootstrap tokens are derived from where the cluster's authority
	// is not at hand: see SeedKey.
	BootstrapSeed SecretName = "bootstrap-seed"
)

// Authorities are the secrets that the identity of a cluster of Cluster API's own
// control plane hangs on: made once, before the first machine, and never again.
func Authorities() []SecretName {
	return []SecretName{ClusterCA, EtcdCA, FrontProxyCA, ServiceAccount}
}

// SecretNames are all that a cluster may have: its CA certificates, what people give
// for an external etcd, what K3s and RKE2 need, its kubeconfig, and what bootstrap tokens
// are derived from.
func SecretNames() []SecretName {
	return append(Authorities(), EtcdClient, ClientCA, EtcdPeerCA, ServerToken, Kubeconfig, BootstrapSeed)
}

// InGit returns the secret called name where Git holds it with all its parts.
func (c *Cluster) InGit(name SecretName) (SecretData, bool) {
	d := c.Secrets[c.SecretKey(name).Name]
	return d, name.Complete(d)
}

// SecretKey returns what the Kubernetes Secret is called that has the secret called name.
func (c *Cluster) SecretKey(name SecretName) Key {
	return Key{Namespace: c.Key.Namespace, Name: c.Key.Name + "-" + string(name)}
}

// ExternalEtcd reports whether etcd runs elsewhere than on the control plane of c.
func (c *Cluster) ExternalEtcd() bool {
	return len(c.ControlPlane.Bootstrap.Field("clusterConfiguration", "etcd", "external")) > 0
}

// StoredSecrets returns the Secrets that the objects of c refer to and that Git does not
// hold, sorted: the secret store has them, if anybody has.
func (c *Cluster) StoredSecrets() []Key {
	keys := slices.Clone(c.Infrastructure.Stored)
	for _, o := range c.Companions {
		keys = append(keys, o.Stored...)
	}
	for _, g := range c.Guests {
		keys = append(keys, g.Infrastructure.Stored...)
		for _, o := range g.Companions {
			keys = append(keys, o.Stored...)
		}
	}
	for _, p := range c.Pools() {
		keys = append(keys, p.Infrastructure.Stored...)
	}
	if c.ExternalEtcd() {
		for _, name := range []SecretName{EtcdCA, EtcdClient} {
			if _, ok := c.InGit(name); !ok {
				keys = append(keys, c.SecretKey(name))
			}
		}
	}
	slices.SortFunc(keys, Key.Compare)
	return slices.Compact(keys)
}

// Complete reports whether d has what a secret called s must have.
func (s SecretName) Complete(d SecretData) bool {
	if s == ServerToken {
		return !d[TokenKey].IsZero()
	}
	return !d[TLSCertKey].IsZero() && (s == EtcdCA || !d[TLSKeyKey].IsZero())
}

// The keys in SecretData.
const (
	TLSCertKey    = "tls.crt"
	TLSKeyKey     = "tls.key"
	KubeconfigKey = "value"
	TokenKey      = "value"
	SeedKey       = "seed"
)

// answeredLater is what a Secret holds in a definition that its provider answers when a machine is made.
const answeredLater = "the provider answers this when a machine is made"

// AnsweredLater returns the content of a Secret with these keys that its provider answers: see Kind.Answers.
func AnsweredLater(keys []string) SecretData {
	out := make(SecretData, len(keys))
	for _, k := range keys {
		out[k] = NewSecret([]byte(answeredLater))
	}
	return out
}

// WithAnswers returns c with the Secrets that its provider answered. What Git holds stays.
func (c *Cluster) WithAnswers(answers map[string]SecretData) *Cluster {
	out := *c
	out.Secrets = maps.Clone(c.Secrets)
	for name, data := range answers {
		for _, is := range c.Secrets[name] {
			if string(is.Reveal()) == answeredLater {
				out.Secrets[name] = data
			}
		}
	}
	return &out
}
