package tags

import (
	"strings"
	"testing"
)

func TestHighest(t *testing.T) {
	for ref, c := range map[string]struct{ tags, want string }{
		"semver:>=1.2.0 <2": {"v1.9.0 v1.10.0 v1.11.0-rc.1 v2.0.0 nightly", "v1.10.0"},
		"semver:~1.2":       {"1.3.0 nightly", ""},
		"semver:>=1":        {"v1.0.0+b v1.0.0+a", "v1.0.0+b"},
		"v*":                {"v9.0.0 v10.0.0 vnext w99.0.0", "v10.0.0"},
		"release-*":         {"release-9 release-10 nightly", "release-9"},
		"*":                 {"nightly v0.1.0", "v0.1.0"},
	} {
		p, err := New(ref)
		if err != nil || !IsPattern(ref) {
			t.Errorf("%s: %v, pattern: %t", ref, err, IsPattern(ref))
			continue
		}
		prefix := Prefix(ref)
		for _, tag := range strings.Fields(c.tags) {
			p.Consider(tag, tag)
		}
		if got := p.Highest(); got != c.want || !strings.HasPrefix(got, prefix) {
			t.Errorf("%s of %s: %q, want %q, which begins with %q", ref, c.tags, got, c.want, prefix)
		}
	}
	for _, ref := range []string{"semver:newest", "v[*"} {
		if _, err := New(ref); err == nil {
			t.Errorf("%s: no error", ref)
		}
	}
	if IsPattern("v1.0.0") {
		t.Error("a name is no pattern")
	}
}
