package dir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/files"
	"fairlead.dev/sources/tree"
)

// A disk makes files last. Tests look at the calls to it.
type disk struct {
	create func(root files.Root, name string, content []byte, mode fs.FileMode) error
	sync   func(root files.Root, name string) error
}

// write writes t, which is the content of the folder from, with edits to the folder to. A
// file without an edit becomes a hard link, which is on the disk already. Where the file
// system has no hard links it is a copy.
func (b *Branch) write(from, to string, t *tree.Tree, edits map[string][]byte) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	put := func(name string, content []byte) error {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		return b.disk.create(root, name, content, 0o644)
	}
	err = fs.WalkDir(t, ".", func(name string, d fs.DirEntry, err error) error {
		if _, edited := edits[name]; edited || err != nil || d.IsDir() {
			return err
		}
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if os.Link(filepath.Join(from, filepath.FromSlash(name)), filepath.Join(to, filepath.FromSlash(name))) == nil {
			return nil
		}
		content, err := t.ReadFile(name)
		if err != nil {
			return err
		}
		return put(name, content)
	})
	if err != nil {
		return err
	}
	for name, content := range edits {
		if name == "." || !fs.ValidPath(name) {
			return fleet.Errorf(fleet.Invalid, "write", "%q is not a path in the branch", name)
		}
		if content == nil {
			continue
		}
		if err := put(name, content); err != nil {
			return err
		}
	}
	return nil
}

// land makes draft the generation called name, and brings it to the disk.
func (b *Branch) land(draft, name string) error {
	target := filepath.Join(b.path, generationsDir, name)
	if err := errors.Join(os.RemoveAll(target), os.Rename(draft, target)); err != nil {
		return err
	}
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), path.Join(generationsDir, name), func(folder string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return b.disk.sync(root, folder)
	})
	return errors.Join(err, b.disk.sync(root, generationsDir))
}

// link makes the generation called name the head.
func (b *Branch) link(name string) error {
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return err
	}
	defer root.Close()
	link := filepath.Join(b.path, linkName)
	if err := errors.Join(os.RemoveAll(link+".new"), os.Symlink(generationsDir+"/"+name, link+".new"), os.Rename(link+".new", link)); err != nil {
		return err
	}
	return b.disk.sync(root, ".")
}
