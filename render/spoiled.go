package render

import (
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/render/sops"
)

// spoiled returns the problems of overlays whose folder, or one that they include, has
// something in it that a tree does not give out: by overlay. Whether the build needs
// it nobody asks, so that the answer does not depend on what else is in the folder.
func spoiled(tree *sops.Tree, built map[string]*overlay) map[string]fleet.Problem {
	type fault struct{ folder, text string }
	known := map[string]*fault{} // nil: there is none
	look := func(dir string) *fault {
		f, ok := known[dir]
		if ok {
			return f
		}
		if bad := tree.Bad(dir); len(bad) > 0 {
			f = &fault{bad[0].Folder, fmt.Sprintf("%q cannot be in a fleet: %v", bad[0].Name, bad[0].Err)}
			if n := len(bad) - 1; n > 0 {
				f.text += fmt.Sprintf(" (and %d more)", n)
			}
		}
		known[dir] = f
		return f
	}
	out := map[string]fleet.Problem{}
	for dir, o := range built {
		for _, part := range append([]string{dir}, o.includes...) {
			f := look(part)
			if f == nil {
				continue
			}
			hint := "rename or remove it, or keep it elsewhere in the repository"
			if part != dir {
				hint += "; the overlay includes " + part
			}
			out[dir] = fleet.Problem{Overlay: dir, File: f.folder, Message: f.text, Hint: hint}
			break
		}
	}
	return out
}
