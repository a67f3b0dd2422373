package dir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// ignored reports whether files called name are outside the fleet.
func ignored(name string) bool { return name == ".git" || name == ".fairlead" }

// A scanner reads a folder into objects that are addressed by content. It remembers them,
// and reads only files that changed. It is not safe for concurrent use.
type scanner struct {
	root   string
	budget tree.Budget
	known  map[string]file
}

// A file is what was read at one path.
type file struct {
	read    int64 // its size when it was read
	size    int64 // size of its content
	changed time.Time
	id      string
	data    []byte // nil: the content is not kept
}

// tooDeep begins the id of folders that are nested too deeply to be read.
const tooDeep = "deep:"

// maxScanned is how many files the folder may have, as a multiple of those a fleet may
// have.
const maxScanned = 10

// racy is the age from which an equal time and size prove that a file did not change:
// clocks of filesystems are coarse.
const racy = 2 * time.Second

func newScanner(root string, b tree.Budget) *scanner {
	return &scanner{root: root, budget: b.WithDefaults(), known: map[string]file{}}
}

// objects is the content of one scan. It does not change afterwards.
type objects struct {
	dirs  map[string][]tree.Entry
	files map[string][]byte
	rest  map[string]string // names of files that are read on demand, by id
	root  string
	most  int64 // largest size of a file, in bytes
}

func (o *objects) Dir(id string) ([]tree.Entry, error) { return o.dirs[id], nil }

// File implements tree.Objects.
func (o *objects) File(id string) ([]byte, error) {
	if data, ok := o.files[id]; ok {
		return data, nil
	}
	name, ok := o.rest[id]
	if !ok {
		return nil, errors.New("it is not there")
	}
	root, err := os.OpenRoot(o.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := readFile(root, name, o.most)
	if err == nil && digest(data) != id {
		err = fleet.Errorf(fleet.Unavailable, "read "+name, "the file has changed since")
	}
	return data, err
}

// A pass is one scan.
type pass struct {
	ctx   context.Context //nolint:containedctx // a pass is one call
	root  *os.Root
	seen  map[string]file
	out   *objects
	files int
	bytes int64
}

// scan returns the id of the folder's content, and the content. It does not follow links:
// nothing outside the folder is opened.
func (s *scanner) scan(ctx context.Context) (string, *objects, error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	p := &pass{ctx: ctx, root: root, seen: map[string]file{}, out: &objects{
		dirs: map[string][]tree.Entry{}, files: map[string][]byte{}, rest: map[string]string{}, root: s.root, most: s.budget.FileBytes,
	}}
	id, err := s.folder(p, ".", 0)
	if err != nil {
		return "", nil, err
	}
	s.known = p.seen
	return id, p.out, nil
}

func (s *scanner) refuse(format string, args ...any) error {
	return fleet.Errorf(fleet.Invalid, "accept the content of the folder", format, args...)
}

func (s *scanner) folder(p *pass, name string, depth int) (string, error) {
	if depth > s.budget.Depth {
		return tooDeep, nil // the tree refuses such a folder by its path
	}
	if err := context.Cause(p.ctx); err != nil {
		return "", err
	}
	list, err := fs.ReadDir(p.root.FS(), name)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	var entries []tree.Entry
	for _, d := range list {
		if ignored(d.Name()) {
			continue
		}
		if p.files++; p.files > maxScanned*s.budget.Files {
			return "", s.refuse("it has more than %d files and folders (counted up to %q): name the folder of the fleet in it", maxScanned*s.budget.Files, path.Join(name, d.Name()))
		}
		e, err := s.entry(p, path.Join(name, d.Name()), d, depth)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it vanished meanwhile, as temporary files of editors do
		}
		if err != nil {
			return "", err
		}
		entries = append(entries, e)
		fmt.Fprintf(hash, "%d %s %q\n", e.Mode, e.ID, e.Name)
	}
	id := "sha256:" + hex.EncodeToString(hash.Sum(nil))
	p.out.dirs[id] = entries
	return id, nil
}

func (s *scanner) entry(p *pass, name string, d fs.DirEntry, depth int) (tree.Entry, error) {
	e := tree.Entry{Name: d.Name(), Mode: d.Type()}
	var err error
	switch e.Mode {
	case fs.ModeDir:
		e.ID, err = s.folder(p, name, depth+1)
	case fs.ModeSymlink:
		var to string
		if to, err = p.root.Readlink(filepath.FromSlash(name)); err == nil {
			e.ID = digest([]byte(to))
			p.out.files[e.ID] = []byte(to)
		}
	case 0:
		var f file
		if f, err = s.file(p, name, d); err == nil {
			e.ID, e.Size = f.id, f.size
		}
	default:
		e.Mode = fs.ModeIrregular
	}
	return e, err
}

// file returns the file called name. A file that is too large is not read. When the budget
// for all files is spent, contents stay on the disk.
func (s *scanner) file(p *pass, name string, d fs.DirEntry) (file, error) {
	info, err := d.Info()
	if err != nil {
		return file{}, err
	}
	if info.Size() > s.budget.FileBytes {
		return file{size: info.Size(), id: fmt.Sprintf("large:%d:%d", info.Size(), info.ModTime().UnixNano())}, nil
	}
	f, ok := s.known[name]
	if !ok || f.read != info.Size() || !f.changed.Equal(info.ModTime()) || time.Since(info.ModTime()) < racy {
		data, err := readFile(p.root, name, s.budget.FileBytes)
		if err != nil {
			return file{}, err
		}
		f = file{read: info.Size(), size: int64(len(data)), changed: info.ModTime(), id: digest(data), data: data}
	}
	if p.bytes += f.size; p.bytes > s.budget.Bytes {
		f.data = nil
	}
	p.seen[name] = f
	if f.data == nil && f.size > 0 {
		p.out.rest[f.id] = name
	} else {
		p.out.files[f.id] = f.data
	}
	return f, nil
}

// readFile reads a file of at most most bytes. The file may grow meanwhile.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	r, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fleet.Errorf(fleet.Unavailable, "read "+name, "the file grew to more than %d bytes while it was read", most)
	}
	return data, err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
