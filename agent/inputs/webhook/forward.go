package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// forwardedHeader marks a call that a replica passed on, so that it is passed
	// on once.
	forwardedHeader = "Fairlead-Forwarded"
	forwardTimeout  = 5 * time.Second

	// gitlabToken holds a secret in clear. Between replicas passedHeader is in its place,
	// which proves that the replica that passes the call on knows the secret.
	gitlabToken  = "X-Gitlab-Token"
	passedHeader = "Fairlead-Signature"
)

// passed returns what is signed of a call that is passed on: nothing else that is signed
// with the secret begins so.
func passed(body []byte) []byte { return append([]byte("fairlead passes on\n"), body...) }

// passedOn verifies a call that a replica passed on.
func passedOn(h http.Header, body []byte, secrets [][]byte) bool {
	sum, err := hex.DecodeString(h.Get(passedHeader))
	return err == nil && signed(sha256.New, sum, passed(body), secrets)
}

// withoutToken takes a secret that stands in h out of it: the way to another replica may
// be one that others hear.
func withoutToken(h http.Header, body []byte) {
	secret := h.Get(gitlabToken)
	if secret == "" {
		return
	}
	h.Del(gitlabToken)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(passed(body))
	h.Set(passedHeader, hex.EncodeToString(mac.Sum(nil)))
}

func forwarder(peer *tls.Config) *http.Client {
	return &http.Client{
		Timeout:   forwardTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, TLSClientConfig: peer}, // replicas are behind no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// forward passes a call on to the replica that leads, as it came but for a secret that
// sent in clear: that one verifies it itself, with the same secret, and needs not
// trust the replica that passes it on.
func (h *Handler) forward(ctx context.Context, r *http.Request, leader string, body []byte) error {
	switch {
	case leader == "":
		return errors.New("no replica leads at the moment")
	case r.Header.Get(forwardedHeader) != "":
		return errors.New("another replica took this one for the leader")
	}
	scheme := "http://"
	if h.o.Peer != nil {
		scheme = "https://"
	}
	to, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+leader+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	to.Header = r.Header.Clone()
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Content-Length"} {
		to.Header.Del(name)
	}
	withoutToken(to.Header, body)
	to.Header.Set(forwardedHeader, "true")
	res, err := h.client.Do(to)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the replica at %s answered %s", leader, res.Status)
	}
	return nil
}
