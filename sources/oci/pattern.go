package oci

import (
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// semverPrefix begins a ref that is a range of versions.
const semverPrefix = "semver:"

// isPattern reports whether ref stands for the highest of several tags.
func isPattern(ref string) bool {
	return strings.HasPrefix(ref, semverPrefix) || strings.Contains(ref, "*")
}

// A pattern matches tags, versions in a range or names, and keeps the highest.
type pattern struct {
	versions *semver.Constraints
	names    string

	best    string
	version *semver.Version // of best; nil where its name is none
}

func newPattern(ref string) (*pattern, error) {
	text, ok := strings.CutPrefix(ref, semverPrefix)
	if !ok {
		if _, err := path.Match(ref, ""); err != nil {
			return nil, fmt.Errorf("%q is not a pattern of tags: %w", ref, err)
		}
		return &pattern{names: ref}, nil
	}
	c, err := semver.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a range of versions, as in semver:>=1.2.0 <2: %w", text, err)
	}
	return &pattern{versions: c}, nil
}

// consider keeps tag where it matches and is higher than those before: by version, above
// all that are none, which are compared as text. A tag has _ where a version has +.
func (p *pattern) consider(tag string) {
	v, err := semver.NewVersion(strings.ReplaceAll(tag, "_", "+"))
	if err != nil {
		v = nil
	}
	if p.versions != nil {
		if v == nil || !p.versions.Check(v) {
			return
		}
	} else if ok, _ := path.Match(p.names, tag); !ok { // the pattern is good
		return
	}
	if p.best == "" || p.higher(tag, v) {
		p.best, p.version = tag, v
	}
}

func (p *pattern) higher(tag string, v *semver.Version) bool {
	switch {
	case v != nil && p.version != nil && v.Compare(p.version) != 0:
		return v.GreaterThan(p.version)
	case (v == nil) != (p.version == nil):
		return v != nil
	}
	return tag > p.best
}
