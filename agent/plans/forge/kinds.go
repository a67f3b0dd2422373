package forge

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// Options name a repository on a forge. All but Kind and Root are required.
type Options struct {
	Kind       string // one of Kinds; empty: by the host of Repository
	Repository string // URL of the repository, as Git has it
	// Root is the URL of the forge, as people visit it. Empty: https:// and the host of
	// Repository.
	Root string
	// API opens the API at base.
	API func(base string) (API, error)
}

// A kind is one kind of forge.
type kind struct {
	hosts  []string // that are always of the kind: the credential is shown to them
	called []string // parts of the names of hosts that are probably of the kind
	open   func(place) (Forge, error)
	pages  addresses
}

// addresses are those of what a forge shows to people, below that of the repository.
type addresses struct {
	commit, file, folder, tip, history, create, edit, pull string

	slash string // follows the branch in the address of the editor for a new file
	empty bool   // that editor takes no text
}

// kinds returns the kinds by name. A new kind is one row.
func kinds() map[string]kind {
	return map[string]kind{
		"gitea": { // and Forgejo
			hosts: []string{"codeberg.org", "gitea.com"}, called: []string{"gitea", "forgejo", "codeberg"}, open: newGitea,
			pages: addresses{
				commit: "/commit/", file: "/src/commit/", folder: "/src/commit/", tip: "/src/branch/", history: "/commits/branch/",
				create: "/_new/", edit: "/_edit/", pull: "/pulls/", slash: "/",
			},
		},
		"github": {
			hosts: []string{"github.com"}, called: []string{"github"}, open: newGitHub,
			pages: addresses{
				commit: "/commit/", file: "/blob/", folder: "/tree/", tip: "/blob/", history: "/commits/", create: "/new/", edit: "/edit/", pull: "/pull/",
			},
		},
		"gitlab": {
			hosts: []string{"gitlab.com"}, called: []string{"gitlab"}, open: newGitLab,
			pages: addresses{
				commit: "/-/commit/", file: "/-/blob/", folder: "/-/tree/", tip: "/-/blob/", history: "/-/commits/", create: "/-/new/", edit: "/-/edit/",
				pull: "/-/merge_requests/", empty: true,
			},
		},
	}
}

// Kinds returns the names of the kinds, sorted. Forgejo is of kind gitea.
func Kinds() []string {
	var names []string
	for name := range kinds() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// New returns the forge that o names. It does not connect. Errors are of kind Invalid.
func New(o Options) (Forge, error) {
	p, err := newPlace(o)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "use the forge", "%w", err)
	}
	kind := o.Kind
	if kind == "" {
		kind = kindOfHost(p.root.Hostname())
	}
	k, ok := kinds()[kind]
	switch {
	case unsupported(kind):
		return nil, fleet.Errorf(fleet.Invalid, "use the forge", "pull requests of %s are not planned (kind %q; supported: %s). Plan branches with spec.pullRequests.refs in fleet.yaml and no --forge, or run 'fairlead plan' in the CI of the Git provider: see docs/guides/fleet/pull-requests.md", p.root.Host, kind, strings.Join(Kinds(), ", "))
	case !ok:
		return nil, fleet.Errorf(fleet.Invalid, "use the forge", "%q is no kind of forge that is known for %s: name one with --forge, of %s", kind, p.root.Host, strings.Join(Kinds(), ", "))
	}
	f, err := k.open(p)
	if err != nil {
		return nil, fleet.Errorf(kindOf(err), "use the forge", "%w", err)
	}
	return f, nil
}

// kindOfHost returns the kind that is at a host; empty: it is not known.
func kindOfHost(host string) string {
	for name, k := range kinds() {
		if slices.Contains(k.hosts, host) {
			return name
		}
	}
	switch {
	case strings.HasSuffix(host, ".ghe.com"):
		return "github"
	case host == "bitbucket.org":
		return "bitbucket"
	case host == "dev.azure.com", host == "ssh.dev.azure.com", strings.HasSuffix(host, ".visualstudio.com"):
		return "azure"
	}
	return ""
}

// unsupported reports whether kind is of a Git provider whose pull requests are not planned.
func unsupported(kind string) bool {
	return slices.Contains([]string{"azure", "bitbucket", "bitbucket-data-center"}, kind)
}

// A place is where a repository is on a forge.
type place struct {
	root *url.URL // of the forge
	path string   // of the repository on it, "team/fleet"
	open func(base string) (API, error)
}

// api opens the API at a path below the root.
func (p place) api(path string) (API, error) {
	return p.open(strings.TrimRight(p.root.String(), "/") + path)
}

func newPlace(o Options) (place, error) {
	repository, err := git.NormaliseURL(o.Repository)
	if err != nil {
		return place{}, err
	}
	u, err := url.Parse(repository)
	if err != nil || u.Host == "" {
		return place{}, fmt.Errorf("%s is on no forge", o.Repository)
	}
	p := place{root: &url.URL{Scheme: "https", Host: u.Hostname()}, open: o.API}
	if u.Scheme == "http" || u.Scheme == "https" {
		p.root = &url.URL{Scheme: u.Scheme, Host: u.Host}
	}
	if o.Root != "" {
		if p.root, err = url.Parse(o.Root); err != nil || p.root.Host == "" {
			return place{}, fmt.Errorf("%q is no URL of a forge", o.Root)
		}
		p.root.Path = strings.TrimRight(p.root.Path, "/")
	}
	p.path = strings.TrimSuffix(u.Path, ".git")
	if u.Scheme != "ssh" {
		p.path = strings.TrimPrefix(p.path, p.root.Path)
	}
	if p.path = strings.Trim(p.path, "/"); !strings.Contains(p.path, "/") {
		return place{}, fmt.Errorf("%q names no repository of an owner on %s", p.path, p.root)
	}
	return p, nil
}

// pair returns the two parts of a path on a forge without groups in groups.
func (p place) pair() (string, error) {
	owner, name, _ := strings.Cut(p.path, "/")
	if strings.Contains(name, "/") {
		return "", fmt.Errorf("%q is no OWNER/REPOSITORY on %s: name the URL of the forge with --forge-url", p.path, p.root)
	}
	return url.PathEscape(owner) + "/" + url.PathEscape(name), nil
}
