package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
)

// A Root is the folder that names begin at, as *os.Root is one.
type Root interface {
	Open(name string) (*os.File, error)
	OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error)
	Mkdir(name string, mode fs.FileMode) error
	Remove(name string) error
	Rename(from, to string) error
}

var _ Root = (*os.Root)(nil)

// Temporary returns the name under which Replace writes the file called name. It is
// always the same, so that what crashes leave behind does not pile up.
func Temporary(name string) string { return path.Join(path.Dir(name), "."+path.Base(name)+".new") }

// Replace makes content the whole of the file called name. The file has mode, less the
// process's umask.
func Replace(root Root, name string, content []byte, mode fs.FileMode) error {
	if err := Stage(root, name, content, mode); err != nil {
		return err
	}
	return Land(root, name)
}

// Stage writes content to the disk, as Replace does, under the name Temporary(name). The
// file is a new one: what lies there under that name is removed, and who made it or reads
// it sees nothing of content.
func Stage(root Root, name string, content []byte, mode fs.FileMode) error {
	temporary := Temporary(name)
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return Create(root, temporary, content, mode)
}

// Create makes a file that was not there before, and brings its content to the disk. Its
// name is on the disk after a Sync of its folder.
func Create(root Root, name string, content []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// Land makes what was staged for the file called name that file.
func Land(root Root, name string) error {
	if err := root.Rename(Temporary(name), name); err != nil {
		return err
	}
	return Sync(root, path.Dir(name))
}

// ReplaceFile is like Replace, for a name of the file system.
func ReplaceFile(name string, content []byte, mode fs.FileMode) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	return Replace(root, filepath.Base(name), content, mode)
}

// MakeFolder makes a folder, and those above it, with mode. A folder that is there stays
// unchanged.
func MakeFolder(root Root, name string, mode fs.FileMode) error {
	if above := path.Dir(name); above != "." {
		if err := MakeFolder(root, above, mode); err != nil {
			return err
		}
	}
	err := root.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return Sync(root, path.Dir(name))
}

// Sync brings the names in a folder to the disk. Windows does that by itself, and
// opens no folder for it.
func Sync(root Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
