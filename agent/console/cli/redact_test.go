package cli

import "testing"

// TestRedacted: no password and no token of a source is shown.
func TestRedacted(t *testing.T) {
	for source, want := range map[string]string{
		"https://bot:s3cret@git.example.com/fleet":      "https://bot:xxxxx@git.example.com/fleet",
		"https://s3cret@git.example.com/fleet":          "https://xxxxx@git.example.com/fleet",
		"https://git.example.com/fleet?token=s3cret":    "https://git.example.com/fleet?xxxxx",
		"ssh://bot:s3cret@git.example.com/fleet":        "ssh://bot:xxxxx@git.example.com/fleet",
		"bot:s3cret@git.example.com:team/fleet":         "bot:xxxxx@git.example.com:team/fleet",
		"https://bot:s3cret%@git.example.com/fleet":     "https://git.example.com/fleet",
		"https://bot:s3/cret@git.example.com/fleet":     "https://git.example.com/fleet",
		"git@git.example.com:team/fleet":                "git@git.example.com:team/fleet",
		"ssh://git@git.example.com/fleet":               "ssh://git@git.example.com/fleet",
		"https://git.example.com/fleet":                 "https://git.example.com/fleet",
		"oci://registry.example.com/fleet":              "oci://registry.example.com/fleet",
		"oci://registry.example.com/fleet@sha256:abcde": "oci://registry.example.com/fleet@sha256:abcde",
		"/srv/fleet":         "/srv/fleet",
		`C:\srv\a@b`:         `C:\srv\a@b`,
		"./fleet@home:rest":  "./fleet@home:rest",
		"10.0.0.1@sha256:ab": "10.0.0.1@sha256:ab",
	} {
		if got := redacted(source); got != want {
			t.Errorf("%s is shown as %s, want %s", source, got, want)
		}
	}
}
