package render

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render/sops"
)

// maxProblems bounds the problems of one cluster: they go into status, logs and
// terminals.
const maxProblems = 50

// bounded returns the problems of an overlay, which quote what a repository says, as they
// may be shown. Of each cluster some stay: a cluster without
// problems would seem to be gone.
func bounded(problems []fleet.Problem) []fleet.Problem {
	counts := map[fleet.Key]int{}
	var out []fleet.Problem
	for _, p := range problems {
		counts[p.Cluster]++
		if counts[p.Cluster] > maxProblems {
			continue
		}
		for _, s := range []*string{&p.Object, &p.Field, &p.Message, &p.Hint} {
			*s = fleet.PlainText(*s)
		}
		out = append(out, p)
	}
	for i := range out {
		k := out[i].Cluster
		if more := counts[k] - maxProblems; more > 0 {
			out = append(out, fleet.Problem{Overlay: out[i].Overlay, Cluster: k, File: out[i].File, Message: fmt.Sprintf("%d more problems", more)})
			delete(counts, k)
		}
	}
	return out
}

// hideSecrets takes out of the problems and warnings of o, which was built from tree, what
// they would not say if the values that were decrypted were others. Again builds the
// overlay as if all of them were REDACTED: what is told of that is told, and the words of
// a problem that is not among them are left out. So it does not matter how a text quotes
// a value, whole, cut or escaped, and a value that is an ordinary word hides nothing.
func (o *overlay) hideSecrets(tree *sops.Tree, again func(tree *sops.Tree) *overlay) {
	if len(o.problems)+len(o.warnings) == 0 || !tree.Decrypted() {
		return
	}
	known := again(tree.Redacted())
	o.problems, o.warnings = withoutSecrets(o.problems, known.problems), withoutSecrets(o.warnings, known.warnings)
}

// withoutSecrets returns problems in the words of known, which hold no secret.
func withoutSecrets(problems, known []fleet.Problem) []fleet.Problem {
	var out []fleet.Problem
	for _, p := range problems {
		if slices.Contains(known, p) {
			out = append(out, p)
			continue
		}
		alike := func(q fleet.Problem) bool {
			return p.Cluster == q.Cluster && p.File == q.File && p.Object == q.Object && p.Field == q.Field && !slices.Contains(problems, q)
		}
		if i := slices.IndexFunc(known, alike); i >= 0 {
			out = append(out, known[i])
			continue
		}
		field, _, _ := strings.Cut(p.Field, ".") // below are keys, which may come out of a file
		out = append(out, fleet.Problem{
			Overlay: p.Overlay, Cluster: p.Cluster, File: p.File, Object: p.Object, Field: field,
			Message: "it cannot be used, for what a file holds that is encrypted: what is wrong is not told, as it might show that",
			Hint:    "decrypt the file with sops, and run fairlead validate on a copy with values that are not secret",
		})
	}
	return out
}
