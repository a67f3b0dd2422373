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
	"sync"

	"filippo.io/age"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/files"
)

const fileSuffix = ".age"

// Options say where the identity of a File comes from. With neither, it is
// identity.txt in the folder, which is made on first use. An identity file may
// hold several identities, one a line: the first encrypts, all decrypt.
type Options struct {
	IdentityFile string       // a file that exists
	Identity     fleet.Secret // the content of such a file, as from the environment
}

// File is a secret store in a folder of encrypted files. It is safe for
// concurrent use, by several processes as well.
type File struct {
	root       *os.Root
	identities identities
	disk       files.Root // root, but in tests

	mu    sync.Mutex
	cache map[fleet.Key]cached
}

// cached is a file that was read.
type cached struct {
	info     os.FileInfo
	contents contents // never changed
}

// isOf reports whether c was read from the file that info describes. Every
// version of a file has a new inode.
func (c cached) isOf(info os.FileInfo) bool {
	return c.info != nil && os.SameFile(c.info, info) && c.info.ModTime().Equal(info.ModTime()) && c.info.Size() == info.Size()
}

// OpenFile opens the store in folder dir, which is made with mode 0700 if it is
// not there.
func OpenFile(ctx context.Context, dir string, o Options) (*File, error) {
	op := "open secrets in " + dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	ids, err := loadIdentities(ctx, root, o)
	if err != nil {
		root.Close()
		if _, ok := errors.AsType[*fleet.Error](err); ok {
			return nil, err
		}
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	return &File{root: root, identities: ids, disk: root, cache: make(map[fleet.Key]cached)}, nil
}

// String names the folder. It keeps fmt from what is inside f.
func (f *File) String() string { return "secrets in " + f.root.Name() }

// GoString is String.
func (f *File) GoString() string { return f.String() }

// Close releases the folder.
func (f *File) Close() error { return f.root.Close() }

// Get implements reconcile.SecretStore.
func (f *File) Get(_ context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	all, err := f.read(c)
	if err != nil {
		return nil, err
	}
	d, ok := all[name]
	if !ok {
		return nil, notFound(c, name)
	}
	return clone(d), nil
}

// Create implements reconcile.SecretStore.
func (f *File) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	return f.put(ctx, c, name, d, false)
}

// Replace implements reconcile.SecretStore.
func (f *File) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	if err := checkKey(c); err != nil {
		return err
	}
	_, err := f.put(ctx, c, name, d, true)
	return err
}

// Delete implements reconcile.SecretStore. A file that cannot be read is
// removed like any other: to delete it is what was asked for.
func (f *File) Delete(ctx context.Context, c fleet.Key) error {
	if err := checkKey(c); err != nil {
		return err
	}
	return f.remove(ctx, c)
}

// remove removes the file of c.
func (f *File) remove(ctx context.Context, c fleet.Key) error {
	op := "delete " + subject(c)
	release, err := lock(ctx, f.root, lockName(c))
	if err != nil {
		return fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	defer release()
	f.forget(c)
	for _, name := range []string{files.Temporary(fileName(c)), fileName(c)} {
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fleet.Errorf(fleet.Unavailable, op, "%w", err)
		}
	}
	if err := files.Sync(f.root, c.Namespace); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	return nil
}

// put stores d, unless there is something already and it may not be replaced.
// It returns what is stored then.
func (f *File) put(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData, replace bool) (fleet.SecretData, error) {
	op := fmt.Sprintf("store %s in %s", name, subject(c))
	release, err := lock(ctx, f.root, lockName(c))
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	defer release()
	old, err := f.read(c)
	if err != nil {
		return nil, err
	}
	if stored, ok := old[name]; ok && !replace {
		return clone(stored), nil
	}
	updated := contents{name: clone(d)}
	for n, stored := range old {
		if n != name {
			updated[n] = stored
		}
	}
	if err := f.write(c, updated); err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	return d, nil
}

// read returns the secrets of c, none where there is no file.
func (f *File) read(c fleet.Key) (contents, error) {
	file, err := f.root.Open(fileName(c))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, "read "+subject(c), "%w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, "read "+subject(c), "%w", err)
	}
	f.mu.Lock()
	known := f.cache[c]
	f.mu.Unlock()
	if known.isOf(info) {
		return known.contents, nil
	}
	all, err := f.decrypt(file)
	if err != nil {
		return nil, f.unreadable(c, err)
	}
	f.remember(c, info, all)
	return all, nil
}

// decrypt reads a file. Its errors hold nothing of the content, which age's
// own quote.
func (f *File) decrypt(file io.Reader) (contents, error) {
	plain, err := age.Decrypt(file, f.identities.all...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, errors.New("it does not begin as an age file does")
	}
	data, err := io.ReadAll(plain)
	if err != nil {
		return nil, errors.New("it was cut off or changed")
	}
	return decode(data)
}

// unreadable says which file cannot be read, why, and what to do. It is left
// unchanged.
func (f *File) unreadable(c fleet.Key, err error) error {
	op := "read " + subject(c)
	name := filepath.Join(f.root.Name(), fileName(c))
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return fleet.Errorf(fleet.Unauthorized, op, "%s is encrypted for another identity than %s: restore the identity that it was written with",
			name, f.identities.from)
	}
	return fleet.Errorf(fleet.Unknown, op, "%s is damaged (%w): restore it from a backup; Fairlead does not change it", name, err)
}

// write stores all as the secrets of c, whose lock is held.
func (f *File) write(c fleet.Key, all contents) error {
	plain, err := all.encode()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := age.Encrypt(&b, f.identities.first)
	if err != nil {
		return err
	}
	if _, err := w.Write(plain); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := files.MakeFolder(f.disk, c.Namespace, 0o700); err != nil {
		return err
	}
	f.forget(c)
	if err := files.Replace(f.disk, fileName(c), b.Bytes(), 0o600); err != nil {
		return err
	}
	if info, err := f.root.Stat(fileName(c)); err == nil { // else it is read again
		f.remember(c, info, all)
	}
	return nil
}

// remember keeps what the file of c has, which info describes. The contents do not change from then on.
func (f *File) remember(c fleet.Key, info os.FileInfo, all contents) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cache[c] = cached{info: info, contents: all}
}

func (f *File) forget(c fleet.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.cache, c)
}

func fileName(c fleet.Key) string { return c.Namespace + "/" + c.Name + fileSuffix }
