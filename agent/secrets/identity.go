package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"filippo.io/age"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/files"
)

// IdentityFile is the name of the file in the folder of a File that holds its
// identities.
const IdentityFile = "identity.txt"

// identities decrypt with any of them, and encrypt for the first.
type identities struct {
	all   []age.Identity
	first age.Recipient
	from  string // where they come from, for messages
}

// loadIdentities finds the identities that o names, or those of the folder,
// where the first is made on first use.
func loadIdentities(ctx context.Context, root *os.Root, o Options) (identities, error) {
	if !o.Identity.IsZero() {
		return parseIdentities(o.Identity.Reveal(), "the identity that was given")
	}
	if o.IdentityFile != "" {
		return readIdentities(o.IdentityFile)
	}
	release, err := lock(ctx, root, locksFolder+"/identity")
	if err != nil {
		return identities{}, err
	}
	defer release()
	path := filepath.Join(root.Name(), IdentityFile)
	if _, err := root.Stat(IdentityFile); errors.Is(err, fs.ErrNotExist) {
		if err := createIdentity(root); err != nil {
			return identities{}, err
		}
	}
	return readIdentities(path)
}

// createIdentity makes the identity of a new folder. Where there are encrypted
// files already, their identity was lost, and a new one would only hide that.
func createIdentity(root *os.Root) error {
	encrypted, err := fs.Glob(root.FS(), "*/*"+fileSuffix)
	if err != nil {
		return err
	}
	given, err := fs.Glob(root.FS(), givenFolder+"/*/*"+fileSuffix)
	if err != nil {
		return err
	}
	encrypted = append(encrypted, given...)
	if len(encrypted) > 0 {
		return fleet.Errorf(fleet.Unauthorized, "open secrets in "+root.Name(),
			"%s is missing, and there are %d encrypted files: restore it from its backup", IdentityFile, len(encrypted))
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	content := fmt.Sprintf("# Anyone with this file can read every secret beside it. Keep a copy in a safe place.\n# public key: %s\n%s\n",
		id.Recipient(), id)
	return files.Replace(root, IdentityFile, []byte(content), 0o600)
}

// readIdentities reads an identity file.
func readIdentities(path string) (identities, error) {
	content, err := ReadIdentityFile(path)
	if err != nil {
		return identities{}, err
	}
	return parseIdentities(content.Reveal(), path)
}

// ReadIdentityFile returns the content of an identity file, which must be kept
// from others. The group may read it, since that is how Kubernetes hands a
// Secret to a process. Errors are of kind Unauthorized.
func ReadIdentityFile(path string) (fleet.Secret, error) {
	op := "read identity " + path
	f, err := os.Open(path)
	if err != nil {
		return fleet.Secret{}, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fleet.Secret{}, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" { // there modes say nothing
		return fleet.Secret{}, fleet.Errorf(fleet.Unauthorized, op, "others may read or change it (mode %04o): chmod 600 %s", mode, path)
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return fleet.Secret{}, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return fleet.NewSecret(content), nil
}

// parseIdentities reads age identities, one a line. Its errors hold nothing of
// the content.
func parseIdentities(content []byte, from string) (identities, error) {
	op := "read identity " + strings.TrimPrefix(from, "the identity ")
	all, err := age.ParseIdentities(bytes.NewReader(content))
	if err != nil {
		return identities{}, fleet.Errorf(fleet.Unauthorized, op, "it holds no age identity (AGE-SECRET-KEY-1…), or more than that")
	}
	first, ok := all[0].(*age.X25519Identity)
	if !ok {
		return identities{}, fleet.Errorf(fleet.Unauthorized, op, "the first age identity in it is not of kind X25519")
	}
	return identities{all: all, first: first.Recipient(), from: from}, nil
}
