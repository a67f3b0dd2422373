package forge_test

import (
	"net/http"
	"testing"

	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
)

// Whether a credential may write is told before anything is written.
func TestRights(t *testing.T) {
	push := func(may bool) m { return m{"permissions": m{"admin": false, "push": may, "pull": true}} }
	access := func(project, group any) m {
		return m{"permissions": m{"project_access": project, "group_access": group}}
	}
	level := func(n int) m { return m{"access_level": n} }
	for name, c := range map[string]struct {
		kind, path, app, route string
		answer                 m
		may                    bool
		kindOf                 fleet.ErrorKind // empty: it is known
	}{
		"gitea, a writer":         {"gitea", "/team/fleet.git", "", "GET /api/v1/repos/team/fleet", push(true), true, ""},
		"gitea, a reader":         {"gitea", "/team/fleet.git", "", "GET /api/v1/repos/team/fleet", push(false), false, ""},
		"gitea, not told":         {"gitea", "/team/fleet.git", "", "GET /api/v1/repos/team/fleet", m{}, false, fleet.Unknown},
		"an app of github":        {"github", "/team/fleet", "12", "GET /none", nil, false, fleet.Unknown},
		"gitlab, a developer":     {"gitlab", "/team/fleet.git", "", "GET /api/v4/projects/team%2Ffleet", access(level(30), nil), true, ""},
		"gitlab, by the group":    {"gitlab", "/team/fleet.git", "", "GET /api/v4/projects/team%2Ffleet", access(level(10), level(40)), true, ""},
		"gitlab, a reporter":      {"gitlab", "/team/fleet.git", "", "GET /api/v4/projects/team%2Ffleet", access(level(20), nil), false, ""},
		"gitlab, no member of it": {"gitlab", "/team/fleet.git", "", "GET /api/v4/projects/team%2Ffleet", access(nil, nil), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &forgetest.Server{T: t, World: forgetest.New("fairlead"), Auth: "Bearer s3cret", Routes: map[string]func(*http.Request, []string) (int, any){
				c.route: func(*http.Request, []string) (int, any) { return http.StatusOK, c.answer },
			}}
			f, done := served(t, c.kind, c.path, c.app, s)
			defer done()
			may, err := f.MayWrite(t.Context())
			if may != c.may || (err != nil) != (c.kindOf != "") || err != nil && fleet.KindOf(err) != c.kindOf {
				t.Errorf("MayWrite = %v, %v", may, err)
			}
		})
	}
}
