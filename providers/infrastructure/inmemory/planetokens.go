package inmemory

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// planeTokens are the tokens of a control plane.
type planeTokens struct {
	mu   sync.Mutex
	life time.Duration
	ends map[string]time.Time
}

// accepts reports whether the API server accepts token now.
func (t *planeTokens) accepts(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.ends[token])
}

// PlaneToken returns a token for the API server of the control plane at e, which ends after the TokenLife of
// its PlaneSpec. Nothing there gives the kind NotFound.
func (c *Cloud) PlaneToken(_ context.Context, e fleet.Endpoint) (providers.Token, error) {
	t, err := c.tokensAt("get a token", e)
	if err != nil {
		return providers.Token{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	token, now := rand.Text(), time.Now()
	t.ends[token] = now.Add(t.life)
	return providers.Token{Value: fleet.NewSecret([]byte(token)), NotAfter: now.Add(t.life)}, nil
}

// RevokePlaneTokens has the API server of the control plane at e accept no token that was given before.
func (c *Cloud) RevokePlaneTokens(_ context.Context, e fleet.Endpoint) error {
	t, err := c.tokensAt("revoke tokens", e)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.ends)
	return nil
}

func (c *Cloud) tokensAt(op string, e fleet.Endpoint) (*planeTokens, error) {
	c.lock()
	defer c.unlock()
	p, ok := c.planes[address(e.Host, e.Port)]
	if !ok || p.tokens.life == 0 {
		return nil, &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
	}
	return p.tokens, nil
}

// kubeconfigWithout returns a kubeconfig of the cluster at address without a credential.
func (p pair) kubeconfigWithout(address string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: admin
contexts: [{name: admin, context: {cluster: plane, user: admin}}]
clusters: [{name: plane, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: admin, user: {}}]
`, address, base64.StdEncoding.EncodeToString(p.cert))
}
