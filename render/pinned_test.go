package render_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// pins are what a fleet pins, by name.
type pins struct {
	content map[string]render.Content
	due     bool
}

func (p *pins) Open(_ context.Context, list []fleet.PinnedSource) map[string]render.Content {
	out := map[string]render.Content{}
	for _, s := range list {
		out[s.Name] = p.content[s.Name]
	}
	return out
}

func (p *pins) Due() bool { return p.due }

const pinnedYAML = fleetYAML + "spec:\n  clusters: {include: ['**']}\n  sources:\n  - {name: platform, url: 'https://git.example.com/platform/bases', commit: 0123456789abcdef0123456789abcdef01234567}\n"

// using is an overlay of what is pinned.
func using(dir, name string) string {
	up := strings.Repeat("../", strings.Count(dir, "/")+1)
	return "-- " + dir + "/kustomization.yaml --\nresources: [" + up + "sources/platform/dev]\nnamePrefix: " + name + "-\n"
}

func ownCluster(dir, name string) string {
	return "-- " + dir + "/kustomization.yaml --\nresources: [c.yaml]\n-- " + dir + "/c.yaml --\n" + clusterYAML("team", name)
}

func platform() *memTree {
	return tree("-- dev/kustomization.yaml --\nresources: [c.yaml]\nnamespace: team\n-- dev/c.yaml --\n" + clusterYAML("team", "dev"))
}

// What is pinned is a base for the fleet's overlays, and no overlay itself: with
// include: ** discovery finds all but that.
func TestPinned(t *testing.T) {
	fleetTree := tree(pinnedYAML + using("clusters/a", "a") + ownCluster("clusters/b", "b"))
	p := &pins{content: map[string]render.Content{"platform": {Tree: platform()}}}
	b := newBuilder(render.Options{Pinned: p})
	f := b.render(t, "sha1:1", fleetTree)
	if diff := cmp.Diff([]string{"team/a-dev", "team/b"}, keys(f)); diff != "" || len(f.Problems) > 0 {
		t.Fatalf("%s%q", diff, lines(f.Problems))
	}
	want := []fleet.PinnedSource{{Name: "platform", URL: "https://git.example.com/platform/bases", Commit: "0123456789abcdef0123456789abcdef01234567"}}
	if diff := cmp.Diff(want, f.Config.Sources); diff != "" {
		t.Error(diff)
	}
	before := f.Clusters[0].Digest

	f = b.render(t, "sha1:2", fleetTree)
	if b.stats.Built != 0 {
		t.Errorf("%d overlays were built again for nothing", b.stats.Built)
	}
	p.content["platform"] = render.Content{Tree: platform().with("-- dev/c.yaml --\n" + clusterYAML("team", "dev") + "spec: {paused: true}\n")}
	f = b.render(t, "sha1:3", fleetTree)
	if b.stats.Built != 1 || f.Clusters[0].Digest == before {
		t.Errorf("%d overlays were built for another pin, want the one that uses it", b.stats.Built)
	}
}

