package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Of the libraries for webhooks (go-github, go-playground/webhooks, standard-webhooks) each
// knows some of the forges, and one secret: together they are more than what is here.

// signed reports whether sum is the HMAC of body under one of the secrets. All
// of them are tried, whichever fits.
func signed(algorithm func() hash.Hash, sum, body []byte, secrets [][]byte) bool {
	ok := false
	for _, secret := range secrets {
		mac := hmac.New(algorithm, secret)
		mac.Write(body)
		if hmac.Equal(mac.Sum(nil), sum) {
			ok = true
		}
	}
	return ok
}

// sha256Hex verifies a header that holds the HMAC-SHA256 of the body in hex,
// after prefix.
func sha256Hex(header, prefix string) func(http.Header, []byte, [][]byte) bool {
	return func(h http.Header, body []byte, secrets [][]byte) bool {
		text, ok := strings.CutPrefix(h.Get(header), prefix)
		sum, err := hex.DecodeString(text)
		return ok && err == nil && signed(sha256.New, sum, body, secrets)
	}
}

// either verifies by any of several proofs.
func either(all ...func(http.Header, []byte, [][]byte) bool) func(http.Header, []byte, [][]byte) bool {
	return func(h http.Header, body []byte, secrets [][]byte) bool {
		for _, verify := range all {
			if verify(h, body, secrets) {
				return true
			}
		}
		return false
	}
}

// named verifies X-Signature: ALGORITHM=HEX, as Flux's receivers of type
// generic-hmac take it. SHA-1 is not accepted.
func named(h http.Header, body []byte, secrets [][]byte) bool {
	name, text, _ := strings.Cut(h.Get("X-Signature"), "=")
	algorithms := map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}
	algorithm, known := algorithms[strings.ToLower(name)]
	sum, err := hex.DecodeString(text)
	return known && err == nil && signed(algorithm, sum, body, secrets)
}

// token verifies a header that holds the secret itself. Digests are compared,
// so that the time tells nothing of the length either.
func token(header string) func(http.Header, []byte, [][]byte) bool {
	return func(h http.Header, _ []byte, secrets [][]byte) bool {
		given := sha256.Sum256([]byte(h.Get(header)))
		ok := 0
		for _, secret := range secrets {
			want := sha256.Sum256(secret)
			ok |= subtle.ConstantTimeCompare(given[:], want[:])
		}
		return ok == 1
	}
}

const (
	standardPrefix = "whsec_"
	standardSkew   = 5 * time.Minute
)

// standard verifies webhook-id, webhook-timestamp and webhook-signature. Only
// secrets that begin with whsec_ are keys of this kind.
// Source: Standard Webhooks 1.0, https://www.standardwebhooks.com; GitLab's
// signing tokens.
func standard(now func() time.Time) func(http.Header, []byte, [][]byte) bool {
	return func(h http.Header, body []byte, secrets [][]byte) bool {
		id, stamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil || id == "" || now().Sub(time.Unix(seconds, 0)).Abs() > standardSkew {
			return false
		}
		var keys [][]byte
		for _, secret := range secrets {
			text, ok := strings.CutPrefix(string(secret), standardPrefix)
			if key, err := base64.StdEncoding.DecodeString(text); ok && err == nil {
				keys = append(keys, key)
			}
		}
		content := append([]byte(id+"."+stamp+"."), body...)
		for _, signature := range strings.Fields(h.Get("Webhook-Signature")) {
			text, ok := strings.CutPrefix(signature, "v1,")
			sum, err := base64.StdEncoding.DecodeString(text)
			if ok && err == nil && signed(sha256.New, sum, content, keys) {
				return true
			}
		}
		return false
	}
}
