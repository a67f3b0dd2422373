package sops

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"fairlead.dev/sources"
)

// A Tree is a tree whose encrypted files read as if they were plain. Digests
// are those of the files as they are.
type Tree struct {
	sources.Tree
	decrypter *Decrypter

	mu     sync.Mutex
	values map[string]bool // that were decrypted
}

// Tree returns t with its files decrypted as they are read. Reading one that
// cannot be decrypted gives a *documents.Refusal.
func (d *Decrypter) Tree(t sources.Tree) *Tree {
	return &Tree{Tree: t, decrypter: d, values: map[string]bool{}}
}

// Stat implements fs.StatFS: a look at a file does not decrypt it.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.Tree, name) }

// ReadDir implements fs.ReadDirFS.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.Tree, name) }

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
	plain, values, err := t.decrypter.Decrypt(name, data)
	if err != nil {
		return nil, err
	}
	t.remember(values)
	return &file{Reader: bytes.NewReader(plain), info: decryptedInfo{info, int64(len(plain))}}, nil
}

// shortest is how long a value must be for Hide: shorter ones are found in any
// text.
const shortest = 4

func (t *Tree) remember(values []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range values {
		for _, part := range append(strings.Split(v, "\n"), v) {
			if part = strings.TrimSpace(part); len(part) >= shortest {
				t.values[part] = true
			}
		}
	}
}

// Hide returns s without the values that were decrypted so far.
func (t *Tree) Hide(s string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []string
	for v := range t.values {
		if strings.Contains(s, v) {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(x, y string) int { return len(y) - len(x) }) // a part of another goes last
	for _, v := range found {
		s = strings.ReplaceAll(s, v, redacted)
	}
	return s
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