// A source that is not there holds back the overlays that use it, whatever they are, and
// nothing else.
func TestPinnedMissing(t *testing.T) {
	away := fleet.Errorf(fleet.Unavailable, "fetch", "connection refused")
	refused := fleet.Errorf(fleet.Invalid, "verify", "nobody signed it")
	fleetTree := tree(pinnedYAML + using("clusters/a", "a") + ownCluster("clusters/b", "b") + "-- clusters/c/kustomization.yaml --\nresources: [../b2]\npatches: [{path: ../../sources/platform/p.yaml}]\n" + ownCluster("clusters/b2", "b2"))
	for name, tc := range map[string]struct {
		err  error
		late []string
		hint string
	}{
		"away":    {away, []string{"clusters/a", "clusters/b2", "clusters/c"}, "its clusters do not change until it can be fetched"},
		"refused": {refused, nil, "fix its item in spec.sources"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pins{content: map[string]render.Content{"platform": {Err: tc.err}}}
			b := newBuilder(render.Options{Pinned: p})
			f := b.render(t, "sha1:1", fleetTree)
			if diff := cmp.Diff([]string{"team/b"}, keys(f)); diff != "" {
				t.Error(diff)
			}
			for _, dir := range []string{"clusters/a", "clusters/c"} {
				i := slices.IndexFunc(f.Problems, func(p fleet.Problem) bool { return p.Overlay == dir })
				if i < 0 || !strings.Contains(f.Problems[i].Message, "platform, https://git.example.com/platform/bases at 0123456789ab, is not there") || !strings.Contains(f.Problems[i].Hint, tc.hint) {
					t.Errorf("%s: %q", dir, lines(f.Problems))
				}
			}
			if diff := cmp.Diff(tc.late, f.Unavailable); diff != "" {
				t.Error(diff)
			}
			p.content["platform"], p.due = render.Content{Tree: platform().with("-- p.yaml --\n" + clusterYAML("team", "b2"))}, true
			if !b.Stale() {
				t.Error("nobody is told that it may be got now")
			}
			if f = b.render(t, "sha1:1", fleetTree); len(f.Problems) > 0 || len(f.Unavailable) > 0 || len(f.Clusters) != 3 {
				t.Errorf("once it is there: %q %q", keys(f), lines(f.Problems))
			}
		})
	}
}

// What is pinned reaches nothing of the fleet, and what the fleet has in its place is not
// mistaken for it.
func TestPinnedStaysApart(t *testing.T) {
	secret := "-- clusters/b/secret.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	cases := map[string]struct{ fleet, source, problem string }{
		"Resource": {source: "-- dev/kustomization.yaml --\nresources: [../../../clusters/b/secret.yaml]\n", problem: `"../../../clusters/b/secret.yaml" is outside of the source in sources/platform`},
		"Folder":   {source: "-- dev/kustomization.yaml --\nresources: [../../../clusters/b]\n", problem: "is outside of the source"},
		"Patch":    {source: "-- dev/kustomization.yaml --\nresources: [c.yaml]\npatches: [{path: ../../../clusters/b/secret.yaml}]\n", problem: "is outside of the source"},
		"File":     {source: "-- dev/kustomization.yaml --\nsecretGenerator: [{name: x, files: [../../../clusters/b/secret.yaml]}]\n", problem: "is outside of the source"},
		"Remote":   {source: "-- dev/kustomization.yaml --\nresources: ['https://example.com/x.yaml']\n", problem: "nothing is fetched while rendering"},
		"Broken":   {source: "-- dev/kustomization.yaml --\nresources: [\n", problem: "not valid YAML"},
		"Folder there": {
			fleet:   "-- sources/platform/dev/kustomization.yaml --\nresources: [c.yaml]\n-- sources/platform/dev/c.yaml --\n" + clusterYAML("team", "other"),
			problem: "the fleet itself has something at sources/platform",
		},
		"File there": {fleet: "-- sources --\nhello\n", problem: "the fleet itself has something else than a folder at sources"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &pins{content: map[string]render.Content{"platform": {Tree: platform().with(tc.source)}}}
			f := newBuilder(render.Options{Pinned: p}).render(t, "sha1:1", tree(pinnedYAML+using("clusters/a", "a")+ownCluster("clusters/b", "b")+secret+tc.fleet))
			if diff := cmp.Diff([]string{"team/b"}, keys(f)); diff != "" {
				t.Error(diff)
			}
			if len(f.Problems) != 1 || f.Problems[0].Overlay != "clusters/a" || !strings.Contains(f.Problems[0].Message, tc.problem) {
				t.Errorf("got %q, want one problem of clusters/a with %q", lines(f.Problems), tc.problem)
			}
		})
	}
}

// Without anybody who gets what is pinned, nothing else stands for it.
func TestPinnedByNobody(t *testing.T) {
	f := newBuilder(render.Options{}).render(t, "sha1:1", tree(pinnedYAML+using("clusters/a", "a")))
	if len(f.Clusters) != 0 || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Message, "are not got here") {
		t.Errorf("got %q, %q", keys(f), lines(f.Problems))
	}
}

