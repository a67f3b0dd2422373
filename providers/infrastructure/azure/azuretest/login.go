package azuretest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A trust is what proves beside the password of the service principal who asks for a token.
type trust struct {
	certificate *x509.Certificate
	issuers     []*x509.Certificate // whose certificates are as good, if they are sent
	tokens      []string            // of another issuer
	machine     []string            // client ids of managed identities that the agent's machine has
	busy        int                 // how often the metadata is still being updated
	used        map[string]bool     // ids of assertions
}

// TrustCertificate has the application trust a certificate; nil ends that.
func (c *Cloud) TrustCertificate(cert *x509.Certificate) {
	c.trusting(func(t *trust) { t.certificate = cert })
}

// TrustIssuer has the application trust the certificates that an authority signed.
func (c *Cloud) TrustIssuer(cert *x509.Certificate) {
	c.trusting(func(t *trust) { t.issuers = append(t.issuers, cert) })
}

// TrustToken has the application trust a token of another issuer, and no longer the ones before.
func (c *Cloud) TrustToken(text string) { c.trusting(func(t *trust) { t.tokens = []string{text} }) }

// GiveMachine gives the agent's machine managed identities, whose metadata has none for the next requests.
func (c *Cloud) GiveMachine(busy int, clients ...string) {
	c.trusting(func(t *trust) { t.machine, t.busy = clients, busy })
}

func (c *Cloud) trusting(change func(*trust)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.trust)
	clear(c.tokens)
}

// login answers a request for a token of the application.
func (c *Cloud) login(w http.ResponseWriter, q *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logins++
	_ = q.ParseForm()
	no := func(text string) {
		reply(w, http.StatusUnauthorized, object{"error": "invalid_client", "error_description": text + " Trace ID: 1"})
	}
	if q.Form.Get("client_id") != ClientID || !strings.HasPrefix(q.URL.Path, "/"+Tenant+"/") {
		no("AADSTS7000215: Invalid client secret provided.")
		return
	}
	assertion := q.Form.Get("client_assertion")
	switch {
	case assertion == "" && q.Form.Get("client_secret") != c.secret:
		no("AADSTS7000215: Invalid client secret provided.")
	case assertion == "":
		c.give(w, 3600)
	case q.Form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" || q.Form.Has("client_secret"):
		no("AADSTS50027: JWT token is invalid or malformed.")
	case slices.Contains(c.trust.tokens, assertion):
		c.give(w, 3600)
	default:
		if why := c.asserts(assertion, "https://login.microsoftonline.com"+q.URL.Path); why != "" {
			no(why)
			return
		}
		c.give(w, 3600)
	}
}

// give answers with a new token.
func (c *Cloud) give(w http.ResponseWriter, lives any) {
	c.n++
	text := fmt.Sprint("token-", c.n)
	c.tokens[text] = time.Now().Add(time.Hour)
	reply(w, http.StatusOK, object{"token_type": "Bearer", "expires_in": lives, "access_token": text})
}

// asserts says what is wrong with an assertion that a certificate signs; empty: nothing is.
func (c *Cloud) asserts(assertion, audience string) string {
	var header struct {
		Alg   string
		Thumb string   `json:"x5t#S256"`
		Chain []string `json:"x5c"`
	}
	var claims struct {
		Aud, Iss, Sub, Jti string
		Nbf, Exp           int64
	}
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return "AADSTS50027: JWT token is invalid or malformed."
	}
	var raw [3][]byte
	for i, p := range parts {
		data, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil {
			return "AADSTS50027: JWT token is invalid or malformed."
		}
		raw[i] = data
	}
	if json.Unmarshal(raw[0], &header) != nil || json.Unmarshal(raw[1], &claims) != nil || header.Alg != "PS256" {
		return "AADSTS50027: JWT token is invalid or malformed."
	}
	cert := c.trust.signer(header.Chain)
	if cert == nil {
		return "AADSTS700027: The certificate with identifier used to sign the client assertion is not registered on application."
	}
	thumb, sum := sha256.Sum256(cert.Raw), sha256.Sum256([]byte(parts[0]+"."+parts[1]))
	key, _ := cert.PublicKey.(*rsa.PublicKey)
	now := time.Now().Unix()
	switch {
	case header.Thumb != base64.RawURLEncoding.EncodeToString(thumb[:]), key == nil, rsa.VerifyPSS(key, crypto.SHA256, sum[:], raw[2], nil) != nil:
		return "AADSTS700027: Client assertion failed signature validation."
	case claims.Aud != audience:
		return "AADSTS700023: Client assertion audience claim does not match Realm issuer."
	case claims.Iss != ClientID, claims.Sub != ClientID:
		return "AADSTS700021: Client assertion application identifier doesn't match 'client_id' parameter."
	case claims.Nbf > now, claims.Exp <= now, claims.Exp > now+3600:
		return "AADSTS700024: Client assertion is not within its valid time range."
	case claims.Jti == "" || c.trust.used[claims.Jti]:
		return "AADSTS700025: Client assertion was used before."
	}
	if c.trust.used == nil {
		c.trust.used = map[string]bool{}
	}
	c.trust.used[claims.Jti] = true
	return ""
}

// signer returns the certificate that signs, of which a chain may have been sent; nil: it is not trusted.
func (t *trust) signer(chain []string) *x509.Certificate {
	if len(chain) == 0 {
		return t.certificate
	}
	der, err := base64.StdEncoding.DecodeString(chain[0])
	if err != nil {
		return nil
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil || !slices.ContainsFunc(t.issuers, func(i *x509.Certificate) bool { return cert.CheckSignatureFrom(i) == nil }) {
		return nil
	}
	return cert
}

// machineToken answers a request for a token of a managed identity, as a VM has it. It writes numbers as texts.
func (c *Cloud) machineToken(w http.ResponseWriter, q *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logins++
	in := q.URL.Query()
	switch {
	case q.Method != http.MethodGet || q.Header.Get("Metadata") != "true" || q.URL.Scheme == "https":
		reply(w, http.StatusBadRequest, object{"error": "invalid_request", "error_description": "Required metadata header not specified"})
	case c.trust.busy > 0:
		c.trust.busy--
		reply(w, http.StatusGone, object{"error": "gone", "error_description": "the service is updating"})
	case in.Get("resource") != "https://management.azure.com/":
		reply(w, http.StatusBadRequest, object{"error": "invalid_resource", "error_description": "AADSTS500011: The resource principal was not found in the tenant"})
	case !slices.Contains(c.trust.machine, in.Get("client_id")):
		reply(w, http.StatusBadRequest, object{"error": "invalid_request", "error_description": "Identity not found"})
	default:
		c.give(w, "86400")
	}
}
