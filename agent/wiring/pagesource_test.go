package wiring

import "testing"

// TestPageNamesNoPassword: the page and metrics name the source without what signs in to it.
func TestPageNamesNoPassword(t *testing.T) {
	for source, want := range map[string]string{
		"https://bot:s3cret@git.example.com/fleet":          "https://git.example.com/fleet",
		"ssh://bot:s3cret@git.example.com/fleet":            "ssh://bot@git.example.com/fleet",
		"bot:s3cret@git.example.com:team/fleet":             "bot@git.example.com:team/fleet",
		"ssh://git@git.example.com/fleet":                   "ssh://git@git.example.com/fleet",
		"git@git.example.com:team/fleet":                    "git@git.example.com:team/fleet",
		"/srv/fleet":                                        "/srv/fleet",
		"https://git.example.com/fleet?token=s3cret":        "https://git.example.com/fleet",
		"https://bot:s3cret@git.example.com/fleet?a=s3cret": "https://git.example.com/fleet",
		"https://bot:s3cret%@git.example.com/fleet":         "https://git.example.com/fleet",
		"https://bot:s3/cret@git.example.com/fleet":         "https://git.example.com/fleet",
		"ssh://bot:s3 cret@git.example.com/fleet":           "ssh://git.example.com/fleet",
	} {
		if got := WithoutUser(source); got != want {
			t.Errorf("%s is shown as %s, want %s", source, got, want)
		}
	}
}
