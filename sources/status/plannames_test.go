package status_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

// TestNamesOfPlans: people who may push proposals name refs. A ref whose plan would be a file that nobody
// could read is refused, and the status branch stays as it was. Other names are read back.
func TestNamesOfPlans(t *testing.T) {
	for name, refused := range map[string]bool{
		"p-\xff": true, "a\\b": true, "\u200bx": true, "a\u0085b": true, "a\u00a0b": true, "a\u3000b": true, "..": true, strings.Repeat("a.md/", 36) + "b": true, strings.Repeat("a", 250): true, strings.Repeat("a/", 40) + "b": true,
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

// TestAnyNamesOfPlans: of any refs, each has a plan of its own that is read back, or is refused by its name. No file is
// in the place of a folder of another, or anywhere else than below plans/refs.
func TestAnyNamesOfPlans(t *testing.T) {
	segment := rapid.OneOf(rapid.SampledFrom([]string{
		"x", "X", "x.md", "x.MD", "x.yaml", "x%2Emd", "x%2emd", "x%252Emd", "x%25252Eyaml", "x.md.yaml", ".md", "%", "%2F", "..", ".", "", "ä", "a\u0308", "pull-requests", "12",
		"refs", strings.Repeat("n", 100),
	}), rapid.String())
	name := rapid.Custom(func(r *rapid.T) string {
		return "refs/heads/" + strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(r, "segments"), "/")
	})
	rapid.Check(t, func(r *rapid.T) {
		b := &memoryBranch{files: fstest.MapFS{}}
		owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "here")
		if err != nil {
			r.Fatal(err)
		}
		var want []string
		for _, ref := range rapid.SliceOfNDistinct(name, 1, 8, rapid.ID).Draw(r, "refs") {
			p := status.Plan{Ref: ref, Head: "h", Base: "b", Verdict: "success", Summary: "s", Text: "t"}
			err := status.NewPlans(b).Write(t.Context(), owner, []status.Plan{p}, nil)
			if err != nil && (fleet.KindOf(err) != fleet.Invalid || p.CheckName() == nil) {
				r.Fatalf("%q: %v", ref, err)
			}
			if err == nil {
				want = append(want, ref)
			}
		}
		list, err := status.NewPlans(b).List(t.Context())
		var got []string
		for _, p := range list {
			got = append(got, p.Ref)
		}
		if slices.Sort(want); err != nil || !slices.Equal(got, want) {
			r.Fatalf("%q are read back as %q: %v", want, got, err)
		}
		for file := range b.files {
			if !strings.HasPrefix(file, "plans/refs/heads/") && file != "owner.yaml" {
				r.Fatalf("%q is written", file)
			}
			for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
				if _, is := b.files[dir]; is {
					r.Fatalf("%q is a file, and a folder with %q", dir, file)
				}
			}
		}
	})
}
