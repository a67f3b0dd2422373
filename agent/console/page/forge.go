package page

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// A ForgeKind is how a forge's addresses look.
type ForgeKind string

// The kinds of forges.
const (
	GitHub ForgeKind = "github"
	GitLab ForgeKind = "gitlab"
	Gitea  ForgeKind = "gitea" // and Forgejo
)

// A Forge leads to a repository as a forge shows it. Of the zero Forge all addresses are
// empty.
type Forge struct {
	Kind ForgeKind
	URL  string // of the repository: "https://git.example.com/ops/fleet"
}

// ParseForge returns the forge of kind that has the repository at source. An empty kind is
// guessed by the host. The zero Forge: it is none that is known.
func ParseForge(kind ForgeKind, source string) (Forge, error) {
	switch kind {
	case "", GitHub, GitLab, Gitea:
	default:
		return Forge{}, fmt.Errorf("there is no kind of forge %q: use %s, %s or %s", kind, GitHub, GitLab, Gitea)
	}
	host, repo := split(source)
	if host == "" || repo == "" {
		return Forge{}, nil
	}
	if kind == "" {
		kind = kindOf(host)
	}
	if kind == "" {
		return Forge{}, nil
	}
	return Forge{Kind: kind, URL: "https://" + host + "/" + repo}, nil
}

// split returns the host and the path of a repository that may be on a forge.
func split(source string) (host, repo string) {
	if !strings.Contains(source, "://") {
		at, rest, scp := strings.Cut(source, ":")
		_, name, user := strings.Cut(at, "@")
		if !scp || !user {
			return "", "" // a folder
		}
		source = "ssh://" + name + "/" + rest
	}
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh" {
		return "", ""
	}
	host = u.Host
	if u.Scheme == "ssh" {
		host = u.Hostname() // its port is not that of the pages
	}
	return host, strings.Trim(strings.TrimSuffix(u.EscapedPath(), ".git"), "/")
}

func kindOf(host string) ForgeKind {
	for _, k := range []struct {
		part string
		kind ForgeKind
	}{{"github", GitHub}, {"gitlab", GitLab}, {"gitea", Gitea}, {"forgejo", Gitea}, {"codeberg", Gitea}} {
		if strings.Contains(strings.ToLower(host), k.part) {
			return k.kind
		}
	}
	return ""
}

// fills reports whether the editor of the forge takes the text of a new file.
func (f Forge) fills() bool { return f.Kind != GitLab }

// at returns the address below the repository, of the kind of the forge.
func (f Forge) at(github, gitlab, gitea string) string {
	switch f.Kind {
	case GitHub:
		return f.URL + github
	case GitLab:
		return f.URL + gitlab
	case Gitea:
		return f.URL + gitea
	}
	return ""
}

// Commit returns the address of a commit.
func (f Forge) Commit(hash string) string {
	if hash == "" {
		return ""
	}
	hash = url.PathEscape(hash)
	return f.at("/commit/"+hash, "/-/commit/"+hash, "/commit/"+hash)
}

// File returns the address of a file at a commit.
func (f Forge) File(hash, folder, file string) string {
	if hash == "" {
		return ""
	}
	p := escaped(hash, folder, file)
	return f.at("/blob/"+p, "/-/blob/"+p, "/src/commit/"+p)
}

// Line returns the address of a line of a file at a commit; of line 0, that of the file.
func (f Forge) Line(hash, folder, file string, line int) string {
	at := f.File(hash, folder, file)
	if at == "" || line <= 0 {
		return at
	}
	return at + "#L" + strconv.Itoa(line)
}

// Folder returns the address of a folder at a commit.
func (f Forge) Folder(hash, folder, below string) string {
	if hash == "" || below == "" {
		return ""
	}
	p := escaped(hash, folder, below)
	return f.at("/tree/"+p, "/-/tree/"+p, "/src/commit/"+p)
}

// History returns the address of the commits of a branch, or of a file on it.
func (f Forge) History(branch, file string) string {
	p := escaped(branch, file)
	return f.at("/commits/"+p, "/-/commits/"+p, "/commits/branch/"+p)
}

// New returns the address of the editor for a new file, with its text.
func (f Forge) New(branch, file, text string) string {
	b := escaped(branch)
	filled := "?" + url.Values{"filename": {file}, "value": {text}}.Encode()
	return f.at("/new/"+b+filled, "/-/new/"+b+"?"+url.Values{"file_name": {file}}.Encode(), "/_new/"+b+"/"+filled)
}

// Edit returns the address of the editor for a file.
func (f Forge) Edit(branch, file string) string {
	p := escaped(branch, file)
	return f.at("/edit/"+p, "/-/edit/"+p, "/_edit/"+p)
}

// escaped joins elements of a path, escaped.
func escaped(elements ...string) string {
	u := url.URL{Path: path.Join(elements...)}
	return strings.TrimPrefix(u.EscapedPath(), "./")
}