// A class may be pinned: an overlay that includes it is a library, and its clusters wait
// for it where it cannot be got.
func TestPinnedClass(t *testing.T) {
	kinds := inmemory.Kinds()
	fleetTree := tree(strings.Replace(pinnedYAML, "['**']", "['clusters/**', 'classes']", 1) + "-- classes/kustomization.yaml --\nresources: [../sources/platform/class]\n" + overlayFiles("clusters/a", classCluster("a")))
	p := &pins{content: map[string]render.Content{"platform": {Tree: tree(classFiles("class"))}}}
	b := render.New(render.Options{Decoder: decode.New("f", kinds), Pinned: p})
	rev := fleet.Revision{Ref: "main", Digest: "sha1:1"}
	f, err := b.Render(t.Context(), rev, fleetTree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default/a"}, keys(f)); diff != "" || len(f.Problems) > 0 {
		t.Fatalf("%s%q", diff, lines(f.Problems))
	}
	p.content["platform"] = render.Content{Err: errors.New("connection refused")}
	b = render.New(render.Options{Decoder: decode.New("f", kinds), Pinned: p})
	if f, err = b.Render(t.Context(), rev, fleetTree); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"classes", "clusters/a"}, f.Unavailable); diff != "" || len(f.Clusters) > 0 {
		t.Errorf("%s%q %q", diff, keys(f), lines(f.Problems))
	}
}

// What fleet.yaml says of sources is checked before anything is got.
func TestSourcesConfig(t *testing.T) {
	const good = "commit: 0123456789abcdef0123456789abcdef01234567"
	digest := "digest: 'sha256:" + strings.Repeat("0", 64) + "'"
	for items, want := range map[string]string{
		"[{name: p, url: 'https://git.example.com/p', " + good + "}]":                                "",
		"[{name: p, url: 'git@git.example.com:team/p.git', " + good + ", tag: v1.2, path: a/b}]":     "",
		"[{name: p, url: 'ssh://git@git.example.com/team/p.git', " + good + "}]":                     "",
		"[{name: p, url: 'oci://registry.example.com/p', " + digest + "}]":                           "",
		"[{name: p, url: 'https://git.example.com/p'}]":                                              "spec.sources[0].commit: the source is not pinned",
		"[{name: p, url: 'https://git.example.com/p', branch: main}]":                                "spec.sources[0].branch: a branch moves, and clusters would change without a commit (pin a commit instead: git ls-remote https://git.example.com/p",
		"[{name: p, url: 'https://git.example.com/p', branch: main, " + good + "}]":                  "spec.sources[0].branch: a branch moves",
		"[{name: p, url: 'https://git.example.com/p', tag: v1}]":                                     "spec.sources[0].commit: the source is not pinned",
		"[{name: p, url: 'https://git.example.com/p', commit: 0123abc}]":                             `spec.sources[0].commit: "0123abc" is not a commit`,
		"[{name: p, url: 'https://git.example.com/p', " + digest + "}]":                              "spec.sources[0].digest: it is for artifacts in a registry",
		"[{name: p, url: 'oci://registry.example.com/p', tag: v1}]":                                  `spec.sources[0].digest: "" is not the digest of an artifact`,
		"[{name: P/q, url: 'https://git.example.com/p', " + good + "}]":                              "spec.sources[0].name: ",
		"[{name: '..', url: 'https://git.example.com/p', " + good + "}]":                             "spec.sources[0].name: ",
		"[{name: p, url: 'https://h/p', " + good + "}, {name: p, url: 'https://h/q', " + good + "}]": `spec.sources[1].name: "p" is there twice`,
		"[{name: p, url: 'file:///srv/git/p', " + good + "}]":                                        `spec.sources[0].url: the scheme "file" is not for sources from elsewhere`,
		"[{name: p, url: /srv/git/p, " + good + "}]":                                                 `spec.sources[0].url: the scheme "" is not for sources from elsewhere`,
		"[{name: p, url: 'ext::sh -c id', " + good + "}]":                                            "spec.sources[0].url: it is not a plain URL",
		"[{name: p, url: 'https://user:hunter2@git.example.com/p', " + good + "}]":                   "spec.sources[0].url: it has a credential in it",
		"[{name: p, url: 'https://git.example.com/a/../p', " + good + "}]":                           "spec.sources[0].url: its path is not the shortest one",
		"[{name: p, url: 'https://git.example.com/a/%2e%2e/p', " + good + "}]":                       "spec.sources[0].url: it is not a plain URL",
		"[{name: p, url: 'git@git.example.com:a/../p', " + good + "}]":                               "spec.sources[0].url: its path leads upwards",
		"[{name: p, url: 'https://git.example.com/p?x=1', " + good + "}]":                            "spec.sources[0].url: it has more than a host and a path",
		"[{name: p, url: 'https://git.example.com/p', path: ../x, " + good + "}]":                    `spec.sources[0].path: "../x" is no folder in a repository`,
		"[{name: p, url: 'https://git.example.com/p', ref: main, " + good + "}]":                     "spec.sources[0].ref: this field does not exist",
		"[" + strings.Repeat("{name: p, url: 'https://git.example.com/p', "+good+"}, ", 9) + "]":     "spec.sources: there are 9, more than 8",
	} {
		_, err := newBuilder(render.Options{}).Render(t.Context(), fleet.Revision{}, tree(fleetYAML+"spec: {sources: "+items+"}\n"))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if want == "" && err != nil || !strings.Contains(text, want) || strings.Contains(text, "hunter2") && !strings.Contains(want, "credential") {
			t.Errorf("%s:\ngot  %s\nwant %s", items, text, want)
		}
		if strings.Contains(text, "hunter2") {
			t.Errorf("a password is shown: %s", text)
		}
	}
}

