package wiring

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/signature"
	"fairlead.dev/sources/status"
)

// The names of files in a folder of a signing key. Those of OpenPGP are Flux's.
// Source: Flux, ImageUpdateAutomation, spec.git.commit.signingKey.
const (
	pgpKey           = "git.asc"
	pgpPassphraseKey = "passphrase"
)

// verifier returns what checks signatures by the keys in the files and folders named;
// nil where none are. Keys are read each time, so that one that is withdrawn counts no
// more.
func verifier(paths []string) (func(content []byte, armoured string) (string, error), error) {
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
		names, err := files(path)
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

// StatusKeys are how what counts on a status branch is signed, and by whom.
type StatusKeys struct {
	Sign   func(content []byte) (string, error) // nil: this process signs nothing
	Verify status.Verify                        // nil: nobody asks
}

// StatusKeys returns them. Who asks for signatures has to make ones that count.
func (s Settings) StatusKeys() (StatusKeys, error) {
	sign, err := s.Signer()
	if err != nil {
		return StatusKeys{}, err
	}
	verify, err := s.Verifier()
	if err != nil || verify == nil {
		return StatusKeys{Sign: sign}, err
	}
	if sign == nil {
		return StatusKeys{}, errors.New("there are request keys and no signing key: with --request-keys an agent signs what it says of the owner of the fleet and of numbers of machines, so name its key with --signing-key")
	}
	probe := []byte("fairlead-probe\n")
	signed, err := sign(probe)
	if err == nil {
		_, err = verify(probe, signed)
	}
	if err != nil {
		return StatusKeys{}, fmt.Errorf("the signing key is none of the request keys, so that other agents of the fleet would not believe this one: add its public half to --request-keys: %w", err)
	}
	return StatusKeys{Sign: sign, Verify: verify}, nil
}

// Verifier returns what says whose requests, numbers of machines and owners count; nil
// where there are no request keys.
func (s Settings) Verifier() (status.Verify, error) {
	v, err := verifier(s.RequestKeys)
	return v, err
}

// Signer returns what signs with the signing key; nil where there is none.
func (s Settings) Signer() (func(content []byte) (string, error), error) {
	if s.SigningKey == "" {
		return nil, nil
	}
	k := &signingKey{path: s.SigningKey}
	_, err := k.signer()
	return k.sign, err
}

// author returns who writes branches.
func (s Settings) author() (git.BranchOptions, error) {
	o := s.Author
	if s.SigningKey == "" || o.Sign != nil {
		return o, nil
	}
	k := &signingKey{path: s.SigningKey}
	_, err := k.signer()
	o.Sign = k.sign
	return o, err
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
