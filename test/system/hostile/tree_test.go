package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing/fstest"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A tree is a sources.Tree in memory.
type tree struct{ fstest.MapFS }

var _ sources.Tree = tree{}

func treeOf(files map[string]string) tree {
	t := tree{fstest.MapFS{}}
	for name, text := range files {
		t.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return t
}

// Digest implements sources.Tree.
func (t tree) Digest(name string) (string, error) {
	if _, err := fs.Stat(t.MapFS, name); err != nil {
		return "", err
	}
	h := sha256.New()
	for _, file := range slices.Sorted(maps.Keys(t.MapFS)) {
		if name == "." || file == name || strings.HasPrefix(file, name+"/") {
			h.Write([]byte(file + "\x00"))
			h.Write(t.MapFS[file].Data)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// A branch is a sources.Branch that is only read.
type branch struct{ tree tree }

func (b branch) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	return fleet.Revision{}, b.tree, nil
}

func (branch) Commit(context.Context, fleet.Revision, sources.Commit) (fleet.Revision, error) {
	return fleet.Revision{}, errors.New("nothing is written")
}
