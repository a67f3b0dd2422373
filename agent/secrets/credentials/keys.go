package credentials

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git/signature"
	"fairlead.dev/sources/oci"
)

// The names of files in a folder of a signing key. Those of OpenPGP are Flux's.
// Source: Flux, ImageUpdateAutomation, spec.git.commit.signingKey.
const (
	pgpKey           = "git.asc"
	pgpPassphraseKey = "passphrase"
)

// GitVerifier returns what checks signatures by the keys in the files and folders named;
// nil where none are. Keys are read each time, so that one that is withdrawn no longer
// counts.
func GitVerifier(paths []string) (func(content []byte, armoured string) (string, error), error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if _, err := trust(paths); err != nil {
		return nil, err
	}
	return func(content []byte, armoured string) (string, error) {
		t, err := trust(paths)
		if err != nil {
			return "", fleet.Errorf(fleet.Unauthorized, "read whose signatures count", "%w", err)
		}
		return t.Verify(content, armoured)
	}, nil
}

// GitPeople returns what says whose key in the files and folders named made a signature; nil where none
// are. It returns all names of that person, and whether another key, and not that one, is called after by.
// Names and by are as fleet.Person has them.
func GitPeople(paths []string) func(by, armoured string) (names []string, impersonates bool, err error) {
	if len(paths) == 0 {
		return nil
	}
	return func(by, armoured string) ([]string, bool, error) {
		t, err := trust(paths)
		if err != nil {
			return nil, false, fleet.Errorf(fleet.Unauthorized, "read whose signatures count", "%w", err)
		}
		return t.People(armoured), t.Impersonates(by, armoured), nil
	}
}

// GitUntil returns what says when the key in the files and folders named expires that made a
// signature; nil where none are.
func GitUntil(paths []string) func(armoured string) (time.Time, error) {
	if len(paths) == 0 {
		return nil
	}
	return func(armoured string) (time.Time, error) {
		t, err := trust(paths)
		if err != nil {
			return time.Time{}, fleet.Errorf(fleet.Unauthorized, "read whose signatures count", "%w", err)
		}
		return t.Until(armoured), nil
	}
}

func trust(paths []string) (*signature.Trust, error) {
	keys, err := keyFiles(paths)
	if err != nil {
		return nil, err
	}
	return signature.NewTrust(keys)
}

// keyFiles returns what the files, and the files in the folders, hold.
func keyFiles(paths []string) (map[string][]byte, error) {
	keys := make(map[string][]byte)
	for _, path := range paths {
		names, err := List(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read trusted keys: %w", err)
		}
		for _, name := range names {
			if keys[name], err = os.ReadFile(name); err != nil {
				return nil, fmt.Errorf("cannot read trusted keys: %w", err)
			}
		}
	}
	return keys, nil
}

// ArtifactVerifier is like GitVerifier, for the keys of artifacts.
func ArtifactVerifier(paths []string) (func(payload, signature []byte) (string, error), error) {
	if len(paths) == 0 {
		return nil, nil
	}
	read := func() (*oci.Keys, error) {
		files, err := keyFiles(paths)
		if err != nil {
			return nil, err
		}
		return oci.NewKeys(files)
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return func(payload, signed []byte) (string, error) {
		k, err := read()
		if err != nil {
			return "", fleet.Errorf(fleet.Unauthorized, "read whose signatures count", "%w", err)
		}
		return k.Verify(payload, signed)
	}, nil
}

// A signingKey is one that is read before each signature, so that another one in its
// place is used at once.
type signingKey struct {
	path string // a file, or a folder with the key and its passphrase

	mu              sync.Mutex
	key, passphrase []byte // of which now was made
	now             func([]byte) (string, error)
}

func (k *signingKey) sign(content []byte) (string, error) {
	sign, err := k.signer()
	if err != nil {
		return "", err
	}
	return sign(content)
}

func (k *signingKey) signer() (func([]byte) (string, error), error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, passphrase, err := k.read()
	if err != nil {
		return nil, err
	}
	if k.now != nil && bytes.Equal(key, k.key) && bytes.Equal(passphrase, k.passphrase) {
		return k.now, nil
	}
	now, err := signature.NewSigner(fleet.NewSecret(key), fleet.NewSecret(passphrase))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.path, err)
	}
	k.key, k.passphrase, k.now = key, passphrase, now
	return now, nil
}

// read returns the key and its passphrase, which may be empty.
func (k *signingKey) read() (key, passphrase []byte, err error) {
	info, err := os.Stat(k.path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the signing key: %w", err)
	}
	if !info.IsDir() {
		key, err = os.ReadFile(k.path)
		return key, nil, err
	}
	one := func(names ...string) ([]byte, error) {
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(k.path, name))
			if !errors.Is(err, fs.ErrNotExist) {
				return b, err
			}
		}
		return nil, nil
	}
	key, err = one(identityKey, pgpKey)
	if err == nil && key == nil {
		err = fmt.Errorf("the folder %s has no signing key: call it %s, or %s if it is one of OpenPGP", k.path, identityKey, pgpKey)
	}
	passphrase, err2 := one(passphraseKey, pgpPassphraseKey)
	return key, bytes.TrimSpace(passphrase), cmp.Or(err, err2)
}

// Signer returns what signs with the private key in the file called path, or in the folder as
// a Secret with it is mounted. The key is read before each signature, and once now.
func Signer(path string) (func(content []byte) (string, error), error) {
	k := &signingKey{path: path}
	_, err := k.signer()
	return k.sign, err
}
