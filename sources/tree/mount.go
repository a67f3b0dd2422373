package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"fairlead.dev/sources"
)

// Mounted returns base with the trees of mounts below the folder dir, by name. They hide
// what base has there. Dir has one element. Symbolic links lead neither from one tree to
// another nor out of any.
func Mounted(base sources.Tree, dir string, mounts map[string]sources.Tree) sources.Tree {
	if len(mounts) == 0 {
		return base
	}
	return &mounted{Tree: base, dir: dir, mounts: mounts}
}

type mounted struct {
	sources.Tree // the base

	dir    string
	mounts map[string]sources.Tree
}

var (
	_ sources.Judged = (*mounted)(nil)
	_ fs.ReadDirFS   = (*mounted)(nil)
	_ fs.ReadFileFS  = (*mounted)(nil)
	_ fs.StatFS      = (*mounted)(nil)
	_ fs.ReadLinkFS  = (*mounted)(nil)
)

// at returns the tree with name, the name in that tree, and the tree's root.
func (m *mounted) at(name string) (sources.Tree, string, string) {
	rest, ok := strings.CutPrefix(name, m.dir+"/")
	if !ok || !fs.ValidPath(name) {
		return m.Tree, name, ""
	}
	first, below, _ := strings.Cut(rest, "/")
	t, ok := m.mounts[first]
	if !ok {
		return m.Tree, name, ""
	}
	if below == "" {
		below = "."
	}
	return t, below, path.Join(m.dir, first)
}

// above reports whether name is a folder above mounts.
func (m *mounted) above(name string) bool { return name == "." || name == m.dir }

// Stat implements fs.StatFS.
func (m *mounted) Stat(name string) (fs.FileInfo, error) {
	t, in, root := m.at(name)
	info, err := fs.Stat(t, in)
	switch {
	case m.above(name) && errors.Is(err, fs.ErrNotExist):
		return folderInfo(name), nil
	case err != nil:
		return nil, placed(err, root)
	case in == ".":
		return folderInfo(path.Base(name)), nil
	}
	return info, nil
}

func folderInfo(name string) info { return info{Entry{Name: name, Mode: fs.ModeDir}} }

// placed corrects the path in err to the path in the whole tree.
func placed(err error, root string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && root != "" {
		return &fs.PathError{Op: e.Op, Path: path.Join(root, e.Path), Err: e.Err}
	}
	return err
}

// Lstat implements fs.ReadLinkFS.
func (m *mounted) Lstat(name string) (fs.FileInfo, error) {
	if t, in, root := m.at(name); in != "." && !m.above(name) {
		i, err := fs.Lstat(t, in)
		return i, placed(err, root)
	}
	return m.Stat(name)
}

// ReadLink implements fs.ReadLinkFS.
func (m *mounted) ReadLink(name string) (string, error) {
	t, in, root := m.at(name)
	to, err := fs.ReadLink(t, in)
	return to, placed(err, root)
}

// ReadFile implements fs.ReadFileFS.
func (m *mounted) ReadFile(name string) ([]byte, error) {
	t, in, root := m.at(name)
	b, err := fs.ReadFile(t, in)
	return b, placed(err, root)
}

// ReadDir implements fs.ReadDirFS.
func (m *mounted) ReadDir(name string) ([]fs.DirEntry, error) {
	t, in, root := m.at(name)
	list, err := fs.ReadDir(t, in)
	if !m.above(name) {
		return list, placed(err, root)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := []string{m.dir}
	if name == m.dir {
		names = slices.Collect(maps.Keys(m.mounts))
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) })
	for _, n := range names {
		list = append(list, fs.FileInfoToDirEntry(folderInfo(n)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Open implements fs.FS.
func (m *mounted) Open(name string) (fs.File, error) {
	t, in, root := m.at(name)
	info, err := m.Stat(name)
	if err == nil && info.IsDir() {
		list, err := m.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &openDir{info: folderInfo(path.Base(name)), list: list}, nil
	}
	f, err := t.Open(in)
	return f, placed(err, root)
}

// Digest implements sources.Tree.
func (m *mounted) Digest(name string) (string, error) {
	t, in, root := m.at(name)
	own, err := t.Digest(in)
	if !m.above(name) {
		return own, placed(err, root)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", own)
	for _, n := range slices.Sorted(maps.Keys(m.mounts)) {
		d, err := m.mounts[n].Digest(".")
		if err != nil {
			return "", placed(err, path.Join(m.dir, n))
		}
		fmt.Fprintf(h, "%q %s\n", n, d)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Bad implements sources.Judged.
func (m *mounted) Bad(dir string) []sources.BadEntry {
	t, in, root := m.at(dir)
	j, ok := t.(sources.Judged)
	if !ok {
		return nil
	}
	out := slices.Clone(j.Bad(in))
	for i := range out {
		out[i].Folder = path.Join(root, out[i].Folder)
	}
	return slices.DeleteFunc(out, func(b sources.BadEntry) bool {
		_, hidden := m.mounts[b.Name]
		return hidden && dir == m.dir
	})
}

// Unavailable returns a tree whose calls all fail with err.
func Unavailable(err error) sources.Tree { return unavailable{err} }

type unavailable struct{ err error }

var _ fs.ReadLinkFS = unavailable{}

func (u unavailable) fail(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: u.err}
}

func (u unavailable) Open(name string) (fs.File, error)      { return nil, u.fail("open", name) }
func (u unavailable) Stat(name string) (fs.FileInfo, error)  { return nil, u.fail("stat", name) }
func (u unavailable) Lstat(name string) (fs.FileInfo, error) { return nil, u.fail("lstat", name) }
func (u unavailable) ReadLink(name string) (string, error)   { return "", u.fail("readlink", name) }
func (u unavailable) Digest(name string) (string, error)     { return "", u.fail("stat", name) }
