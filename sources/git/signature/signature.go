// Package signature signs commits, and verifies their signatures, with keys of SSH and
// OpenPGP. A signature is armoured text, as in the header gpgsig of a commit. Sources: git,
// Documentation/gitformat-signature; OpenSSH, PROTOCOL.sshsig; RFC 9580.
package signature

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"fairlead.dev/fleet"
)

// namespace is Git's: the signature of a mail or a file is not valid for a commit.
const namespace = "git"

// Beginnings of armoured texts.
const (
	sshSignature = "-----BEGIN SSH SIGNATURE-----"
	pgpSignature = "-----BEGIN PGP SIGNATURE-----"
	pgpPublicKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	pgpSecretKey = "-----BEGIN PGP PRIVATE KEY BLOCK-----"
)

// NewSigner returns a function that signs with a private key: of SSH in PEM, or armoured of
// OpenPGP. The passphrase may be empty.
func NewSigner(key, passphrase fleet.Secret) (func(content []byte) (string, error), error) {
	if bytes.HasPrefix(bytes.TrimSpace(key.Reveal()), []byte(pgpSecretKey)) {
		return pgpSigner(key, passphrase)
	}
	return sshSigner(key, passphrase)
}

func sshSigner(key, passphrase fleet.Secret) (func([]byte) (string, error), error) {
	signer, err := ssh.ParsePrivateKey(key.Reveal())
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
		if passphrase.IsZero() {
			return nil, errors.New("the signing key is encrypted and there is no passphrase")
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(key.Reveal(), passphrase.Reveal())
	}
	if err != nil {
		return nil, fmt.Errorf("the signing key is neither a private key of SSH nor one of OpenPGP in armour: %w", err)
	}
	return func(content []byte) (string, error) {
		s, err := sshsig.Sign(bytes.NewReader(content), signer, sshsig.HashSHA512, namespace)
		if err != nil {
			return "", err
		}
		return string(sshsig.Armor(s)), nil
	}, nil
}

func pgpSigner(key, passphrase fleet.Secret) (func([]byte) (string, error), error) {
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(key.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("the signing key cannot be read: %w", err)
	}
	if len(entities) != 1 || entities[0].PrivateKey == nil {
		return nil, fmt.Errorf("the signing key has to be one private key, and there are %d keys", len(entities))
	}
	e := entities[0]
	if e.PrivateKey.Encrypted {
		if passphrase.IsZero() {
			return nil, errors.New("the signing key is encrypted and there is no passphrase")
		}
		if err := e.DecryptPrivateKeys(passphrase.Reveal()); err != nil {
			return nil, fmt.Errorf("the signing key cannot be decrypted: %w", err)
		}
	}
	return func(content []byte) (string, error) {
		var out bytes.Buffer
		if err := openpgp.ArmoredDetachSign(&out, e, bytes.NewReader(content), nil); err != nil {
			return "", err
		}
		return out.String() + "\n", nil
	}, nil
}

// Trust is a set of trusted keys.
type Trust struct {
	pgp openpgp.EntityList
	ssh []sshKey
}

type sshKey struct {
	ssh.PublicKey
	who   string
	until time.Time // zero: permanently
}

