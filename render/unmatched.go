package render

import (
	"maps"
	"slices"

	"fairlead.dev/fleet"
)

// unmatched returns the warnings of patches whose target selects no object, and of variables that
// no object has. A folder that several overlays include may have patches and variables for some of
// them: one is a warning, once, if it does nothing in any of them. Folders in bases are no overlays.
func (b *Builder) unmatched(bases map[string]bool) []fleet.Problem {
	type patch struct{ file, field string }
	dirs := slices.DeleteFunc(slices.Sorted(maps.Keys(b.built)), func(dir string) bool { return bases[dir] || b.built[dir].part })
	in := map[patch][]string{} // the overlays in which it selects nothing
	for _, dir := range dirs {
		for _, p := range b.built[dir].unmatched {
			at := patch{p.File, p.Field}
			in[at] = append(in[at], dir)
		}
	}
	readers := map[string]int{} // overlays, by the kustomizations that they read
	if len(in) > 0 {
		for _, dir := range dirs {
			for _, name := range b.built[dir].reads {
				readers[name]++
			}
		}
	}
	var out []fleet.Problem
	for _, dir := range dirs {
		for _, p := range b.built[dir].unmatched {
			if at := (patch{p.File, p.Field}); in[at][0] == dir && len(in[at]) == readers[p.File] {
				out = append(out, p)
			}
		}
	}
	return out
}
