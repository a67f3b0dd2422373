package webhook

import (
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/sources/git"
)

// A Target is what an agent follows, which calls are compared with.
type Target struct {
	Repository string // URL, or a folder
	Ref        string // as git.Options have it; empty is the default branch
	// Own reports whether the agent itself writes the branch of that short name:
	// its pushes are no news. It may be nil.
	Own func(branch string) bool
}

// ignores says why e is not about t, and nothing where it is. What a call does
// not tell counts as about t: a poll too many is cheap, one too few is slow.
func (t Target) ignores(e event) string {
	if !t.isRepository(e) {
		return "another repository"
	}
	if len(e.refs) > 0 && !slices.ContainsFunc(e.refs, func(ref string) bool { return t.isRef(ref, e.defaultBranch) }) {
		return "another ref"
	}
	return ""
}

// isRepository compares paths. Hosts are left out: a forge has several names,
// inside a cluster and out, for https and for ssh, and the secret has proved
// already which forge it is. Case is left out since forges leave it out.
func (t Target) isRepository(e event) bool {
	own := pathOf(t.Repository)
	if e.path == "" && len(e.urls) == 0 || own == "" {
		return true
	}
	for _, p := range append([]string{"/" + strings.ToLower(strings.Trim(e.path, "/"))}, paths(e.urls)...) {
		// The longer may begin with what a forge puts before: /scm, or the folder
		// that it is served from.
		if p != "/" && (strings.HasSuffix(own, p) || strings.HasSuffix(p, own)) {
			return true
		}
	}
	return false
}

func paths(urls []string) []string {
	var out []string
	for _, u := range urls {
		if p := pathOf(u); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// pathOf returns the path of a repository's address in lower case,
// "/team/fleet", or nothing where it has none.
func pathOf(raw string) string {
	normal, err := git.NormaliseURL(raw)
	if err != nil {
		return ""
	}
	u, err := url.Parse(normal)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Path, "/"))
}

// isRef reports whether a push of ref may change what t is at.
func (t Target) isRef(ref, defaultBranch string) bool {
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if isBranch && t.Own != nil && t.Own(branch) {
		return false
	}
	switch {
	case t.Ref == "" && defaultBranch == "":
		return isBranch
	case t.Ref == "":
		return branch == defaultBranch
	case strings.HasPrefix(t.Ref, "refs/"):
		return ref == t.Ref
	}
	return branch == t.Ref || ref == "refs/tags/"+t.Ref
}
