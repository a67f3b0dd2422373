package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// A scanned is the file system of one build: the files of a Scan under "/", read-only. It
// has only the methods that kustomize calls in a build.
type scanned struct {
	files map[string][]byte
	dirs  map[string]bool
}

var _ filesys.FileSystem = (*scanned)(nil)

func newScanned(files map[string][]byte) *scanned {
	s := &scanned{files: make(map[string][]byte, len(files)), dirs: map[string]bool{"/": true}}
	for name, data := range files {
		name = path.Join("/", name)
		s.files[name] = data
		for dir := path.Dir(name); !s.dirs[dir]; dir = path.Dir(dir) {
			s.dirs[dir] = true
		}
	}
	return s
}

// ReadFile implements filesys.FileSystem.
func (s *scanned) ReadFile(name string) ([]byte, error) {
	data, ok := s.files[path.Join("/", name)]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return data, nil
}

// IsDir implements filesys.FileSystem.
func (s *scanned) IsDir(name string) bool { return s.dirs[path.Join("/", name)] }

// Exists implements filesys.FileSystem.
func (s *scanned) Exists(name string) bool {
	_, ok := s.files[path.Join("/", name)]
	return ok || s.IsDir(name)
}

// CleanedAbs implements filesys.FileSystem.
func (s *scanned) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	name = path.Join("/", name)
	if s.dirs[name] {
		return filesys.ConfirmedDir(name), "", nil
	}
	if _, ok := s.files[name]; ok {
		return filesys.ConfirmedDir(path.Dir(name)), path.Base(name), nil
	}
	return "", "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func refused(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
}

// Create implements filesys.FileSystem.
func (s *scanned) Create(name string) (filesys.File, error) { return nil, refused("create", name) }

// Open implements filesys.FileSystem.
func (s *scanned) Open(name string) (filesys.File, error) { return nil, refused("open", name) }

// Mkdir implements filesys.FileSystem.
func (s *scanned) Mkdir(name string) error { return refused("mkdir", name) }

// MkdirAll implements filesys.FileSystem.
func (s *scanned) MkdirAll(name string) error { return refused("mkdir", name) }

// RemoveAll implements filesys.FileSystem.
func (s *scanned) RemoveAll(name string) error { return refused("remove", name) }

// WriteFile implements filesys.FileSystem.
func (s *scanned) WriteFile(name string, _ []byte) error { return refused("write", name) }

// ReadDir implements filesys.FileSystem.
func (s *scanned) ReadDir(name string) ([]string, error) { return nil, refused("list", name) }

// Glob implements filesys.FileSystem.
func (s *scanned) Glob(pattern string) ([]string, error) { return nil, refused("list", pattern) }

// Walk implements filesys.FileSystem.
func (s *scanned) Walk(name string, _ filepath.WalkFunc) error { return refused("list", name) }
