package fleet

import "strings"

// A Revision is one exact state of a source.
type Revision struct {
	Ref    string // what was followed: a branch, a tag, a commit, a folder
	Digest string // what was found: "<algorithm>:<hash>", as in "sha1:5b3c…"
}

// String returns "ref@digest", the form that status, logs and trailers use.
func (r Revision) String() string {
	if r.IsZero() {
		return "none"
	}
	return r.Ref + "@" + r.Digest
}

// IsZero reports whether r is no revision.
func (r Revision) IsZero() bool { return r.Digest == "" }

// Hash returns the digest without its algorithm.
func (r Revision) Hash() string {
	_, hash, ok := strings.Cut(r.Digest, ":")
	if !ok {
		return r.Digest
	}
	return hash
}

// Short returns the first 12 characters of the hash, for people.
func (r Revision) Short() string {
	h := r.Hash()
	return h[:min(12, len(h))]
}
