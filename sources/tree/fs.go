package tree

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	"fairlead.dev/sources"
)

// Bounds on the symbolic links on the way to one file, as Linux has them.
const (
	maxLinks  = 40
	maxTarget = 4096
)

// A Tree is a checked tree as a filesystem. It is safe for concurrent use.
type Tree struct {
	index *Index
	root  *folder
	lazy  bool
}

var (
	_ sources.Tree   = (*Tree)(nil)
	_ sources.Judged = (*Tree)(nil)
	_ fs.ReadDirFS   = (*Tree)(nil)
	_ fs.ReadFileFS  = (*Tree)(nil)
	_ fs.StatFS      = (*Tree)(nil)
	_ fs.ReadLinkFS  = (*Tree)(nil)
)

// Bytes returns the size of its files, as a walk counts them.
func (t *Tree) Bytes() int64 { return t.root.bytes }

// Digest implements sources.Tree.
func (t *Tree) Digest(name string) (string, error) {
	e, err := t.find("stat", name)
	return e.ID, err
}

// Stat implements fs.StatFS. It follows links.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	e, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return info{e}, nil
}

// Lstat implements fs.ReadLinkFS.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	e, err := t.lfind("lstat", name)
	if err != nil {
		return nil, err
	}
	return info{e}, nil
}

// ReadLink implements fs.ReadLinkFS. The target may be refused when followed.
func (t *Tree) ReadLink(name string) (string, error) {
	e, err := t.lfind("readlink", name)
	if err != nil {
		return "", err
	}
	if e.Mode.Type() != fs.ModeSymlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	b, err := t.index.objects.File(e.ID)
	return string(b), err
}

// ReadFile implements fs.ReadFileFS.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	b, err := t.content(e, name)
	return bytes.Clone(b), err
}

// ReadDir implements fs.ReadDirFS. Links are shown as links.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	e, level, err := t.locate("open", name)
	if err != nil {
		return nil, err
	}
	if !e.Mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a folder")}
	}
	f, err := t.folder(e)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	entries := t.given(f, level)
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = fs.FileInfoToDirEntry(info{e})
	}
	return list, nil
}

// Open implements fs.FS.
func (t *Tree) Open(name string) (fs.File, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if e.Mode.IsDir() {
		list, err := t.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &openDir{info: info{e}, list: list}, nil
	}
	b, err := t.content(e, name)
	if err != nil {
		return nil, err
	}
	return &openFile{Reader: bytes.NewReader(b), info: info{e}}, nil
}

func (t *Tree) content(e Entry, name string) ([]byte, error) {
	switch {
	case e.Mode.IsDir():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder")}
	case !e.Mode.IsRegular():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a submodule or special file, which is not followed: put its content into the repository")}
	}
	if err := t.readable(e, name); err != nil {
		return nil, err
	}
	b, err := t.index.objects.File(e.ID)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	if isLFSPointer(b) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errLFS}
	}
	return b, nil
}

var errLFS = errors.New("is a Git LFS pointer and not its content, which is not fetched: keep the file in Git itself (git lfs untrack, and add it again)")

// isLFSPointer reports whether b is a pointer of Git LFS. Source: Git LFS, docs/spec.md.
func isLFSPointer(b []byte) bool {
	return len(b) < 1024 && bytes.HasPrefix(b, []byte("version https://git-lfs.github.com/spec/")) && bytes.Contains(b, []byte("\noid sha256:"))
}

// find returns the entry at name with all links followed.
func (t *Tree) find(op, name string) (Entry, error) {
	e, _, err := t.locate(op, name)
	return e, err
}

// locate is find, and also returns the depth of the entry below the root.
func (t *Tree) locate(op, name string) (Entry, int, error) {
	if !fs.ValidPath(name) {
		return Entry{}, 0, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, level, err := t.walk(name)
	if err != nil {
		return Entry{}, 0, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if name != "." {
		e.Name = path.Base(name)
	}
	return e, level, nil
}

// lfind returns the entry at name. It follows links on the way, but not the entry itself.
func (t *Tree) lfind(op, name string) (Entry, error) {
	parent, err := t.find(op, path.Dir(name))
	if err != nil || name == "." {
		return parent, err
	}
	if parent.Mode.IsDir() {
		f, err := t.folder(parent)
		if err != nil {
			return Entry{}, &fs.PathError{Op: op, Path: name, Err: err}
		}
		if i, ok := f.names[path.Base(name)]; ok {
			return f.entries[i], nil
		}
		return Entry{}, &fs.PathError{Op: op, Path: name, Err: f.absent(path.Base(name))}
	}
	return Entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// walk goes from the root to name, one element at a time, and replaces each link by its
// target.
func (t *Tree) walk(name string) (Entry, int, error) {
	root := Entry{Name: ".", Mode: fs.ModeDir, ID: t.root.id}
	rest, here, at := strings.Split(name, "/"), []Entry{root}, []string{}
	link := ""
	for links := 0; len(rest) > 0; {
		elem := rest[0]
		rest = rest[1:]
		switch elem {
		case ".", "":
			continue
		case "..":
			if len(at) == 0 {
				return Entry{}, 0, refuse("symbolic link %q points out of the repository", link)
			}
			here, at = here[:len(here)-1], at[:len(at)-1]
			continue
		}
		dir := here[len(here)-1]
		if !dir.Mode.IsDir() {
			return Entry{}, 0, fs.ErrNotExist
		}
		if t.tooDeep(len(at)) {
			return Entry{}, 0, refuse("%q is more than %d folders deep", path.Join(at...), t.index.budget.Depth)
		}
		f, err := t.folder(dir)
		if err != nil {
			return Entry{}, 0, err
		}
		i, ok := f.names[elem]
		if !ok {
			return Entry{}, 0, f.absent(elem)
		}
		e := f.entries[i]
		if e.Mode.Type() != fs.ModeSymlink {
			here, at = append(here, e), append(at, elem)
			continue
		}
		link = path.Join(path.Join(at...), elem)
		if links++; links > maxLinks {
			return Entry{}, 0, refuse("symbolic link %q leads in a circle", link)
		}
		target, err := t.target(e, link)
		if err != nil {
			return Entry{}, 0, err
		}
		rest = append(target, rest...)
	}
	return here[len(here)-1], len(at), nil
}

// target returns the elements of the path that the link e, at path link, leads to.
func (t *Tree) target(e Entry, link string) ([]string, error) {
	b, err := t.index.objects.File(e.ID)
	if err != nil {
		return nil, err
	}
	if len(b) > maxTarget {
		return nil, refuse("symbolic link %q has a target of %d bytes", link, len(b))
	}
	to := string(b)
	if to == "" || strings.HasPrefix(to, "/") || strings.ContainsAny(to, "\\\x00") {
		return nil, refuse("symbolic link %q points to %q: only relative links within the repository are followed", link, to)
	}
	return strings.Split(to, "/"), nil
}
