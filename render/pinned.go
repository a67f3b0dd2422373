package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
	"fairlead.dev/render/sops"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tree"
)

// SourceManifest is an item of spec.sources of ConfigFile.
type SourceManifest struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Commit string `json:"commit,omitempty"`
	Digest string `json:"digest,omitempty"`
	Tag    string `json:"tag,omitempty"`
	Branch string `json:"branch,omitempty"` // refused, with what to do
	Path   string `json:"path,omitempty"`
}

// Pinned fetches what fleets pin. It is safe for concurrent use.
type Pinned interface {
	// Open returns the content of each of pins, by name. The same pin always has the same
	// content.
	Open(ctx context.Context, pins []fleet.PinnedSource) map[string]Content
	// Due reports whether Open may now return content that it could not get before.
	Due() bool
}

// Content is the content of a pinned source.
type Content struct {
	Tree sources.Tree
	// Err says why there is none: of kind Invalid where it is refused; any other error may
	// pass.
	Err error
	// Instead lets it replace what the fleet itself has in its folder.
	Instead bool
}

// maxSources is how many sources a fleet may pin: all of them are in memory.
const maxSources = 8

var (
	commitName = regexp.MustCompile(`^[0-9a-f]{40}$`)
	digestName = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	tagName    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}$`)
	scpLike    = regexp.MustCompile(`^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[A-Za-z0-9_./~-]+$`)
)

// checkedSources validates list.
func checkedSources(list []SourceManifest, fail func(field, message, hint string)) []fleet.PinnedSource {
	if len(list) > maxSources {
		fail("spec.sources", fmt.Sprintf("there are %d, more than %d", len(list), maxSources), "keep what several clusters share in fewer repositories")
		return nil
	}
	var out []fleet.PinnedSource
	seen := map[string]bool{}
	for i, m := range list {
		at := fmt.Sprintf("spec.sources[%d]", i)
		for _, text := range validation.IsDNS1123Label(m.Name) {
			fail(at+".name", text, "its content is in the folder "+fleet.SourcesFolder+"/NAME")
		}
		if seen[m.Name] {
			fail(at+".name", fmt.Sprintf("%q is there twice", m.Name), "give each source a name of its own")
		}
		seen[m.Name] = true
		if why := unfitURL(m.URL); why != "" {
			fail(at+".url", why, "write https://HOST/REPOSITORY, ssh://USER@HOST/REPOSITORY, USER@HOST:REPOSITORY or oci://HOST/REPOSITORY")
		}
		checkedPin(at, m, fail)
		if m.Path != "" && (!fs.ValidPath(m.Path) || m.Path == ".") {
			fail(at+".path", fmt.Sprintf("%q is no folder in a repository", m.Path), "write it from the root and without a slash at its end, or leave it out for all of it")
		}
		out = append(out, fleet.PinnedSource{Name: m.Name, URL: m.URL, Commit: m.Commit, Digest: m.Digest, Tag: m.Tag, Path: m.Path})
	}
	slices.SortFunc(out, func(a, b fleet.PinnedSource) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// checkedPin validates the pin of m.
func checkedPin(at string, m SourceManifest, fail func(field, message, hint string)) {
	find := "git ls-remote " + m.URL + " tells the commits of branches and tags"
	if m.Branch != "" {
		fail(at+".branch", "a branch moves, and clusters would change without a commit", "pin a commit instead: "+find)
	}
	if strings.HasPrefix(m.URL, "oci:") {
		if !digestName.MatchString(m.Digest) {
			fail(at+".digest", fmt.Sprintf("%q is not the digest of an artifact", m.Digest), "write sha256: and 64 digits, as flux push artifact shows it; a tag alone moves")
		}
		for field, value := range map[string]string{"commit": m.Commit, "tag": m.Tag} {
			if value != "" {
				fail(at+"."+field, "it is for repositories of Git", "an artifact is pinned by its digest alone")
			}
		}
		return
	}
	if m.Digest != "" {
		fail(at+".digest", "it is for artifacts in a registry", "pin a repository of Git by its commit")
	}
	switch {
	case m.Commit == "" && m.Branch != "": // it is reported
	case m.Commit == "":
		fail(at+".commit", "the source is not pinned", "name a commit, with all of its 40 digits: "+find)
	case !commitName.MatchString(m.Commit):
		fail(at+".commit", fmt.Sprintf("%q is not a commit", m.Commit), "write all of its 40 digits: "+find)
	}
	if m.Tag != "" && (!tagName.MatchString(m.Tag) || strings.Contains(m.Tag, "..") || strings.HasSuffix(m.Tag, ".lock")) {
		fail(at+".tag", fmt.Sprintf("%q cannot be the name of a tag", m.Tag), "write it without refs/tags/")
	}
}

// unfitURL says why text is not the URL of a remote repository. It shows no credential.
func unfitURL(text string) string {
	switch {
	case text == "":
		return "it is empty"
	case len(text) > 2000 || fleet.PlainText(text) != text || strings.ContainsAny(text, " %\\"):
		return "it is not a plain URL"
	case scpLike.MatchString(text):
		if strings.Contains(text+"/", "/../") || strings.Contains(text, ":../") {
			return "its path leads upwards"
		}
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return "it is not a URL"
	}
	_, password := u.User.Password()
	switch {
	case !slices.Contains([]string{"https", "http", "ssh", "oci"}, u.Scheme):
		return fmt.Sprintf("the scheme %q is not for sources from elsewhere", u.Scheme)
	case u.Host == "" || strings.Trim(u.Path, "/") == "":
		return "it names no host or no repository"
	case password || u.User != nil && u.Scheme != "ssh":
		return "it has a credential in it, which is given to the agent with --allow-source"
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "it has more than a host and a path"
	case path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/"):
		return "its path is not the shortest one"
	}
	return ""
}

// mount returns base with the pinned sources of cfg. Sources that could not be fetched are
// in cfg.failed.
func (b *Builder) mount(ctx context.Context, base sources.Tree, cfg *config) (*sops.Tree, error) {
	if len(cfg.Sources) == 0 {
		return b.options.Decrypter.Tree(ctx, base), nil
	}
	var got map[string]Content
	if b.options.Pinned != nil {
		got = b.options.Pinned.Open(ctx, cfg.Sources)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg.failed = map[string]failure{}
	mounts := map[string]sources.Tree{}
	for _, s := range cfg.Sources {
		c, ok := got[s.Name]
		if !ok {
			c.Err = fleet.Errorf(fleet.Invalid, "get the pinned source "+s.Name, "sources from elsewhere are not got here")
		}
		if c.Err == nil && !c.Instead {
			c.Err = taken(base, s)
		}
		if c.Err != nil {
			c.Tree = tree.Unavailable(c.Err)
			cfg.failed[s.Folder()] = failure{s, c.Err}
		}
		mounts[s.Name] = c.Tree
	}
	return b.options.Decrypter.Tree(ctx, tree.Mounted(base, fleet.SourcesFolder, mounts)), nil
}

// taken returns why s cannot be mounted: its folder exists in the fleet. A submodule of the
// same commit is the same content.
func taken(base sources.Tree, s fleet.PinnedSource) error {
	const op = "put the pinned source into its place"
	dir, err := fs.Lstat(base, fleet.SourcesFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &fleet.Error{Kind: kindOfRead(err), Op: op, Err: err}
	case !dir.IsDir():
		return fleet.Errorf(fleet.Invalid, op, "the fleet itself has something else than a folder at %s: rename it", fleet.SourcesFolder)
	}
	there, err := fs.Lstat(base, s.Folder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &fleet.Error{Kind: kindOfRead(err), Op: op, Err: err}
	}
	if there.Mode().Type() == fs.ModeIrregular {
		if d, err := base.Digest(s.Folder()); err == nil && d == "sha1:"+s.Commit && s.Path == "" {
			return nil
		}
		return fleet.Errorf(fleet.Invalid, op, "the fleet itself has a submodule at %s of another commit, or the source has a path: give both the same commit, and no path", s.Folder())
	}
	return fleet.Errorf(fleet.Invalid, op, "the fleet itself has something at %s: rename one of them, or on a computer of your own say --source-folder %s=DIR", s.Folder(), s.Name)
}

// A failure is a pinned source without content.
type failure struct {
	source fleet.PinnedSource
	err    error
}

// late reports whether the failure may pass.
func (f failure) late() bool {
	return fleet.KindOf(f.err) != fleet.Invalid || errors.Is(f.err, sources.ErrUntrusted)
}

func (f failure) problem() fleet.Problem {
	p := fleet.Problem{
		Message: fmt.Sprintf("the pinned source %s, %s at %s, is not there: %v", f.source.Name, f.source.URL, short(f.source.Pin()), f.err),
		Hint:    "fix its item in spec.sources of " + ConfigFile,
	}
	if f.late() {
		p.Hint = "its clusters do not change until it can be fetched; the agent retries"
	}
	return p
}

// short returns the beginning of a commit or a digest.
func short(pin string) string {
	pin = strings.TrimPrefix(pin, "sha256:")
	return pin[:min(len(pin), 12)]
}

// roots returns the folders that pinned sources are in.
func (c config) roots() []string {
	out := make([]string, len(c.Sources))
	for i, s := range c.Sources {
		out[i] = s.Folder()
	}
	return out
}

// pinned reports whether dir is in a pinned source.
func (c config) pinned(dir string) bool {
	return slices.ContainsFunc(c.roots(), func(root string) bool { return below(dir, root) })
}

func below(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }

// lacking returns the failed source that one of the paths reads is in.
func (c config) lacking(reads []string) (failure, bool) {
	for _, root := range slices.Sorted(maps.Keys(c.failed)) {
		if slices.ContainsFunc(reads, func(name string) bool { return below(name, root) }) {
			return c.failed[root], true
		}
	}
	return failure{}, false
}

// lateOf returns the overlays of built whose problem may pass.
func lateOf(built map[string]*overlay, mentioned map[string]string) []string {
	var out []string
	for dir, o := range built {
		by := built[mentioned[dir]]
		if o.fetchFailed && len(o.problems) > 0 || by != nil && by.fetchFailed {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}
