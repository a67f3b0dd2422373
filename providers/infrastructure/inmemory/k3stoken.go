package inmemory

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A joinToken is what a machine shows to the cluster that it joins.
type joinToken struct {
	hash     string // of the authority that the machine trusts; empty: whichever it meets
	password string // empty: it is a bootstrap token
	id       string // of a bootstrap token
	secret   string
}

// parseToken reads a token in one of its forms: "K10<hash>::<user>:<password>",
// "K10<hash>::<id>.<secret>", a password alone or a bootstrap token alone.
// Source: k3s, pkg/clientaccess/token.go.
func parseToken(text string) (joinToken, error) {
	var t joinToken
	rest, full := strings.CutPrefix(text, "K10")
	if !full {
		if tokenForm.MatchString(text) {
			t.id, t.secret, _ = strings.Cut(text, ".")
			return t, nil
		}
		t.password = text
		return t, nil
	}
	if hash, credentials, ok := strings.Cut(rest, "::"); ok {
		if hash != "" && len(hash) != hex.EncodedLen(sha256.Size) {
			return t, errors.New("invalid token CA hash length")
		}
		t.hash, rest = hash, credentials
	}
	if tokenForm.MatchString(rest) {
		t.id, t.secret, _ = strings.Cut(rest, ".")
		return t, nil
	}
	var ok bool
	if _, t.password, ok = strings.Cut(rest, ":"); !ok || t.password == "" {
		return t, errors.New("invalid token format")
	}
	return t, nil
}

// check reports whether the token is for a cluster with these CA certificates, PEM.
func (t joinToken) check(authorities []byte) error {
	if got := authorityHash(authorities); t.hash != "" && t.hash != got {
		return fmt.Errorf("token CA hash does not match the Cluster CA certificate hash: %s != %s", t.hash, got)
	}
	return nil
}

// authorityHash returns the hash in tokens of a file with CA certificates: of its bytes where
// that is one certificate, and of the certificate of the root where it is a chain.
func authorityHash(file []byte) string {
	var certs []*x509.Certificate
	for rest := file; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, c)
		}
	}
	if len(certs) > 1 {
		o := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool()}
		for _, c := range certs[1:] {
			if len(c.AuthorityKeyId) == 0 || bytes.Equal(c.AuthorityKeyId, c.SubjectKeyId) {
				o.Roots.AddCert(c)
			} else {
				o.Intermediates.AddCert(c)
			}
		}
		if chains, err := certs[0].Verify(o); err == nil {
			file = chains[0][len(chains[0])-1].Raw
		}
	}
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// The roles that a supervisor knows.
type supervisorRole string

const (
	serverRole supervisorRole = "server"
	agentRole  supervisorRole = "agent"
)

// role returns what a client that shows t as a user may be; empty: the cluster does not
// know it. Those with a bootstrap token are agents.
func (k *cluster) role(t joinToken, user supervisorRole) supervisorRole {
	switch {
	case t.id != "":
		if k.knowsBootstrapToken(t) {
			return agentRole
		}
	case t.password == "":
	case user == serverRole && t.password == k.token, user == agentRole && (t.password == k.token || t.password == k.agentToken):
		return user
	}
	return ""
}

// knowsBootstrapToken reports whether the API server would let in a client that shows t.
// Source: Kubernetes, plugin/pkg/auth/authenticator/token/bootstrap.
func (k *cluster) knowsBootstrapToken(t joinToken) bool {
	u, ok := k.api.Get(corev1.SchemeGroupVersion.WithKind("Secret"), system, "bootstrap-token-"+t.id)
	if !ok {
		return false
	}
	var s corev1.Secret
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
		return false
	}
	if text := string(s.Data["expiration"]); text != "" {
		if expires, err := time.Parse(time.RFC3339, text); err != nil || !time.Now().Before(expires) {
			return false
		}
	}
	foreign := func(group string) bool { return !strings.HasPrefix(group, "system:bootstrappers:") }
	return string(s.Type) == "bootstrap.kubernetes.io/token" && string(s.Data["token-id"]) == t.id &&
		string(s.Data["token-secret"]) == t.secret && string(s.Data["usage-bootstrap-authentication"]) == "true" &&
		!slices.ContainsFunc(split(string(s.Data["auth-extra-groups"])), foreign)
}
