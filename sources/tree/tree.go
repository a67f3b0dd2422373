// Package tree serves the content of one revision as a read-only filesystem.
//
// Content is addressed by identity: a folder is a list of entries, each with the id of its
// content, and equal ids mean equal content. So a whole tree can be checked cheaply before
// it is walked: each distinct folder is counted once, however often it occurs, and a bomb
// of equal subtrees is refused after each folder was read once.
//
// Symbolic links are followed within the tree and never out of it. Names that could harm a
// checkout are refused, though nothing is checked out here.
package tree

import (
	"io/fs"

	"fairlead.dev/fleet"
)

// Objects is a store of content by id. It is safe for concurrent use.
type Objects interface {
	// Dir returns the entries of the folder id, in any order. The empty id is
	// the empty folder.
	Dir(id string) ([]Entry, error)
	// File returns the content of the file or the target of the link id. The
	// caller must not change it.
	File(id string) ([]byte, error)
}

// An Entry is one name in a folder.
type Entry struct {
	Name string
	// Mode has type bits only: 0 for a file, fs.ModeDir, fs.ModeSymlink, or
	// fs.ModeIrregular for what cannot be read, such as a submodule.
	Mode fs.FileMode
	ID   string // identity of the content, "sha1:<hex>"
	Size int64  // of a file
}

// A Budget bounds one revision. A field that is 0 has its default.
type Budget struct {
	Files     int   // files and folders, as a walk counts them: 100,000
	Depth     int   // folders within folders: 32
	Bytes     int64 // of all files, as a walk counts them: 128 MiB
	FileBytes int64 // of one file: 16 MiB
}

// WithDefaults returns b with its zero fields filled in.
func (b Budget) WithDefaults() Budget {
	if b.Files == 0 {
		b.Files = 100_000
	}
	if b.Depth == 0 {
		b.Depth = 32
	}
	if b.Bytes == 0 {
		b.Bytes = 128 << 20
	}
	if b.FileBytes == 0 {
		b.FileBytes = 16 << 20
	}
	return b
}

func refuse(format string, args ...any) error {
	return fleet.Errorf(fleet.Invalid, "accept the content of the repository", format, args...)
}
