package git_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// A server as git init makes it gives nothing but tips. What is in the history of the
// newest revision is had by way of that; a commit elsewhere is not there.
func TestOlderRevisionOfPlainServer(t *testing.T) {
	for _, path := range []string{"", "clusters"} {
		for name, config := range map[string][2]string{
			"plain":   {"uploadpack.allowFilter", "false"},
			"filters": {"uploadpack.allowFilter", "true"},
		} {
			t.Run(name+path, func(t *testing.T) {
				s := newSigners(t)
				s.git("config", config[0], config[1])
				var commits []string
				for i := range 30 {
					s.run("", "sh", "-c", fmt.Sprintf("cd %s && mkdir -p clusters && echo %d >clusters/a && git add clusters", s.work, i))
					commits = append(commits, s.commit("", fmt.Sprint(i)))
				}
				s.tip(commits[29])
				s.in("checkout", "--quiet", "--orphan", "other")
				other := s.commit("", "elsewhere")
				s.in("push", "--quiet", s.bare, "HEAD~0:refs/heads/other")
				s.in("push", "--quiet", "--delete", s.bare, "other")
				s.git("config", "uploadpack.allowAnySHA1InWant", "false")
				r := open(t, git.Options{URL: "file://" + s.bare, Ref: "main", Path: path}) // over HTTP git gives all that a ref leads to
				if _, err := r.Resolve(t.Context()); err != nil {
					t.Fatal(err)
				}
				file := "a"
				if path == "" {
					file = "clusters/a"
				}
				for _, i := range []int{28, 3, 29} {
					tree, err := r.Fetch(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:" + commits[i]})
					if err != nil {
						t.Fatal(err)
					}
					f, err := tree.Open(file)
					if err != nil {
						t.Fatal(err)
					}
					b := make([]byte, 10)
					if n, _ := f.Read(b); string(b[:n]) != fmt.Sprintf("%d\n", i) {
						t.Errorf("commit %d has %q", i, b[:n])
					}
				}
				for range 2 {
					_, err := r.Fetch(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:" + other})
					wantKind(t, err, fleet.NotFound, "")
				}
			})
		}
	}
}
