package wiring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlead.dev/agent/inputs/pins"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/worker"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/tree"
)

// An AllowedSource says which sources fleet.yaml may pin. Nothing else is asked for
// anything.
type AllowedSource struct {
	// Prefix is the beginning of their URLs, up to the end or a slash.
	Prefix string
	// Credentials is a folder as in Credentials.Dir, for these sources alone; empty: none.
	Credentials string
}

// ParseAllowedSource reads PREFIX or PREFIX=FOLDER.
func ParseAllowedSource(text string) (AllowedSource, error) {
	prefix, folder, given := strings.Cut(text, "=")
	if given && folder == "" {
		return AllowedSource{}, fmt.Errorf("%q names no folder of credentials after the =", text)
	}
	a := AllowedSource{Prefix: prefix, Credentials: folder}
	normal, err := a.normal()
	switch at := strings.Index(prefix, "://"); {
	case err != nil:
	case strings.HasPrefix(normal, "file:"):
		err = errors.New("it is on this computer; --source-folder is for that")
	case at < 0 && !strings.Contains(prefix, "@"), at >= 0 && strings.Trim(prefix[at:], ":/") == "":
		err = errors.New("it has no host")
	}
	if err != nil {
		return a, fmt.Errorf("%q is not the beginning of a repository's URL, as https://git.example.com/platform: %w", redactedPrefix(prefix), err)
	}
	return a, nil
}

// redactedPrefix hides what may be a password.
func redactedPrefix(prefix string) string {
	scheme, rest, ok := strings.Cut(prefix, "://")
	if _, host, has := strings.Cut(rest, "@"); ok && has && !strings.HasPrefix(scheme, "ssh") {
		return scheme + "://" + host
	}
	return prefix
}

// normal returns the prefix in the one spelling that URLs are compared in.
func (a AllowedSource) normal() (string, error) {
	const below = "/x" // a host alone is the beginning of a URL too
	prefix := strings.TrimSuffix(strings.TrimRight(a.Prefix, "/"), ".git")
	n, err := normalURL(prefix + below)
	return strings.TrimSuffix(n, below), err
}

func normalURL(url string) (string, error) {
	if oci.IsURL(url) {
		return oci.NormaliseURL(url)
	}
	return git.NormaliseURL(url)
}

// allowed returns what says that the source at url may be pinned: of several the one with
// the longest prefix.
func (s Settings) allowed(url string) (AllowedSource, error) {
	const op = "get a pinned source"
	name, err := normalURL(url)
	if err != nil {
		return AllowedSource{}, err
	}
	var best AllowedSource
	longest := 0
	for _, a := range s.AllowedSources {
		prefix, err := a.normal()
		if err != nil {
			return a, &fleet.Error{Kind: fleet.Invalid, Op: op, Err: err}
		}
		if (name == prefix || strings.HasPrefix(name, prefix+"/")) && len(prefix) > longest {
			best, longest = a, len(prefix)
		}
	}
	if longest == 0 {
		return best, fleet.Errorf(fleet.Invalid, op, "no --allow-source allows %s: set the flag for each source that fleet.yaml may pin", name)
	}
	return best, nil
}

// pinTimeout is how long a render of an agent waits for a pinned source that is new to it.
const pinTimeout = 20 * time.Second

// newPins returns what gets pinned sources.
func (s Settings) newPins(timeout time.Duration, observe func(error, time.Duration)) *pins.Keeper {
	return pins.New(pins.Options{Get: s.getPinned, Timeout: timeout, Observe: observe, Log: s.Log})
}

// getPinned gets the content of a pin.
func (s Settings) getPinned(ctx context.Context, p fleet.PinnedSource) render.Content {
	if folder, ok := s.SourceFolders[p.Name]; ok {
		t, err := s.folderOf(ctx, folder, p.Path)
		return render.Content{Tree: t, Err: err, Instead: true}
	}
	a, err := s.allowed(p.URL)
	if err != nil {
		return render.Content{Err: err}
	}
	open := s.pinnedCommit
	if p.Digest != "" {
		open = s.pinnedArtifact
	}
	t, err := open(ctx, p, credentials.Files{Dir: a.Credentials})
	if err != nil {
		return render.Content{Err: err}
	}
	return render.Content{Tree: t}
}

// folderOf returns the content of a folder that stands for a pinned source.
func (s Settings) folderOf(ctx context.Context, folder, path string) (sources.Tree, error) {
	f, err := dir.New(dir.Options{Path: filepath.Join(folder, filepath.FromSlash(path)), Log: s.Log})
	if err != nil {
		return nil, err
	}
	rev, err := f.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	return f.Fetch(ctx, rev)
}

