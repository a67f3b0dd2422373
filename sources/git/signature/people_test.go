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

// sshPair returns a public key, in a line, and what it signed.
func sshPair(t *testing.T, seed byte) (line, armoured string) {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	public, err := ssh.NewPublicKey(private.Public())
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
	if armoured, err = sign([]byte(signedContent)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public))), armoured
}

// identities returns a public key with two identities, and what it signed.
func identities(t *testing.T, first, second string) (key, armoured string) {
	t.Helper()
	e, err := openpgp.NewEntity("Ada", "", first, nil)
	if err == nil {
		err = e.AddUserId("Ada", "", second, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, made bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = e.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = openpgp.ArmoredDetachSign(&made, e, strings.NewReader(signedContent), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n", made.String()
}

// TestPeople: keys that share a name are of one person, and a key has the names of all its lines and
// identities. Somebody is impersonated if another key has the name, and the one that signed has not.
func TestPeople(t *testing.T) {
	one, byOne := sshPair(t, 1)
	two, byTwo := sshPair(t, 2)
	three, byThree := sshPair(t, 3)
	_, byNobody := sshPair(t, 4)
	pgp, byPGP := identities(t, "ada@example.com", "Ada@home.example.com")
	trust, err := NewTrust(map[string][]byte{
		"keys": []byte("ada@laptop,Ada@example.com " + one + "\n" + one + " ada@work\n" + two + " ada@work\n" + three + " bob@example.com\n"),
		"pgp":  []byte(pgp),
	})
	if err != nil {
		t.Fatal(err)
	}
	const ada = "ada@example.com ada@home.example.com ada@laptop ada@laptop,ada@example.com ada@work"
	for name, c := range map[string]struct{ armoured, people, own, others string }{
		"the first key":                  {byOne, ada, "ada@laptop ada@example.com ada@work", "ada@home.example.com bob@example.com"},
		"another that shares a name":     {byTwo, ada, "ada@work", "ada@laptop ada@example.com bob@example.com"},
		"OpenPGP":                        {byPGP, ada, "ada@example.com ada@home.example.com", "ada@laptop bob@example.com"},
		"somebody else":                  {byThree, "bob@example.com", "bob@example.com", "ada@example.com ada@work"},
		"a key that is not trusted":      {byNobody, "", "", "ada@example.com bob@example.com"},
		"something that is no signature": {"x", "", "", "ada@example.com"},
	} {
		if got := strings.Join(trust.People(c.armoured), " "); got != c.people {
			t.Errorf("%s: the person is %q, want %q", name, got, c.people)
		}
		for _, person := range append(strings.Fields(c.own), "eve@example.com") {
			if trust.Impersonates(person, c.armoured) {
				t.Errorf("%s impersonates %s", name, person)
			}
		}
		for _, person := range strings.Fields(c.others) {
			if !trust.Impersonates(person, c.armoured) {
				t.Errorf("%s may sign for %s", name, person)
			}
		}
	}
}