// NewTrust reads public keys, by the names of their files: armoured of OpenPGP, and of SSH
// as in authorized_keys or in Git's gpg.ssh.allowedSignersFile.
func NewTrust(files map[string][]byte) (*Trust, error) {
	t := &Trust{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := t.add(files[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(t.pgp)+len(t.ssh) == 0 {
		return nil, errors.New("there is no key whose signatures are trusted")
	}
	return t, nil
}

func (t *Trust) add(content []byte) error {
	if bytes.Contains(content, []byte(pgpSecretKey)) {
		return errors.New("this is a private key: give its public half")
	}
	// A file may have several armoured keys one after the other, which the parser takes for
	// one.
	if before, rest, ok := bytes.Cut(content, []byte(pgpPublicKey)); ok && len(bytes.TrimSpace(before)) == 0 {
		for part := range bytes.SplitSeq(rest, []byte(pgpPublicKey)) {
			keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(append([]byte(pgpPublicKey), part...)))
			if err != nil {
				return fmt.Errorf("the OpenPGP key cannot be read: %w", err)
			}
			t.pgp = append(t.pgp, keys...)
		}
		return nil
	}
	for number, line := range strings.Split(string(content), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := readSigner(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
		t.ssh = append(t.ssh, key)
	}
	return nil
}

// readSigner parses "[OPTIONS] TYPE KEY COMMENT", as in authorized_keys, or "PRINCIPALS
// [OPTIONS] TYPE KEY". An option that restricts a key is honoured or refused: a key must
// not be trusted with more than its line says.
func readSigner(line string) (sshKey, error) {
	if key, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(line)); err == nil && (len(options) == 0 || slices.ContainsFunc(options, isKeyOption)) {
		k := sshKey{PublicKey: key, who: cmp.Or(comment, ssh.FingerprintSHA256(key))}
		for _, o := range options {
			if k.until, err = expiry(o); err != nil {
				return sshKey{}, err
			}
		}
		return k, nil
	}
	principals, rest, _ := strings.Cut(line, " ")
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil || strings.ContainsAny(principals, `="`) {
		return sshKey{}, errors.New("it is no public key of SSH: TYPE KEY, or PRINCIPALS TYPE KEY")
	}
	for _, o := range options {
		if o != `namespaces="`+namespace+`"` {
			return sshKey{}, fmt.Errorf(`the option %s is not supported: leave it out, or say namespaces="git"`, o)
		}
	}
	return sshKey{PublicKey: key, who: principals}, nil
}

// isKeyOption reports whether o is an option of authorized_keys, and not a principal.
// Source: OpenSSH, sshd(8), AUTHORIZED_KEYS FILE FORMAT.
func isKeyOption(o string) bool {
	name, _, _ := strings.Cut(strings.ToLower(o), "=")
	return slices.Contains([]string{
		"agent-forwarding", "cert-authority", "command", "environment", "expiry-time", "from", "permitlisten", "permitopen",
		"port-forwarding", "principals", "pty", "restrict", "touch-required", "tunnel", "user-rc", "verify-required", "x11-forwarding",
	}, strings.TrimPrefix(name, "no-"))
}

// expiry returns the time that the option expiry-time says, and refuses any other.
func expiry(option string) (time.Time, error) {
	name, value, _ := strings.Cut(option, "=")
	if !strings.EqualFold(name, "expiry-time") {
		return time.Time{}, fmt.Errorf("the option %s is not supported: leave it out, or give expiry-time alone", option)
	}
	value = strings.Trim(value, `"`)
	digits, utc := strings.CutSuffix(value, "Z")
	zone := time.Local
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.ParseInLocation(layout, digits, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("expiry-time %q is no time: write YYYYMMDD or YYYYMMDDHHMM[SS], with Z for UTC", value)
}

// Verify returns who signed content. The error says why no trusted key did.
func (t *Trust) Verify(content []byte, armoured string) (who string, err error) {
	switch {
	case strings.TrimSpace(armoured) == "":
		return "", errors.New("it is not signed")
	case strings.HasPrefix(armoured, sshSignature):
		return t.verifySSH(content, armoured)
	case strings.HasPrefix(armoured, pgpSignature):
		return t.verifyPGP(content, armoured)
	}
	return "", errors.New("its signature is of a kind that is not supported: sign with SSH or OpenPGP")
}

// verifyPGP asks each key by itself: one that is in two files counts if one of them is good, as
// where people made it last longer.
func (t *Trust) verifyPGP(content []byte, armoured string) (string, error) {
	why := pgperrors.ErrUnknownIssuer
	for _, k := range t.pgp {
		e, err := openpgp.CheckArmoredDetachedSignature(openpgp.EntityList{k}, bytes.NewReader(content), strings.NewReader(armoured), nil)
		switch {
		case err == nil && e.PrimaryIdentity() != nil:
			return e.PrimaryIdentity().Name, nil
		case err == nil:
			return e.PrimaryKey.KeyIdString(), nil
		case !errors.Is(err, pgperrors.ErrUnknownIssuer):
			why = err
		}
	}
	return "", fmt.Errorf("its OpenPGP signature is not good: %w", why)
}

// Until returns when the trusted key expires that made the armoured signature; zero: never, or
// no trusted key made it. Of several lines with one key the last to end counts.
func (t *Trust) Until(armoured string) time.Time {
	if s, err := sshsig.Unarmor([]byte(armoured)); err == nil {
		return t.untilSSH(s.PublicKey.Marshal())
	}
	var last time.Time
	for _, k := range t.issuers(armoured) {
		ends := untilPGP(k)
		if ends.IsZero() {
			return time.Time{}
		}
		if ends.After(last) {
			last = ends
		}
	}
	return last
}

func (t *Trust) untilSSH(key []byte) time.Time {
	var last time.Time
	for _, k := range t.ssh {
		switch {
		case !bytes.Equal(k.Marshal(), key):
		case k.until.IsZero():
			return time.Time{}
		case k.until.After(last):
			last = k.until
		}
	}
	return last
}

// untilPGP returns when k expires, by itself or with its primary key; zero: never.
func untilPGP(k openpgp.Key) time.Time {
	var first time.Time
	ends := func(created time.Time, s *packet.Signature) {
		if s == nil || s.KeyLifetimeSecs == nil || *s.KeyLifetimeSecs == 0 {
			return
		}
		if at := created.Add(time.Duration(*s.KeyLifetimeSecs) * time.Second); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	ends(k.PublicKey.CreationTime, k.SelfSignature)
	if id := k.Entity.PrimaryIdentity(); id != nil {
		ends(k.Entity.PrimaryKey.CreationTime, id.SelfSignature)
	}
	return first
}

func (t *Trust) verifySSH(content []byte, armoured string) (string, error) {
	s, err := sshsig.Unarmor([]byte(armoured))
	if err != nil {
		return "", fmt.Errorf("its SSH signature cannot be read: %w", err)
	}
	var expired error
	for _, key := range t.ssh {
		if !bytes.Equal(key.Marshal(), s.PublicKey.Marshal()) {
			continue
		}
		if !key.until.IsZero() && !time.Now().Before(key.until) {
			expired = fmt.Errorf("the key of %s has expired at %s", key.who, key.until.UTC().Format(time.RFC3339))
			continue // another line may trust the key for longer
		}
		if err := sshsig.Verify(bytes.NewReader(content), s, key.PublicKey, s.HashAlgorithm, namespace); err != nil {
			return "", fmt.Errorf("its signature by %s is not good: %w", key.who, err)
		}
		return key.who, nil
	}
	if expired != nil {
		return "", expired
	}
	return "", fmt.Errorf("it is signed with a key that is not trusted: %s", ssh.FingerprintSHA256(s.PublicKey))
}
