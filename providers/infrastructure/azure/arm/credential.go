package arm

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/pkcs12" // frozen, and what the SDK of Azure reads these files with
)

// A Credential is a principal, how it proves who it is, and the subscription that is asked with it. One of Password,
// Certificate, TokenFile and Machine is set.
type Credential struct {
	Manager, Login string // hosts
	Tenant, ID     string
	Subscription   string

	Password    string
	Certificate string // with its private key, as PEM or PKCS #12 without a password
	Chain       bool   // the issuer of Certificate is trusted, so that it is sent with its chain
	TokenFile   string // holds a token of another issuer, which renews it
	Machine     bool   // the agent's machine is asked for a token of its managed identity
}

// Account tells principals apart.
func (c Credential) Account() string {
	return c.Login + "/" + c.Tenant + "/" + c.ID + "/" + c.Subscription
}

// what names the credential in errors, and correct is what to do if it is refused.
func (c Credential) what() (what, correct string) {
	const ids = "correct tenantID and clientID of the AzureClusterIdentity, and "
	switch {
	case c.Machine:
		return "the managed identity of the agent's machine", "correct clientID of the AzureClusterIdentity, and give the identity to the machine of the agent"
	case c.TokenFile != "":
		return "the workload identity", ids + "the federated credential of the application"
	case c.Certificate != "":
		return "the service principal", ids + "its certificate"
	}
	return "the service principal", ids + "the password in its Secret"
}

// metadata is where a VM is asked for tokens.
// Source: Azure, "How to use managed identities for Azure resources on an Azure VM to acquire an access token".
const metadata = "http://169.254.169.254/metadata/identity/oauth2/token"

// request returns the request for a token, and a digest of what proves who asks.
func (c Credential) request(ctx context.Context, now time.Time) (q *http.Request, digest string, err error) {
	if c.Machine {
		in := url.Values{"api-version": {"2018-02-01"}, "resource": {"https://" + c.Manager + "/"}, "client_id": {c.ID}}
		if q, err = http.NewRequestWithContext(ctx, http.MethodGet, metadata+"?"+in.Encode(), nil); err == nil {
			q.Header.Set("Metadata", "true")
		}
		return q, digestOf(c.ID), err
	}
	at := url.URL{Scheme: "https", Host: c.Login, Path: "/" + c.Tenant + "/oauth2/v2.0/token"}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.ID}, "scope": {"https://" + c.Manager + "/.default"}}
	proof, assertion := c.Password, ""
	switch {
	case c.Certificate != "":
		proof = c.Certificate
		assertion, err = c.assertion(at.String(), now)
	case c.TokenFile != "":
		var data []byte
		data, err = os.ReadFile(c.TokenFile)
		assertion = strings.TrimSpace(string(data))
		proof = assertion
	}
	if err != nil {
		return nil, "", err
	}
	if assertion != "" {
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	} else {
		form.Set("client_secret", c.Password)
	}
	if q, err = http.NewRequestWithContext(ctx, http.MethodPost, at.String(), strings.NewReader(form.Encode())); err == nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return q, digestOf(proof), err
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// assertionLives is how long an assertion is good.
const assertionLives = 10 * time.Minute

// assertion returns a JWT for audience that the key of the certificate signs.
// Source: Microsoft identity platform, "Application authentication certificate credentials".
func (c Credential) assertion(audience string, now time.Time) (string, error) {
	chain, key, err := parseCertificate([]byte(c.Certificate))
	if err != nil {
		return "", err
	}
	thumb := sha256.Sum256(chain[0].Raw)
	header := map[string]any{"alg": "PS256", "typ": "JWT", "x5t#S256": base64.RawURLEncoding.EncodeToString(thumb[:])}
	if c.Chain {
		var all []string
		for _, cert := range chain {
			all = append(all, base64.StdEncoding.EncodeToString(cert.Raw))
		}
		header["x5c"] = all
	}
	claims := map[string]any{
		"aud": audience, "iss": c.ID, "sub": c.ID, "jti": rand.Text(), "nbf": now.Unix(), "iat": now.Unix(), "exp": now.Add(assertionLives).Unix(),
	}
	var parts []string
	for _, part := range []any{header, claims} {
		data, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		parts = append(parts, base64.RawURLEncoding.EncodeToString(data))
	}
	text := strings.Join(parts, ".")
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

// CheckCertificate says what is wrong with a certificate with its private key.
func CheckCertificate(data []byte) error {
	_, _, err := parseCertificate(data)
	return err
}

// parseCertificate reads a certificate, those that follow it and its private key. The certificate of the key is first.
func parseCertificate(data []byte) (chain []*x509.Certificate, key *rsa.PrivateKey, err error) {
	var blocks []*pem.Block
	for rest := data; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		if blocks, err = pkcs12.ToPEM(data, ""); err != nil {
			return nil, nil, fmt.Errorf("it is neither PEM nor PKCS #12 without a password: %w", err)
		}
	}
	for _, b := range blocks {
		if strings.HasSuffix(b.Type, "PRIVATE KEY") {
			if key, err = parseKey(b.Bytes); err != nil {
				return nil, nil, err
			}
			continue
		}
		if b.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, nil, err
		}
		chain = append(chain, cert)
	}
	if key == nil {
		return nil, nil, errors.New("it has no private key (append the private key to the certificate)")
	}
	for i, cert := range chain {
		if key.PublicKey.Equal(cert.PublicKey) {
			chain[0], chain[i] = chain[i], chain[0]
			return chain, key, nil
		}
	}
	return nil, nil, errors.New("it has no certificate of its private key")
}

// parseKey reads an RSA key: Microsoft Entra ID takes no others.
func parseKey(der []byte) (*rsa.PrivateKey, error) {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	any_, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("its private key cannot be read (it must be an RSA key that is not encrypted): %w", err)
	}
	key, ok := any_.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("its private key is a %T: Microsoft Entra ID takes RSA keys alone", any_)
	}
	return key, nil
}
