package webhook

import "testing"

func TestTarget(t *testing.T) {
	own := func(branch string) bool { return branch == "fairlead/status" }
	wrote := func(_, commit string) bool { return commit == "ours" }
	for name, tc := range map[string]struct {
		reason string
		target Target
		event  event
		want   string // why it is ignored
	}{
		"nothing told":             {"a poll too many is cheap", Target{Repository: "https://h/team/fleet"}, event{}, ""},
		"by path":                  {"a forge below a folder of its host", Target{Repository: "https://h/gitlab/team/fleet"}, event{path: "team/fleet"}, ""},
		"by address":               {"ssh has no such folder", Target{Repository: "git@h:team/fleet"}, event{urls: []string{"https://h/gitlab/team/fleet"}}, ""},
		"data center":              {"/scm and the case of the key", Target{Repository: "https://h/scm/team/fleet.git"}, event{path: "TEAM/fleet"}, ""},
		"end of a name":            {"elements are compared, not letters", Target{Repository: "https://h/team/my-fleet"}, event{path: "fleet"}, "another repository"},
		"other owner":              {"a fork", Target{Repository: "https://h/team/fleet"}, event{path: "ann/fleet", urls: []string{"https://h/ann/fleet"}}, "another repository"},
		"address that is none":     {"it tells nothing", Target{Repository: "https://h/team/fleet"}, event{urls: []string{"::"}}, "another repository"},
		"folder":                   {"a folder has no forge", Target{Repository: ""}, event{path: "team/fleet"}, ""},
		"default":                  {"the forge tells it", Target{}, event{refs: []string{"refs/heads/trunk"}, defaultBranch: "trunk"}, ""},
		"not default":              {"the forge tells it", Target{}, event{refs: []string{"refs/heads/main"}, defaultBranch: "trunk"}, "another ref"},
		"default not told":         {"any branch may be it", Target{}, event{refs: []string{"refs/heads/trunk"}}, ""},
		"own, default not told":    {"but not our own", Target{Own: own}, event{refs: []string{"refs/heads/fairlead/status"}}, "another ref"},
		"tag, default not told":    {"a tag is no branch", Target{}, event{refs: []string{"refs/tags/v1"}}, "another ref"},
		"branch":                   {"by its short name", Target{Ref: "prod"}, event{refs: []string{"refs/heads/prod"}, defaultBranch: "main"}, ""},
		"tag":                      {"by its short name", Target{Ref: "stable"}, event{refs: []string{"refs/tags/stable"}}, ""},
		"range of tags":            {"any tag may be the highest", Target{Ref: "semver:>=1"}, event{refs: []string{"refs/tags/v1"}}, ""},
		"range and a branch":       {"a branch is no tag", Target{Ref: "prod-*"}, event{refs: []string{"refs/heads/prod-1"}}, "another ref"},
		"full name":                {"only that", Target{Ref: "refs/tags/stable"}, event{refs: []string{"refs/heads/stable"}}, "another ref"},
		"one of several":           {"one is enough", Target{Ref: "prod"}, event{refs: []string{"refs/heads/a", "refs/heads/prod"}}, ""},
		"commit":                   {"a commit never moves", Target{Ref: "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5"}, event{refs: []string{"refs/heads/main"}}, "another ref"},
		"by others":                {"requests are for the agent", Target{Own: own, Wrote: wrote}, event{refs: []string{"refs/heads/fairlead/status"}, commits: map[string]string{"refs/heads/fairlead/status": "theirs"}}, ""},
		"by others, not told":      {"a poll too many is cheap", Target{Own: own, Wrote: wrote}, event{refs: []string{"refs/heads/fairlead/status"}}, ""},
		"by itself":                {"it knows its commit", Target{Own: own, Wrote: wrote}, event{refs: []string{"refs/heads/fairlead/status"}, commits: map[string]string{"refs/heads/fairlead/status": "ours"}}, "another ref"},
		"status elsewhere":         {"requests are made there", Target{Repository: "https://h/team/fleet", StatusRepository: "https://h/team/status", Own: own, Wrote: wrote}, event{path: "team/status", refs: []string{"refs/heads/fairlead/status"}, defaultBranch: "main"}, ""},
		"not the status elsewhere": {"the fleet is not there", Target{Repository: "https://h/team/fleet", StatusRepository: "https://h/team/status", Own: own, Wrote: wrote}, event{path: "team/status", refs: []string{"refs/heads/main"}, defaultBranch: "main"}, "another ref"},
		"the status repository's":  {"own only as a branch", Target{Ref: "fairlead/status", Own: own}, event{refs: []string{"refs/heads/fairlead/status"}}, "another ref"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.target.ignores(tc.event); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
