package oci

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"fairlead.dev/sources/tree"
)

// A folder is a folder of an archive. A name may occur in it more than once, which the tree
// refuses.
type folder struct {
	files   []tree.Entry
	folders map[string]*folder
}

// objects is the content of an archive. It does not change afterwards.
type objects struct {
	root  string // id of the root folder
	dirs  map[string][]tree.Entry
	files map[string][]byte
	bytes int64
}

// Dir implements tree.Objects.
func (o *objects) Dir(id string) ([]tree.Entry, error) { return o.dirs[id], nil }

// File implements tree.Objects.
func (o *objects) File(id string) ([]byte, error) { return o.files[id], nil }

// folder returns the id of the folder at path; false where there is none.
func (o *objects) folder(at string) (string, bool) {
	id := o.root
	if at == "." {
		return id, true
	}
	for name := range strings.SplitSeq(at, "/") {
		entries := o.dirs[id]
		i := slices.IndexFunc(entries, func(e tree.Entry) bool { return e.Name == name && e.Mode.IsDir() })
		if i < 0 {
			return "", false
		}
		id = entries[i].ID
	}
	return id, true
}

// marked reports whether the folder at path has one of names in it.
func (o *objects) marked(at string, names []string) bool {
	id, ok := o.folder(at)
	return ok && slices.ContainsFunc(o.dirs[id], func(e tree.Entry) bool { return slices.Contains(names, e.Name) })
}

// An unpacker reads an archive into memory.
type unpacker struct {
	budget tree.Budget
	begin  []string // path of the folder whose files are read
	known  func(id string) ([]byte, bool)
	root   *folder
	out    *objects
	files  int
}

// unpack returns the content of an archive, tar in gzip, with the files of the folder begin
// only. Content that known returns is not kept a second time. An archive that cannot be
// read, or exceeds the budget, is an error of kind Invalid. A bad name or file becomes a
// bad entry of its folder.
func unpack(data []byte, budget tree.Budget, begin string, known func(id string) ([]byte, bool)) (*objects, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, refuse("its content is not packed by gzip: %w", err)
	}
	u := &unpacker{budget: budget, known: known, root: &folder{}, out: &objects{dirs: map[string][]tree.Entry{}, files: map[string][]byte{}}}
	if begin != "." {
		u.begin = strings.Split(begin, "/")
	}
	// Headers count too, since there may be many without content.
	whole := &io.LimitedReader{R: z, N: 2*budget.Bytes + 1024*int64(budget.Files)}
	r := tar.NewReader(whole)
	for {
		h, err := r.Next()
		if whole.N <= 0 {
			return nil, refuse("its content unfolds to more than %d bytes", 2*budget.Bytes)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, refuse("its content is not packed by tar: %w", err)
		}
		if err := u.entry(h, r); err != nil {
			return nil, err
		}
	}
	u.out.root = u.seal(u.root)
	return u.out, nil
}

// entry reads the entry of header h.
func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if err := u.count(h.Name); err != nil {
		return err
	}
	if u.out.bytes += int64(len(h.Name) + len(h.Linkname)); u.out.bytes > u.budget.Bytes {
		return refuse("its files and their names have more than %d bytes (counted up to %.200q)", u.budget.Bytes, h.Name)
	}
	parts, dir := elements(h.Name), h.Typeflag == tar.TypeDir
	if most := u.budget.Depth + len(u.begin) + 1; len(parts) > most {
		parts, dir = parts[:most], true // a folder that is too deep for a tree
	}
	if dir {
		_, err := u.folder(parts, h.Name)
		return err
	}
	if len(parts) == 0 {
		parts = []string{""}
	}
	last := len(parts) - 1
	e := tree.Entry{Name: parts[last]}
	switch h.Typeflag {
	case tar.TypeReg:
		if err := u.file(&e, parts, h, r); err != nil {
			return err
		}
	case tar.TypeSymlink:
		e.Mode = fs.ModeSymlink
		u.keep(&e, []byte(h.Linkname))
	default: // hard links as well: what they stand for is in the archive by its own name
		e.Mode, e.ID = fs.ModeIrregular, fmt.Sprintf("special:%q", h.Typeflag)
	}
	f, err := u.folder(parts[:last], h.Name)
	if err != nil {
		return err
	}
	f.files = append(f.files, e)
	return nil
}

// count counts a file or folder called name.
func (u *unpacker) count(name string) error {
	if u.files++; u.files > u.budget.Files {
		return refuse("it has more than %d files and folders (counted up to %.200q)", u.budget.Files, name)
	}
	return nil
}

// file reads the content of e, at parts, unless it is outside the folder begin or too
// large.
func (u *unpacker) file(e *tree.Entry, parts []string, h *tar.Header, r io.Reader) error {
	e.Size = h.Size
	if h.Size > u.budget.FileBytes || len(parts) <= len(u.begin) || !slices.Equal(parts[:len(u.begin)], u.begin) {
		e.ID = fmt.Sprintf("unread:%d", h.Size)
		return nil
	}
	if u.out.bytes += h.Size; u.out.bytes > u.budget.Bytes {
		return refuse("its files and their names have more than %d bytes (counted up to %.200q)", u.budget.Bytes, h.Name)
	}
	content := make([]byte, h.Size)
	if _, err := io.ReadFull(r, content); err != nil {
		return refuse("file %.200q is cut off: %w", h.Name, err)
	}
	u.keep(e, content)
	return nil
}

func (u *unpacker) keep(e *tree.Entry, content []byte) {
	e.ID, e.Size = digestOf(content), int64(len(content))
	if same, ok := u.known(e.ID); ok {
		content = same
	}
	u.out.files[e.ID] = content
}

// elements splits a path. An element such as .. stays, as a name that the tree refuses.
func elements(name string) []string {
	var parts []string
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part != "." {
			parts = append(parts, part)
		}
	}
	if name == "" || name == "/" {
		return nil
	}
	return parts
}

// folder returns the folder at parts, and creates missing ones.
func (u *unpacker) folder(parts []string, name string) (*folder, error) {
	f := u.root
	for _, part := range parts {
		next, ok := f.folders[part]
		if !ok {
			if err := u.count(name); err != nil {
				return nil, err
			}
			if f.folders == nil {
				f.folders = map[string]*folder{}
			}
			next = &folder{}
			f.folders[part] = next
		}
		f = next
	}
	return f, nil
}

// seal computes the id of the folder f.
func (u *unpacker) seal(f *folder) string {
	entries := f.files
	for name, sub := range f.folders {
		entries = append(entries, tree.Entry{Name: name, Mode: fs.ModeDir, ID: u.seal(sub)})
	}
	slices.SortFunc(entries, func(a, b tree.Entry) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.ID, b.ID))
	})
	hash := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(hash, "%d %s %q\n", e.Mode, e.ID, e.Name)
	}
	id := "sha256:" + hex.EncodeToString(hash.Sum(nil))
	u.out.dirs[id] = entries
	return id
}