// The example in the documentation pins what it says.
func TestDocumentedSources(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/fleet-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "## Sources\n")
	_, after, _ = strings.Cut(after, "```yaml\n")
	example, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("docs/reference/fleet-yaml.md has no example of sources")
	}
	p := &pins{content: map[string]render.Content{"platform": {Tree: tree("-- cluster/kustomization.yaml --\nresources: [c.yaml]\n-- cluster/c.yaml --\n" + clusterYAML("team", "dev"))}}}
	f := newBuilder(render.Options{Pinned: p}).render(t, "sha1:1", tree(fleetYAML+example+"-- clusters/prod/eu-1/kustomization.yaml --\nresources: [../../../sources/platform/cluster]\n"))
	if diff := cmp.Diff([]string{"team/dev"}, keys(f)); diff != "" || len(f.Problems) > 0 || f.Config.Sources[0].Path != "bases" {
		t.Errorf("%s%q", diff, lines(f.Problems))
	}
}

// slow has pins wait until it is called off, for the revision whose pin is given.
type slow struct {
	*pins

	commit string
	asked  chan struct{}
}

func (s *slow) Open(ctx context.Context, list []fleet.PinnedSource) map[string]render.Content {
	if list[0].Commit == s.commit {
		close(s.asked)
		<-ctx.Done()
	}
	return s.pins.Open(ctx, list)
}

// A Render that waits for a pinned source keeps no other one waiting.
func TestPinnedThatIsSlow(t *testing.T) {
	const other = "ffffffffffffffffffffffffffffffffffffffff"
	p := &slow{&pins{content: map[string]render.Content{"platform": {Tree: platform()}}}, other, make(chan struct{})}
	b := newBuilder(render.Options{Pinned: p})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := b.Render(ctx, fleet.Revision{Digest: "sha1:1"}, tree(strings.Replace(pinnedYAML, "0123456789abcdef0123456789abcdef01234567", other, 1)))
		ended <- err
	}()
	<-p.asked
	if f := b.render(t, "sha1:2", tree(pinnedYAML+using("clusters/a", "a"))); len(f.Clusters) != 1 {
		t.Errorf("%d clusters", len(f.Clusters))
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that waited ends with %v", err)
	}
}
