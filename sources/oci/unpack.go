package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/sources/tree"
)

// A folder is one of an archive that is being read.
type folder struct {
	entries map[string]tree.Entry
	folders map[string]*folder
}

func newFolder() *folder {
	return &folder{entries: map[string]tree.Entry{}, folders: map[string]*folder{}}
}

// objects is the content of an archive. It is not changed after it was read.
type objects struct {
	dirs  map[string][]tree.Entry
	files map[string][]byte
}

// Dir implements tree.Objects.
func (o *objects) Dir(id string) ([]tree.Entry, error) { return o.dirs[id], nil }

// File implements tree.Objects.
func (o *objects) File(id string) ([]byte, error) { return o.files[id], nil }

// An unpacker reads an archive into memory, and nothing onto a disk.
type unpacker struct {
	budget tree.Budget
	root   *folder
	out    *objects
	files  int
	bytes  int64
}

// unpack returns the content of an archive, tar in gzip. The error for one that breaks the
// budget, or that means something else than files, folders and links in the archive, is of
// kind Invalid.
func unpack(data []byte, budget tree.Budget) (*tree.Tree, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, refuse("its content is not packed by gzip: %w", err)
	}
	u := &unpacker{budget: budget, root: newFolder(), out: &objects{dirs: map[string][]tree.Entry{}, files: map[string][]byte{}}}
	// Headers count as well: there may be many of nothing.
	whole := &io.LimitedReader{R: z, N: 2*budget.Bytes + 1024*int64(budget.Files)}
	r := tar.NewReader(whole)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = u.entry(h, r)
		} else {
			err = refuse("its content is not packed by tar: %w", err)
		}
		if whole.N <= 0 {
			err = refuse("its content unfolds to more than %d bytes", 2*budget.Bytes)
		}
		if err != nil {
			return nil, err
		}
	}
	if whole.N <= 0 {
		return nil, refuse("its content unfolds to more than %d bytes", 2*budget.Bytes)
	}
	return tree.NewIndex(u.out, budget).Tree(u.seal(u.root))
}

// entry takes what h describes.
func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if u.files++; u.files > u.budget.Files {
		return refuse("it has more than %d files and folders (counted up to %.200q)", u.budget.Files, h.Name)
	}
	parts, err := u.path(h.Name)
	if err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		_, err := u.folder(parts, h.Name)
		return err
	}
	if len(parts) == 0 {
		return refuse("it has an entry without a name")
	}
	e := tree.Entry{Name: parts[len(parts)-1]}
	var content []byte
	switch h.Typeflag {
	case tar.TypeReg:
		if content, err = u.file(h, r); err != nil {
			return err
		}
	case tar.TypeSymlink:
		e.Mode, content = fs.ModeSymlink, []byte(h.Linkname)
	case tar.TypeLink:
		return refuse("%.200q is a hard link: pack the file itself", h.Name)
	default:
		return refuse("%.200q is neither a file nor a folder nor a symbolic link", h.Name)
	}
	f, err := u.folder(parts[:len(parts)-1], h.Name)
	if err != nil {
		return err
	}
	_, file := f.entries[e.Name]
	if _, dir := f.folders[e.Name]; file || dir {
		return refuse("it has %.200q twice", h.Name)
	}
	e.ID, e.Size = digestOf(content), int64(len(content))
	f.entries[e.Name] = e
	u.out.files[e.ID] = content
	return nil
}

// file returns the content of a file within the budget.
func (u *unpacker) file(h *tar.Header, r io.Reader) ([]byte, error) {
	if h.Size > u.budget.FileBytes {
		return nil, refuse("file %.200q has %d bytes, more than %d", h.Name, h.Size, u.budget.FileBytes)
	}
	if u.bytes += h.Size; u.bytes > u.budget.Bytes {
		return nil, refuse("its files have more than %d bytes (counted up to %.200q)", u.budget.Bytes, h.Name)
	}
	content := make([]byte, h.Size)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, refuse("file %.200q is cut off: %w", h.Name, err)
	}
	return content, nil
}

// path returns the elements of the name of an entry, which leads nowhere else. What else
// may be wrong with a name the index says.
func (u *unpacker) path(name string) ([]string, error) {
	if strings.HasPrefix(name, "/") {
		return nil, refuse("it has the absolute path %.200q", name)
	}
	var parts []string
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		switch part {
		case ".":
			continue
		case "", "..":
			return nil, refuse("the path %.200q leads out of its folder", name)
		}
		parts = append(parts, part)
	}
	if len(parts) > u.budget.Depth+1 {
		return nil, refuse("%.200q is more than %d folders deep", name, u.budget.Depth)
	}
	return parts, nil
}

// folder returns the folder at parts, and makes those that are missing on the way.
func (u *unpacker) folder(parts []string, name string) (*folder, error) {
	f := u.root
	for _, part := range parts {
		if _, file := f.entries[part]; file {
			return nil, refuse("%.200q is in a folder that is a file or a link", name)
		}
		next, ok := f.folders[part]
		if !ok {
			if u.files++; u.files > u.budget.Files {
				return nil, refuse("it has more than %d files and folders (counted up to %.200q)", u.budget.Files, name)
			}
			next = newFolder()
			f.folders[part] = next
		}
		f = next
	}
	return f, nil
}

// seal writes down the folder f and returns its id.
func (u *unpacker) seal(f *folder) string {
	for name, sub := range f.folders {
		f.entries[name] = tree.Entry{Name: name, Mode: fs.ModeDir, ID: u.seal(sub)}
	}
	hash := sha256.New()
	var entries []tree.Entry
	for _, name := range slices.Sorted(maps.Keys(f.entries)) {
		e := f.entries[name]
		entries = append(entries, e)
		fmt.Fprintf(hash, "%d %s %q\n", e.Mode, e.ID, e.Name)
	}
	id := "sha256:" + hex.EncodeToString(hash.Sum(nil))
	u.out.dirs[id] = entries
	return id
}
