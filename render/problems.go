package render

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render/sops"
)

// maxProblems bounds the problems of one cluster, which go into the status, logs and
// terminals.
const maxProblems = 50

// bounded returns the problems of an overlay, made safe to show, since they quote the
// repository. Each cluster keeps some of its problems: a cluster without problems would
// seem to be gone.
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

// hideSecrets removes from the problems and warnings of o, which was built from tree,
// everything that depends on decrypted values. again builds the overlay as if all decrypted
// values were REDACTED. Problems of that build are shown; of all others the message is left
// out. So it does not matter how a message quotes a value, and an ordinary word as a value
// hides nothing.
func (o *overlay) hideSecrets(tree *sops.Tree, again func(tree *sops.Tree) *overlay) {
	if len(o.problems)+len(o.warnings)+len(o.unmatched) == 0 || !tree.Decrypted() {
		return
	}
	known := again(tree.Redacted())
	o.problems, o.warnings = withoutSecrets(o.problems, known.problems), withoutSecrets(o.warnings, known.warnings)
	o.unmatched = withoutSecrets(o.unmatched, known.unmatched)
}

// withoutSecrets returns problems with the messages of known, which depend on no secret.
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
		field, _, _ := strings.Cut(p.Field, ".") // the rest are keys, which may come from a file
		out = append(out, fleet.Problem{
			Overlay: p.Overlay, Cluster: p.Cluster, File: p.File, Object: p.Object, Field: field,
			Message: "it cannot be used, for what a file holds that is encrypted: what is wrong is not told, as it might show that",
			Hint:    "decrypt the file with sops, and run fairlead validate on a copy with values that are not secret",
		})
	}
	return out
}
