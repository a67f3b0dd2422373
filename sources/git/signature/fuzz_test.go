package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"golang.org/x/crypto/ssh"

	"fairlead.dev/fleet"
)

// keyPair returns the public key, as a line of SSH, and the signer that seed makes.
func keyPair(tb testing.TB, seed byte) (line string, sign func([]byte) (string, error)) {
	tb.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	key, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		tb.Fatal(err)
	}
	if sign, err = NewSigner(fleet.NewSecret(pem.EncodeToMemory(block)), fleet.Secret{}); err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), sign
}

// pgpPair returns a public key of OpenPGP in armour, and a signature of content by it.
func pgpPair(tb testing.TB, content string) (public, signature string) {
	tb.Helper()
	e, err := openpgp.NewEntity("ada", "", "ada@example.com", nil)
	if err != nil {
		tb.Fatal(err)
	}
	var key, sig bytes.Buffer
	w, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := e.Serialize(w); err != nil {
		tb.Fatal(err)
	}
	_ = w.Close()
	if err := openpgp.ArmoredDetachSign(&sig, e, strings.NewReader(content), nil); err != nil {
		tb.Fatal(err)
	}
	return key.String(), sig.String()
}

// FuzzSignature: content counts as signed only with a signature of a trusted key.
func FuzzSignature(f *testing.F) {
	const content = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nx\n"
	line, sign := keyPair(f, 1)
	_, foreign := keyPair(f, 2)
	public, pgp := pgpPair(f, content)
	_, other := pgpPair(f, content)
	trust, err := NewTrust(map[string][]byte{"ssh": []byte("ada " + line), "pgp": []byte(public)})
	if err != nil {
		f.Fatal(err)
	}
	good, err := sign([]byte(content))
	if err != nil {
		f.Fatal(err)
	}
	bad, err := foreign([]byte(content))
	if err != nil {
		f.Fatal(err)
	}
	for signature, want := range map[string]bool{good: true, pgp: true, bad: false, other: false, "": false, sshSignature: false, pgpSignature + "\n\n": false} {
		if _, err := trust.Verify([]byte(content), signature); (err == nil) != want {
			f.Fatalf("%.40q counts: %v, want %v", signature, err == nil, want)
		}
		f.Add([]byte(content), signature)
		f.Add([]byte(content+"more"), signature)
	}
	f.Fuzz(func(t *testing.T, text []byte, signature string) {
		if who, err := trust.Verify(text, signature); err == nil && string(text) != content {
			t.Errorf("%q counts as signed by %s", text, who)
		}
	})
}

// FuzzAllowedSigners: a file of keys trusts exactly the keys in it, or is refused on one
// line.
func FuzzAllowedSigners(f *testing.F) {
	line, sign := keyPair(f, 1)
	other, _ := keyPair(f, 2)
	public, _ := pgpPair(f, "x")
	for _, s := range []string{
		other, "ada@example.com " + other, `ada@example.com,bob namespaces="git" ` + other, `expiry-time="29990101" ` + other, "cert-authority " + other,
		"* " + other, "# none\n\n" + other, public, public + public, "ssh-ed25519 AAAA", `a namespaces="file" ` + other, line[:40] + " " + other,
	} {
		f.Add([]byte(s))
	}
	signature, err := sign([]byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	key := strings.Fields(line)[1]
	f.Fuzz(func(t *testing.T, file []byte) {
		trust, err := NewTrust(map[string][]byte{"keys": file})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "keys: ") && !strings.HasPrefix(err.Error(), "there is no key") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		if who, err := trust.Verify([]byte("x"), signature); err == nil && !bytes.Contains(file, []byte(key)) {
			t.Errorf("%q trusts a key that is not in it, of %s", file, who)
		}
	})
}
