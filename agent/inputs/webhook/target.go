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
	// StatusRepository is the URL of the repository of the status branch; empty is
	// Repository.
	StatusRepository string
	// Own reports whether the agent itself writes the branch of that short name. It
	// may be nil.
	Own func(branch string) bool
	// Wrote reports whether the agent itself pushed that commit, in hex, to a branch of
	// its own: that is no news, while what others push there is for the agent. A commit
	// that is not in the call is empty. Nil: no other process writes there.
	Wrote func(branch, commit string) bool
}

// The reasons for which a call is ignored.
const (
	anotherRepository = "another repository"
	anotherRef        = "another ref"
)

// ignores says why e is not about t, and nothing where it is. What a call does
// not tell counts as about t: a poll too many is cheap, one too few is slow.
func (t Target) ignores(e event) string {
	source := isRepository(t.Repository, e)
	state := source
	if t.StatusRepository != "" {
		state = isRepository(t.StatusRepository, e)
	}
	if !source && !state {
		return anotherRepository
	}
	if len(e.refs) == 0 || slices.ContainsFunc(e.refs, func(ref string) bool {
		return source && t.isRef(ref, e.defaultBranch) || state && t.isNews(ref, e.commits[ref])
	}) {
		return ""
	}
	return anotherRef
}

// isNews reports whether somebody else moved a branch that the agent writes.
func (t Target) isNews(ref, commit string) bool {
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	return isBranch && t.Own != nil && t.Own(branch) && t.Wrote != nil && !t.Wrote(branch, commit)
}

// isRepository compares paths. Hosts are left out: a forge has several names,
// inside a cluster and out, for https and for ssh, and the secret has proved
// already which forge it is. Case is left out since forges leave it out.
func isRepository(repository string, e event) bool {
	own := pathOf(repository)
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
	case strings.HasPrefix(t.Ref, "semver:") || strings.Contains(t.Ref, "*"): // any tag may be the highest
		return strings.HasPrefix(ref, "refs/tags/")
	case strings.HasPrefix(t.Ref, "refs/"):
		return ref == t.Ref
	}
	return branch == t.Ref || ref == "refs/tags/"+t.Ref
}
