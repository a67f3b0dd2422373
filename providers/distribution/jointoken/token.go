package jointoken

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/pki"
	"fairlead.dev/providers/workload"
)

const (
	secretsPath     = "/api/v1/namespaces/kube-system/secrets"
	clusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/" + bootstrapapi.ConfigMapClusterInfo
)

// A Token is a bootstrap token, "id.secret".
type Token struct {
	ID     string // 6 characters of [a-z0-9]
	Secret fleet.Secret
}

const (
	idLength     = 6
	secretLength = 16
	alphabet     = "abcdefghijklmnopqrstuvwxyz0123456789"
)

// Of returns the token of the machine m of cluster c, which is derived from the private
// key of an authority of the cluster's. So there is no state to lose, a repeated create is
// the same request, and nothing is given away: who holds that key can issue any
// certificate of the cluster.
func Of(authority *pki.CA, c fleet.Key, m fleet.MachineName) (Token, error) {
	stream, err := authority.Derive(128, "bootstrap token", c.String(), string(m))
	if err != nil {
		return Token{}, err
	}
	return From(stream)
}

// From returns the token of a stream of random bytes that is long enough: 128 are.
func From(stream []byte) (Token, error) {
	// Bytes from 252 up are left out: 252 is the largest multiple of 36 that
	// fits, and the rest would make some characters likelier than others.
	chars := make([]byte, 0, idLength+secretLength)
	for _, b := range stream {
		if int(b) < 256/len(alphabet)*len(alphabet) && len(chars) < cap(chars) {
			chars = append(chars, alphabet[int(b)%len(alphabet)])
		}
	}
	if len(chars) < cap(chars) {
		return Token{}, errors.New("too few characters derived")
	}
	return Token{ID: string(chars[:idLength]), Secret: fleet.NewSecret(chars[idLength:])}, nil
}

// Ensure stores t as a bootstrap token that is good for ttl from now and lets its bearer
// be of groups, or makes an existing one last that long. It is the API server that says
// when ttl is over, by its own clock.
func Ensure(ctx context.Context, n *workload.Conn, t Token, groups string, ttl time.Duration) error {
	ahead, err := tellTime(ctx, n)
	if err != nil {
		return err
	}
	want := n.Now().Add(ahead + ttl).UTC().Truncate(time.Second)
	s := newSecret(t, groups, want)
	at := secretsPath + "/" + s.Name
	err = n.Create(ctx, secretsPath, s)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var old corev1.Secret
	if err := n.Get(ctx, at, &old); err != nil {
		return err
	}
	if !expiration(&old).Before(want) && sameToken(&old, s) {
		return nil
	}
	if expiration(&old).After(want) {
		s.Data[bootstrapapi.BootstrapTokenExpirationKey] = old.Data[bootstrapapi.BootstrapTokenExpirationKey]
	}
	return n.MergePatch(ctx, at, map[string]any{"data": s.Data})
}

// tellTime returns how far the clock of the API server is ahead. It has the API server
// answer once, where it did not on this connection: its answer tells its clock.
func tellTime(ctx context.Context, n *workload.Conn) (time.Duration, error) {
	if ahead, known := n.Ahead(); known {
		return ahead, nil
	}
	err := n.Get(ctx, clusterInfoPath, &corev1.ConfigMap{})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	ahead, _ := n.Ahead()
	return ahead, err
}

func newSecret(t Token, groups string, expires time.Time) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem,
			Name:      bootstraputil.BootstrapTokenSecretName(t.ID),
		},
		Type: bootstrapapi.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               []byte(t.ID),
			bootstrapapi.BootstrapTokenSecretKey:           t.Secret.Reveal(),
			bootstrapapi.BootstrapTokenExpirationKey:       []byte(expires.Format(time.RFC3339)),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenUsageSigningKey:     []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(groups),
			bootstrapapi.BootstrapTokenDescriptionKey:      []byte("Lets a machine of Fairlead join."),
		},
	}
}

// never is when a token without expiration expires.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot write as one

// expiration returns when a token expires; one that cannot be read already has,
// as Kubernetes has it.
func expiration(s *corev1.Secret) time.Time {
	text, ok := s.Data[bootstrapapi.BootstrapTokenExpirationKey]
	if !ok {
		return never
	}
	t, _ := time.Parse(time.RFC3339, string(text))
	return t
}

// sameToken reports whether two secrets differ in their expiration at most.
func sameToken(a, b *corev1.Secret) bool {
	for key, v := range b.Data {
		if key != bootstrapapi.BootstrapTokenExpirationKey && string(a.Data[key]) != string(v) {
			return false
		}
	}
	return true
}
