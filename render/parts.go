package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// bases returns the folders that other overlays include: they are parts of these overlays.
// Two overlays that include each other stay overlays, with a problem each.
func (b *Builder) bases() map[string]bool {
	out := map[string]bool{}
	for dir, o := range b.built {
		for _, part := range o.includes {
			if p, ok := b.built[part]; ok && !slices.Contains(p.includes, dir) {
				out[part] = true
			}
		}
	}
	return out
}

// parts returns what is known of the folders in bases. It does not say which of them were
// the folders of live clusters: the same tree gives the same fleet.
func (b *Builder) parts(bases map[string]bool) []fleet.Part {
	by := map[string][]fleet.Includer{}
	for _, dir := range slices.Sorted(maps.Keys(b.built)) {
		o := b.built[dir]
		for _, part := range o.includes {
			if bases[part] && !slices.Contains(b.built[part].includes, dir) {
				by[part] = append(by[part], fleet.Includer{Folder: dir, File: o.file})
			}
		}
	}
	var out []fleet.Part
	for _, dir := range slices.Sorted(maps.Keys(by)) {
		o := b.built[dir]
		if o.part {
			continue
		}
		p := fleet.Part{Folder: dir, File: o.file, By: by[dir]}
		for _, c := range o.clusters {
			p.Clusters = append(p.Clusters, c.Key)
		}
		slices.SortFunc(p.Clusters, fleet.Key.Compare)
		out = append(out, p)
	}
	return out
}

// partWarnings warns of each part that would define clusters by itself: where people check
// a change, live clusters are not known.
func partWarnings(parts []fleet.Part) []fleet.Problem {
	const hint = "keep what several clusters share in a folder that is no overlay; an agent refuses both where the cluster is live"
	var out []fleet.Problem
	for _, p := range parts {
		if len(p.Clusters) == 0 {
			continue
		}
		names := make([]string, len(p.Clusters))
		for i, k := range p.Clusters {
			names[i] = k.String()
		}
		by := make([]string, len(p.By))
		for i, o := range p.By {
			by[i] = o.Folder
			out = append(out, fleet.Problem{
				Overlay: o.Folder, File: o.File, Hint: hint,
				Message: fmt.Sprintf("it includes %s, which would be Cluster %s by itself", p.Folder, some(names)),
			})
		}
		out = append(out, fleet.Problem{
			Overlay: p.Folder, File: p.File, Object: "Cluster " + some(names), Hint: hint,
			Message: fmt.Sprintf("it is no cluster of its own, as its folder is included by %s", some(by)),
		})
	}
	return out
}

// some names the first items of a list.
func some(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
