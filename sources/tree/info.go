package tree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"time"
)

// info is an Entry as fs.FileInfo. Content has no times.
type info struct{ e Entry }

func (i info) Name() string { return i.e.Name }

func (i info) Size() int64 { return i.e.Size }

func (i info) ModTime() time.Time { return time.Time{} }

func (i info) IsDir() bool { return i.e.Mode.IsDir() }

func (i info) Sys() any { return nil }

func (i info) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return i.e.Mode | 0o444
}

type openFile struct {
	*bytes.Reader
	info info
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *openFile) Close() error { return nil }

type openDir struct {
	info info
	list []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *openDir) Close() error { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a folder")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		list := d.list
		d.list = nil
		return list, nil
	}
	if len(d.list) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.list))
	list := d.list[:n:n]
	d.list = d.list[n:]
	return list, nil
}
