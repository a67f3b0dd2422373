package sops

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"fairlead.dev/sources"
)

// A Tree is a tree that decrypts files when they are read. Digests are those of the
// encrypted files.
type Tree struct {
	sources.Tree
	decrypter *Decrypter
	ctx       context.Context //nolint:containedctx // a tree is read within one call, by code that only knows fs.FS

	parent     *Tree // nil: none
	decrypted  atomic.Bool
	unanswered atomic.Bool
}

// Tree returns t with decrypted files. A file that cannot be decrypted gives a
// *documents.Refusal when it is read. No file is decrypted after ctx ends.
func (d *Decrypter) Tree(ctx context.Context, t sources.Tree) *Tree {
	if d.program != nil {
		d.program.anew()
	}
	return &Tree{Tree: t, decrypter: d, ctx: ctx}
}

// Stat implements fs.StatFS. It does not decrypt the file.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.Tree, name) }

// ReadDir implements fs.ReadDirFS.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.Tree, name) }

// Bad implements sources.Judged.
func (t *Tree) Bad(dir string) []sources.BadEntry {
	if j, ok := t.Tree.(sources.Judged); ok {
		return j.Bad(dir)
	}
	return nil
}

// Open implements fs.FS.
func (t *Tree) Open(name string) (fs.File, error) {
	f, err := t.Tree.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() || info.Size() > int64(t.decrypter.limits.Bytes) {
		return f, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, int64(t.decrypter.limits.Bytes)+1))
	if err != nil {
		return nil, err
	}
	plain, values, err := t.decrypter.Decrypt(t.ctx, name, data)
	if err != nil {
		_, later := errors.AsType[*unanswered](err)
		if later || t.ctx.Err() != nil {
			for ; t != nil; t = t.parent {
				t.unanswered.Store(true)
			}
		}
		return nil, err
	}
	if len(values) > 0 {
		for ; t != nil; t = t.parent {
			t.decrypted.Store(true)
		}
	}
	return &file{Reader: bytes.NewReader(plain), info: decryptedInfo{info, int64(len(plain))}}, nil
}

// Decrypted reports whether a value has been decrypted so far.
func (t *Tree) Decrypted() bool { return t.decrypted.Load() }

// Part returns t for a reader of its own: of the part, Decrypted and Unanswered are about what was read from it. They are about
// that of t as well.
func (t *Tree) Part() *Tree {
	return &Tree{Tree: t.Tree, decrypter: t.decrypter, ctx: t.ctx, parent: t}
}

// Unanswered reports whether decryption of a file failed so far for a reason that may pass.
func (t *Tree) Unanswered() bool { return t.unanswered.Load() }

// Redacted returns the tree as if all decrypted values were REDACTED. Files that cannot be
// decrypted in t cannot be here.
func (t *Tree) Redacted() *Tree {
	d := *t.decrypter
	d.redact = true
	if d.options.Sealed != nil {
		d.options.Sealed = func(string, string) {} // it was reported before
	}
	return &Tree{Tree: t.Tree, decrypter: &d, ctx: t.ctx}
}

// A file is a decrypted file.
type file struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type decryptedInfo struct {
	fs.FileInfo
	size int64
}

func (i decryptedInfo) Size() int64 { return i.size }
