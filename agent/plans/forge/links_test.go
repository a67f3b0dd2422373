package forge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/plans/forge"
)

func TestLinks(t *testing.T) {
	for source, want := range map[string]forge.Links{
		"https://github.com/ops/fleet.git":               {Kind: "github", URL: "https://github.com/ops/fleet"},
		"https://ada:secret@gitlab.example.com/a/b/c":    {Kind: "gitlab", URL: "https://gitlab.example.com/a/b/c"},
		"git@codeberg.org:ops/fleet.git":                 {Kind: "gitea", URL: "https://codeberg.org/ops/fleet"},
		"ssh://git@gitea.example.com:2222/ops/fleet":     {Kind: "gitea", URL: "https://gitea.example.com/ops/fleet"},
		"https://git.example.com/ops/fleet.git":          {},
		"./fleet":                                        {},
		"C:/fleet":                                       {},
		"oci://registry.example.com/fleet":               {},
		"javascript://github.com/%0aalert(1)":            {},
		"https://github.com/":                            {},
		"file:///srv/github/fleet.git":                   {},
		"https://github.com/ops/fleet%22onmouseover=%22": {Kind: "github", URL: "https://github.com/ops/fleet%22onmouseover=%22"},
	} {
		got, err := forge.LinksOf("", source)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", source, err, diff)
		}
	}
	if got := (forge.Links{Kind: "gitea", URL: "https://h/o/r"}).Line("abc", "sub", "x.yaml", 12); got != "https://h/o/r/src/commit/abc/sub/x.yaml#L12" {
		t.Errorf("a line is at %s", got)
	}
	if _, err := forge.LinksOf("bitkeeper", "https://git.example.com/a/b"); err == nil {
		t.Error("an unknown kind is taken")
	}
	got, err := forge.LinksOf("gitea", "http://git.example.com/ops/fleet.git")
	if err != nil || got.URL != "https://git.example.com/ops/fleet" {
		t.Errorf("a forge of a given kind is %+v, %v", got, err)
	}
}

// TestAddresses: where files are, and are written, in each forge.
func TestAddresses(t *testing.T) {
	const branch, file = "fairlead/status", "requests/prod/eu-1/suspend.yaml"
	for kind, want := range map[string][]string{
		"github": {
			"https://h/o/r/commit/abc", "https://h/o/r/blob/abc/sub/clusters/a%20b/x%3F.yaml", "https://h/o/r/tree/abc/clusters/a", "https://h/o/r/commits/fairlead/status",
			"https://h/o/r/new/fairlead/status?filename=requests%2Fprod%2Feu-1%2Fsuspend.yaml&value=a%3A+b%0A", "https://h/o/r/edit/fairlead/status/requests/prod/eu-1/suspend.yaml",
		},
		"gitlab": {
			"https://h/o/r/-/commit/abc", "https://h/o/r/-/blob/abc/sub/clusters/a%20b/x%3F.yaml", "https://h/o/r/-/tree/abc/clusters/a", "https://h/o/r/-/commits/fairlead/status",
			"https://h/o/r/-/new/fairlead/status?file_name=requests%2Fprod%2Feu-1%2Fsuspend.yaml", "https://h/o/r/-/edit/fairlead/status/requests/prod/eu-1/suspend.yaml",
		},
		"gitea": {
			"https://h/o/r/commit/abc", "https://h/o/r/src/commit/abc/sub/clusters/a%20b/x%3F.yaml", "https://h/o/r/src/commit/abc/clusters/a", "https://h/o/r/commits/branch/fairlead/status",
			"https://h/o/r/_new/fairlead/status/?filename=requests%2Fprod%2Feu-1%2Fsuspend.yaml&value=a%3A+b%0A", "https://h/o/r/_edit/fairlead/status/requests/prod/eu-1/suspend.yaml",
		},
		"": {"", "", "", "", "", ""},
	} {
		f := forge.Links{Kind: kind, URL: "https://h/o/r"}
		got := []string{
			f.Commit("abc"), f.File("abc", "sub", "clusters/a b/x?.yaml"), f.Folder("abc", "", "clusters/a"), f.History(branch, ""),
			f.New(branch, file, "a: b\n"), f.Edit(branch, file),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