// pinnedCommit gets a commit of a repository of Git. With trusted keys it is signed, or
// the tag is that it is found by.
func (s Settings) pinnedCommit(ctx context.Context, p fleet.PinnedSource, c credentials.Files) (sources.Tree, error) {
	verify, err := credentials.GitVerifier(s.TrustedKeys)
	if err != nil {
		return nil, &fleet.Error{Kind: fleet.Unauthorized, Op: "read whose signatures count", Err: err}
	}
	if err := c.Git(&git.Options{}); err != nil {
		return nil, &fleet.Error{Kind: fleet.Unauthorized, Op: "get " + p.Name, Err: err}
	}
	at := func(ref string) (*git.Repository, error) {
		return git.New(git.Options{URL: p.URL, Ref: ref, Path: p.Path, Refresh: c.Git, Verify: verify, Budget: pinnedBudget(worker.MemoryLimit()), Log: s.Log})
	}
	if p.Tag != "" {
		r, err := at("refs/tags/" + p.Tag)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		t, err := byTag(ctx, r, p.Commit)
		if t != nil || err != nil {
			return t, err
		}
	}
	r, err := at(p.Commit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := r.Fetch(ctx, fleet.Revision{Ref: p.Commit, Digest: "sha1:" + p.Commit})
	if fleet.KindOf(err) == fleet.NotFound && p.Tag == "" {
		err = fleet.Errorf(fleet.NotFound, "get commit "+p.Commit, "%w; where the server gives commits by the name of a tag alone, name one that is at it as tag", err)
	}
	return asTree(t, err)
}

// asTree returns t where there is no error, so that no typed nil is a tree.
func asTree(t sources.Tree, err error) (sources.Tree, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// byTag gets the commit that the tag which r follows is at. Where it is at another one, or
// not there, or the tag has no signature, there is no tree: the commit may be got by itself.
func byTag(ctx context.Context, r *git.Repository, commit string) (sources.Tree, error) {
	rev, err := r.Resolve(ctx)
	if fleet.KindOf(err) == fleet.NotFound || err == nil && rev.Hash() != commit {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := r.Fetch(ctx, rev)
	if errors.Is(err, sources.ErrUntrusted) {
		return nil, nil
	}
	return asTree(t, err)
}

// pinnedArtifact gets an artifact of a registry.
func (s Settings) pinnedArtifact(ctx context.Context, p fleet.PinnedSource, c credentials.Files) (sources.Tree, error) {
	verify, err := credentials.ArtifactVerifier(s.TrustedKeys)
	if err != nil {
		return nil, &fleet.Error{Kind: fleet.Unauthorized, Op: "read whose signatures count", Err: err}
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(p.URL, oci.Scheme), "/")
	refresh := func(o *oci.Options) error { return c.Registry(host, o) }
	if err := refresh(&oci.Options{}); err != nil {
		return nil, &fleet.Error{Kind: fleet.Unauthorized, Op: "get " + p.Name, Err: err}
	}
	b := pinnedBudget(worker.MemoryLimit())
	r, err := oci.New(oci.Options{URL: p.URL, Ref: p.Digest, Path: p.Path, Refresh: refresh, Verify: verify, Budget: oci.Budget{Tree: b.Tree, Compressed: b.Received}, Log: s.Log})
	if err != nil {
		return nil, err
	}
	return asTree(r.Fetch(ctx, fleet.Revision{Ref: p.Digest, Digest: p.Digest}))
}

// Bounds of what the files of one pinned source may have.
const (
	leastPinned = 8 << 20
	mostPinned  = 64 << 20
)

// pinnedBudget returns what may be got of one pinned source by a process that may take so
// many bytes of memory; 0 is no limit. It does not depend on how many there are, so that
// one source is not refused for another one. All that are kept, of two revisions, take at
// most a quarter of the memory and half as much again while they are unpacked.
func pinnedBudget(memory int64) git.Budget {
	content := int64(mostPinned)
	if memory > 0 {
		content = min(max(memory/64, leastPinned), mostPinned)
	}
	return git.Budget{
		Tree:     tree.Budget{Files: 20_000, Bytes: content, FileBytes: min(16<<20, content)},
		Received: content, Objects: 50_000,
	}
}

// checkedFolders says which of s.SourceFolders cannot be used.
func (s Settings) checkedFolders() error {
	for _, name := range slices.Sorted(maps.Keys(s.SourceFolders)) {
		if _, err := dir.New(dir.Options{Path: s.SourceFolders[name]}); err != nil {
			return fmt.Errorf("--source-folder %s: %w", name, err)
		}
	}
	return nil
}
