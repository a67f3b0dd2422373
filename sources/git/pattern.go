package git

import (
	"errors"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tags"
)

const tagPrefix = "refs/tags/"

func newPattern(ref string) (*tags.Pattern, error) {
	names := strings.TrimPrefix(ref, tagPrefix)
	if strings.HasPrefix(names, "refs/") {
		return nil, errors.New("only tags are matched by a name with *")
	}
	return tags.New(names)
}

// newestTag returns the highest tag that matches.
func newestTag(ar *packp.AdvRefs, ref string) (string, error) {
	p, err := newPattern(ref)
	if err != nil {
		return "", err
	}
	for full := range ar.References {
		if name, ok := strings.CutPrefix(full, tagPrefix); ok {
			p.Consider(name, name)
		}
	}
	if p.Highest() == "" {
		return "", fleet.Errorf(fleet.NotFound, "find ref", "no tag matches %q; there are %s", ref, sampleOfRefs(ar))
	}
	return p.Highest(), nil
}
