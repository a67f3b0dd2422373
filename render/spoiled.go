package render

import (
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/render/sops"
)

// spoiled returns a problem for each overlay whose folder, or a folder that it includes,
// has an entry that the tree keeps back. The build may not need that entry, but then the
// result would depend on the other entries.
func spoiled(tree *sops.Tree, built map[string]*overlay) map[string]fleet.Problem {
	type fault struct{ folder, text string }
	known := map[string]*fault{} // nil: no fault
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
