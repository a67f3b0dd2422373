package signature

import (
	"bytes"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const signedContent = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nx\n"

// pgpKeys returns one public key that ends after each of the lifetimes, 0 for never, what it
// signed, and when it was made.
func pgpKeys(t *testing.T, lifetimes ...time.Duration) (keys [][]byte, armoured string, made time.Time) {
	t.Helper()
	made = time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	e, err := openpgp.NewEntity("Ada", "", "ada@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return made }})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&out, e, bytes.NewReader([]byte(signedContent)), nil); err != nil {
		t.Fatal(err)
	}
	for _, d := range lifetimes {
		var seconds *uint32
		if d > 0 {
			seconds = new(uint32(d / time.Second))
		}
		for _, id := range e.Identities {
			id.SelfSignature.KeyLifetimeSecs = seconds
			if err := id.SelfSignature.SignUserId(id.UserId.Id, e.PrimaryKey, e.PrivateKey, nil); err != nil {
				t.Fatal(err)
			}
		}
		var key bytes.Buffer
		w, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Serialize(w); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, append(key.Bytes(), '\n'))
	}
	return keys, out.String(), made
}

// TestOpenPGPKeyInTwoFiles: a key that people made last longer counts beside its older copy.
func TestOpenPGPKeyInTwoFiles(t *testing.T) {
	keys, armoured, _ := pgpKeys(t, 24*time.Hour, 0)
	ended, good := keys[0], keys[1]
	for name, c := range map[string]struct {
		files map[string][]byte
		good  bool
	}{
		"the older copy first": {map[string][]byte{"a": ended, "b": good}, true},
		"the older copy last":  {map[string][]byte{"a": good, "b": ended}, true},
		"the older copy alone": {map[string][]byte{"a": ended}, false},
	} {
		trust, err := NewTrust(c.files)
		if err != nil {
			t.Fatal(err)
		}
		who, err := trust.Verify([]byte(signedContent), armoured)
		if c.good != (err == nil) || c.good && who != "Ada <ada@example.com>" {
			t.Errorf("%s: %q, %v", name, who, err)
		}
	}
}

// TestUntil: a key says when it expires, and of two copies the one that ends last.
func TestUntil(t *testing.T) {
	keys, armoured, made := pgpKeys(t, 72*time.Hour, 96*time.Hour, 0)
	line, sign := keyPair(t, 1)
	bySSH, err := sign([]byte(signedContent))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files    map[string][]byte
		armoured string
		want     time.Time
	}{
		"OpenPGP":                  {map[string][]byte{"a": keys[0]}, armoured, made.Add(72 * time.Hour)},
		"OpenPGP, twice":           {map[string][]byte{"a": keys[1], "b": keys[0]}, armoured, made.Add(96 * time.Hour)},
		"OpenPGP, one for good":    {map[string][]byte{"a": keys[0], "b": keys[2]}, armoured, time.Time{}},
		"SSH":                      {map[string][]byte{"a": []byte(`expiry-time="20990101Z" ` + line)}, bySSH, time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)},
		"SSH, one for good":        {map[string][]byte{"a": []byte(`expiry-time="20990101Z" ` + line + "\n" + line)}, bySSH, time.Time{}},
		"a key that is not there":  {map[string][]byte{"a": keys[0]}, bySSH, time.Time{}},
		"what is not a signature":  {map[string][]byte{"a": keys[0]}, "x", time.Time{}},
		"nothing that was encoded": {map[string][]byte{"a": keys[0]}, pgpSignature + "\n\n-----END PGP SIGNATURE-----", time.Time{}},
	} {
		trust, err := NewTrust(c.files)
		if err != nil {
			t.Fatal(err)
		}
		if got := trust.Until(c.armoured); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
