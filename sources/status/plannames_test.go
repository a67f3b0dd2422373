package status_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

// TestNamesOfPlans: people who may push proposals name refs. A ref whose plan would be a file that nobody
// could read is refused, and the status branch stays as it was. Other names are read back.
func TestNamesOfPlans(t *testing.T) {
	for name, refused := range map[string]bool{
		"p-\xff": true, "a\\b": true, "\u200bx": true, "a\u0085b": true, strings.Repeat("a.md/", 36) + "b": true, strings.Repeat("a", 250): true, strings.Repeat("a/", 40) + "b": true,
		"\"a\"": false, "aux": false, "COM1": false, "git~1": false, "ä": false, "a%2Emd": false, "docs.md/x": false, strings.Repeat("a", 189): false,
	} {
		_, url := served(t, gitserver.Options{})
		b := gitBranch(t, url)
		owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "here")
		if err != nil {
			t.Fatal(err)
		}
		odd := status.Plan{Ref: "refs/heads/" + name, Head: "h", Base: "b", Verdict: "success", Summary: "s", Text: "t"}
		err = status.NewPlans(b).Write(t.Context(), owner, []status.Plan{odd}, nil)
		if (fleet.KindOf(err) == fleet.Invalid) != refused || !refused && err != nil {
			t.Errorf("%.40q: %v", name, err)
		}
		other := gitBranch(t, url)
		got, err := status.NewPlans(other).List(t.Context())
		if err != nil || len(got) != map[bool]int{true: 0, false: 1}[refused] || len(got) == 1 && got[0].Ref != odd.Ref {
			t.Errorf("%.40q: %d plans are read, %v", name, len(got), err)
		}
		if _, err := status.NewArbiter(other).Claim(t.Context(), "me", "here"); err != nil {
			t.Errorf("%.40q: the agent that starts next: %v", name, err)
		}
	}
}
