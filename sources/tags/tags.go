// Package tags chooses one of many tags by a pattern: the highest one in a range of
// versions, or with a matching name. Repositories and registries share it.
package tags

import (
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// semverPrefix begins a ref that is a range of versions.
const semverPrefix = "semver:"

// IsPattern reports whether ref chooses the highest of several tags: "semver:" and a range,
// or a name with *, which no tag contains.
func IsPattern(ref string) bool {
	return strings.HasPrefix(ref, semverPrefix) || strings.Contains(ref, "*")
}

// Prefix returns the common prefix of all tags that match the pattern ref.
func Prefix(ref string) string {
	if strings.HasPrefix(ref, semverPrefix) {
		return ""
	}
	if i := strings.IndexAny(ref, `*?[\`); i >= 0 {
		return ref[:i]
	}
	return ref
}

// A Pattern matches tags, and keeps the highest one that it has seen.
type Pattern struct {
	versions *semver.Constraints
	names    string

	best    string
	version *semver.Version // version of best; nil where it has none
}

// New returns the pattern of ref. The error says what cannot be parsed.
func New(ref string) (*Pattern, error) {
	text, ok := strings.CutPrefix(ref, semverPrefix)
	if !ok {
		if _, err := path.Match(ref, ""); err != nil {
			return nil, fmt.Errorf("%q is not a pattern of names: %w", ref, err)
		}
		return &Pattern{names: ref}, nil
	}
	c, err := semver.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a range of versions, as in semver:>=1.2.0 <2: %w", text, err)
	}
	return &Pattern{versions: c}, nil
}

// Consider shows p a tag, and the version that it stands for. The highest tag has the
// highest version. Tags without a version are lower, and compared as text.
func (p *Pattern) Consider(tag, version string) {
	v, err := semver.NewVersion(version)
	if err != nil {
		v = nil
	}
	if p.versions != nil {
		if v == nil || !p.versions.Check(v) {
			return
		}
	} else if ok, _ := path.Match(p.names, tag); !ok { // the pattern is valid
		return
	}
	if p.best == "" || p.higher(tag, v) {
		p.best, p.version = tag, v
	}
}

// Highest returns the highest tag that matches; empty where none does.
func (p *Pattern) Highest() string { return p.best }

func (p *Pattern) higher(tag string, v *semver.Version) bool {
	switch {
	case v != nil && p.version != nil && v.Compare(p.version) != 0:
		return v.GreaterThan(p.version)
	case (v == nil) != (p.version == nil):
		return v != nil
	}
	return tag > p.best
}
