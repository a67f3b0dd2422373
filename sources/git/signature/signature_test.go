package signature

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/fleet"
)

// Options of authorized_keys are honoured or refused, never ignored.
func TestOptionsOfKeys(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	sign, err := NewSigner(fleet.NewSecret(pem.EncodeToMemory(block)), fleet.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	signature, err := sign([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	for _, c := range []struct{ options, refused, invalid string }{
		{options: ""},
		{options: "ada@example.com "},
		{options: `ada@example.com namespaces="git" `},
		{options: `expiry-time="29990101" `},
		{options: `EXPIRY-TIME="299901012359Z" `},
		{options: `expiry-time="20250101" `, invalid: "has expired at"},
		{options: `expiry-time="20250101235959Z" `, invalid: "has expired at 2025-01-01T23:59:59Z"},
		{options: `expiry-time="soon" `, refused: `expiry-time "soon" is no time`},
		{options: `cert-authority `, refused: "the option cert-authority is not supported"},
		{options: `restrict `, refused: "the option restrict is not supported"},
		{options: `no-pty,expiry-time="29990101" `, refused: "the option no-pty is not supported"},
		{options: `from="10.0.0.0/8" `, refused: `the option from="10.0.0.0/8" is not supported`},
		{options: `ada@example.com cert-authority `, refused: "the option cert-authority is not supported"},
		{options: `ada@example.com valid-before="20250101" `, refused: `the option valid-before="20250101" is not supported`},
		{options: `nobody-knows="x" `, refused: "it is no public key of SSH"},
	} {
		trust, err := NewTrust(map[string][]byte{"keys": []byte(c.options + line + "\n")})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%q: got %v, want %q", c.options, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.options, err)
			continue
		}
		_, err = trust.Verify([]byte("content"), signature)
		if c.invalid == "" && err != nil || c.invalid != "" && (err == nil || !strings.Contains(err.Error(), c.invalid)) {
			t.Errorf("%q: verified with %v, want %q", c.options, err, c.invalid)
		}
	}
}
