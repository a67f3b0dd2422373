package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// assemble makes the fleet from the overlays that are built. Of a spoiled overlay only its
// existence counts. discovered is what discovery found.
func (b *Builder) assemble(rev fleet.Revision, cfg config, spoiled map[string]fleet.Problem, discovered found) fleet.Fleet {
	f := fleet.Fleet{ID: cfg.id, Revision: rev, Config: cfg.Config, Problems: discovered.lost}
	owners := map[fleet.Key][]string{}
	bases := b.bases()
	dirs := slices.Sorted(maps.Keys(b.built))
	mentioned := map[string]string{} // folder to the overlay that names it and is refused
	for _, dir := range dirs {
		for _, part := range b.built[dir].mentions {
			mentioned[part] = dir
		}
	}
	refused := map[string][]fleet.Problem{} // problems of spec.folders, by overlay
	may := map[string][]fleet.Cluster{}     // clusters that each overlay may define
	for _, dir := range dirs {
		if bases[dir] {
			continue
		}
		for _, c := range b.built[dir].clusters {
			if problems := cfg.folders.refuse(b.built[dir], c); len(problems) > 0 {
				refused[dir] = append(refused[dir], problems...)
				continue
			}
			may[dir] = append(may[dir], c)
			owners[c.Key] = append(owners[c.Key], dir)
		}
	}
	for _, dir := range dirs {
		if bases[dir] {
			continue
		}
		o := b.built[dir]
		f.Problems, f.Warnings = slices.Concat(f.Problems, o.problems, refused[dir]), append(f.Warnings, o.warnings...)
		if p, ok := spoiled[dir]; ok {
			f.Problems = append(f.Problems, p)
			continue
		}
		if by := mentioned[dir]; by != "" && len(o.clusters) > 0 {
			f.Problems = append(f.Problems, fleet.Problem{
				Overlay: dir, File: o.file, Message: "it may be a part of " + by + ", whose kustomization is refused",
				Hint: "fix that one; keep what several clusters share outside of the folders of clusters",
			})
			continue
		}
		for _, c := range may[dir] {
			if others := owners[c.Key]; len(others) > 1 {
				f.Problems = append(f.Problems, twice(c, o, others))
				continue
			}
			f.Clusters = append(f.Clusters, c)
		}
	}
	var twins []fleet.Problem
	f.Clusters, twins = withoutTwins(f.Clusters)
	f.Problems = append(f.Problems, twins...)
	var short []fleet.Problem
	f.Clusters, short = withoutShortWindows(f)
	f.Problems = append(f.Problems, short...)
	slices.SortFunc(f.Clusters, func(x, y fleet.Cluster) int { return x.Key.Compare(y.Key) })
	b.shareNothing(&f)
	f.Parts = b.parts(bases)
	f.Warnings = slices.Concat(f.Warnings, partWarnings(f.Parts), b.unmatched(bases), b.strayWarnings(discovered.strays))
	slices.SortStableFunc(f.Warnings, compareProblems)
	f.Problems = append(f.Problems, homeless(f)...)
	slices.SortStableFunc(f.Problems, compareProblems)
	f.Unavailable = lateOf(b.built, mentioned)
	return f
}

// twice is the problem of a cluster c of o that other overlays define too.
func twice(c fleet.Cluster, o *overlay, others []string) fleet.Problem {
	others = slices.DeleteFunc(slices.Clone(others), func(dir string) bool { return dir == o.dir })
	return fleet.Problem{
		Overlay: o.dir,
		Cluster: c.Key,
		File:    o.file,
		Object:  "Cluster " + c.Key.String(),
		Message: fmt.Sprintf("the cluster is defined in %s as well; no definition of it is applied", strings.Join(others, " and ")),
		Hint:    "rename one, or give it another namespace",
	}
}

func compareProblems(x, y fleet.Problem) int {
	return cmp.Or(
		cmp.Compare(x.Overlay, y.Overlay), cmp.Compare(x.File, y.File), x.Cluster.Compare(y.Cluster),
		cmp.Compare(x.Object, y.Object), cmp.Compare(x.Field, y.Field), cmp.Compare(x.Message, y.Message),
	)
}

func union(x, y []string) []string {
	out := slices.Concat(x, y)
	slices.Sort(out)
	return slices.Compact(out)
}
