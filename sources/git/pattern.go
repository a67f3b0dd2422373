package git

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"fairlead.dev/fleet"
)

// semverPrefix begins a ref that is a range of versions.
const semverPrefix = "semver:"

// isPattern reports whether ref stands for the highest of several tags. No name of a
// ref has such letters.
func isPattern(ref string) bool {
	return strings.HasPrefix(ref, semverPrefix) || strings.Contains(ref, "*")
}

// A pattern matches tags: versions in a range, or names.
type pattern struct {
	versions *semver.Constraints
	names    string
}

func newPattern(ref string) (pattern, error) {
	if text, ok := strings.CutPrefix(ref, semverPrefix); ok {
		c, err := semver.NewConstraint(text)
		if err != nil {
			return pattern{}, fmt.Errorf("%q is not a range of versions, as in semver:>=1.2.0 <2: %w", text, err)
		}
		return pattern{versions: c}, nil
	}
	names := strings.TrimPrefix(ref, "refs/tags/")
	if strings.HasPrefix(names, "refs/") {
		return pattern{}, errors.New("only tags are matched by a name with *")
	}
	if _, err := path.Match(names, ""); err != nil {
		return pattern{}, fmt.Errorf("%q is not a pattern of names: %w", names, err)
	}
	return pattern{names: names}, nil
}

// match reports whether the tag is meant, and its version; nil where its name is none.
func (p pattern) match(tag string) (*semver.Version, bool) {
	v, err := semver.NewVersion(tag)
	if p.versions != nil {
		return v, err == nil && p.versions.Check(v)
	}
	ok, _ := path.Match(p.names, tag) // the pattern is good
	return v, ok
}

// newestTag returns the highest tag that matches: by version, above all those that are
// none, which are compared as text.
func newestTag(ar *packp.AdvRefs, ref string) (string, error) {
	p, err := newPattern(ref)
	if err != nil {
		return "", err
	}
	best, bestVersion := "", (*semver.Version)(nil)
	for full := range ar.References {
		name, ok := strings.CutPrefix(full, "refs/tags/")
		if !ok {
			continue
		}
		v, ok := p.match(name)
		if ok && (best == "" || higher(name, v, best, bestVersion)) {
			best, bestVersion = name, v
		}
	}
	if best == "" {
		return "", fleet.Errorf(fleet.NotFound, "find ref", "no tag matches %q; there are %s", ref, some(ar))
	}
	return best, nil
}

func higher(a string, va *semver.Version, b string, vb *semver.Version) bool {
	switch {
	case va != nil && vb != nil && va.Compare(vb) != 0:
		return va.GreaterThan(vb)
	case (va == nil) != (vb == nil):
		return va != nil
	}
	return a > b
}
