package wiring

import "testing"

// TestPageNamesNoPassword: the page names the source without what signs in to it.
func TestPageNamesNoPassword(t *testing.T) {
	for source, want := range map[string]string{
		"https://bot:s3cret@git.example.com/fleet": "https://git.example.com/fleet",
		"ssh://bot:s3cret@git.example.com/fleet":   "ssh://bot@git.example.com/fleet",
		"bot:s3cret@git.example.com:team/fleet":    "bot@git.example.com:team/fleet",
		"ssh://git@git.example.com/fleet":          "ssh://git@git.example.com/fleet",
		"git@git.example.com:team/fleet":           "git@git.example.com:team/fleet",
		"/srv/fleet":                               "/srv/fleet",
	} {
		if got := withoutUser(source); got != want {
			t.Errorf("%s is shown as %s, want %s", source, got, want)
		}
	}
}
