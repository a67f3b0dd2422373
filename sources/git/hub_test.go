package git_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
)

// A hub is GitHub as an app sees it: it knows the app's keys and installations, issues
// tokens, and gives whoever has one access to its repositories.
type hub struct {
	t      *testing.T
	keys   []*rsa.PublicKey
	made   int               // keys so far
	owners map[string]string // installations, by "orgs/…" or "users/…"
	number string            // of the installation
	ahead  time.Duration     // of its clock
	lives  time.Duration     // life of a token
	valid  map[string]bool   // tokens
	asked  []string          // requests to the API
	bad    func(w http.ResponseWriter) bool
}

// newKey creates another key of the app.
func (h *hub) newKey() string {
	key, err := appKey(h.made)
	if err != nil {
		h.t.Fatal(err)
	}
	h.made++
	h.keys = append(h.keys, &key.PublicKey)
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// appKeys are the keys of all hubs, since a key takes a while to generate.
var appKeys struct {
	sync.Mutex
	keys []*rsa.PrivateKey
}

// appKey returns the nth key of a hub.
func appKey(n int) (*rsa.PrivateKey, error) {
	appKeys.Lock()
	defer appKeys.Unlock()
	for len(appKeys.keys) <= n {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		appKeys.keys = append(appKeys.keys, key)
	}
	return appKeys.keys[n], nil
}

func (h *hub) before(w http.ResponseWriter, r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v3/")
	if !ok {
		user, token, _ := r.BasicAuth()
		if user == "x-access-token" && h.valid[token] {
			return false
		}
		http.Error(w, "Bad credentials", http.StatusUnauthorized)
		return true
	}
	h.asked = append(h.asked, path)
	w.Header().Set("Date", time.Now().Add(h.ahead).UTC().Format(http.TimeFormat))
	if h.bad != nil && h.bad(w) {
		return true
	}
	say := func(code int, v map[string]any) bool {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
		return true
	}
	if why := h.refuse(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); why != "" {
		return say(401, map[string]any{"message": why})
	}
	if owner, ok := strings.CutSuffix(path, "/installation"); ok && h.owners[owner] != "" {
		return say(200, map[string]any{"id": json.Number(h.owners[owner])})
	}
	if r.Method == http.MethodPost && path == "app/installations/"+h.number+"/access_tokens" {
		token := fmt.Sprintf("ghs_%d", len(h.asked))
		h.valid[token] = true
		return say(201, map[string]any{"token": token, "expires_at": time.Now().Add(h.ahead + h.lives).UTC().Format(time.RFC3339)})
	}
	return say(404, map[string]any{"message": "Not Found"})
}

// refuse says what is wrong with a JWT.
func (h *hub) refuse(jwt string) string {
	text, signature, _ := cutLast(jwt, ".")
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	sum := sha256.Sum256([]byte(text))
	if err != nil || !slices.ContainsFunc(h.keys, func(k *rsa.PublicKey) bool { return rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], sig) == nil }) {
		return "A JSON web token could not be decoded"
	}
	_, body, _ := strings.Cut(text, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(body)
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	now := time.Now().Add(h.ahead).Unix()
	switch err := json.Unmarshal(raw, &claims); {
	case err != nil || claims.Iss != "12":
		return "Integration not found"
	case claims.Iat > now:
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case claims.Exp <= now:
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case claims.Exp > now+600:
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

func (h *hub) app(key string) git.Auth {
	return git.Auth{App: git.App{ID: "12", Installation: "77", Key: secret(key)}}
}

// use reads what r follows and writes to its status branch.
func use(t *testing.T, r *git.Repository) {
	t.Helper()
	if got := read(t, r, "a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	b, err := r.Branch("fairlead/status", git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	head, _, err := b.Read(t.Context())
	if err == nil {
		_, err = b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"x": []byte(rand.Text())}, Message: "m"})
	}
	if err != nil {
		t.Error(err)
	}
}
