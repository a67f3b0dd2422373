package forge

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Links lead to a repository as a forge shows it to people. Of the zero Links all addresses are empty.
type Links struct {
	Kind string // one of Kinds
	URL  string // of the repository: "https://git.example.com/ops/fleet"
}

// LinksOf returns the links of kind to the repository at source. An empty kind is guessed by the host: no
// credential is shown to it. The zero Links: it is of no kind that is known.
func LinksOf(kind, source string) (Links, error) {
	if _, known := kinds()[kind]; !known && kind != "" {
		return Links{}, fmt.Errorf("invalid kind of Git provider %q: must be one of %s", kind, strings.Join(Kinds(), ", "))
	}
	host, repo := split(source)
	if host == "" || repo == "" {
		return Links{}, nil
	}
	if kind == "" {
		kind = guess(host)
	}
	if kind == "" {
		return Links{}, nil
	}
	return Links{Kind: kind, URL: "https://" + host + "/" + repo}, nil
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

// guess returns the kind that a host is called after.
func guess(host string) string {
	for _, name := range Kinds() {
		if slices.ContainsFunc(kinds()[name].called, func(part string) bool { return strings.Contains(strings.ToLower(host), part) }) {
			return name
		}
	}
	return ""
}

// Fills reports whether the editor of the forge takes the text of a new file.
func (l Links) Fills() bool { return !kinds()[l.Kind].pages.empty }

// at returns the address of a page of the repository.
func (l Links) at(page func(addresses) string, rest string) string {
	k, known := kinds()[l.Kind]
	if !known {
		return ""
	}
	return l.URL + page(k.pages) + rest
}

// Commit returns the address of a commit.
func (l Links) Commit(hash string) string {
	if hash == "" {
		return ""
	}
	return l.at(func(p addresses) string { return p.commit }, url.PathEscape(hash))
}

// File returns the address of a file at a commit.
func (l Links) File(hash, folder, file string) string {
	if hash == "" {
		return ""
	}
	return l.at(func(p addresses) string { return p.file }, escaped(hash, folder, file))
}

// Line returns the address of a line of a file at a commit; of line 0, that of the file.
func (l Links) Line(hash, folder, file string, line int) string {
	at := l.File(hash, folder, file)
	if at == "" || line <= 0 {
		return at
	}
	return at + "#L" + strconv.Itoa(line)
}

// Folder returns the address of a folder at a commit.
func (l Links) Folder(hash, folder, below string) string {
	if hash == "" || below == "" {
		return ""
	}
	return l.at(func(p addresses) string { return p.folder }, escaped(hash, folder, below))
}

// Tip returns the address of a file as a branch has it now.
func (l Links) Tip(branch, file string) string {
	return l.at(func(p addresses) string { return p.tip }, escaped(branch, file))
}

// History returns the address of the commits of a branch, or of a file on it.
func (l Links) History(branch, file string) string {
	return l.at(func(p addresses) string { return p.history }, escaped(branch, file))
}

// New returns the address of the editor for a new file, with its text if the editor takes it.
func (l Links) New(branch, file, text string) string {
	p := kinds()[l.Kind].pages
	rest := escaped(branch) + p.slash + "?"
	if p.empty {
		return l.at(func(p addresses) string { return p.create }, rest+url.Values{"file_name": {file}}.Encode())
	}
	return l.at(func(p addresses) string { return p.create }, rest+url.Values{"filename": {file}, "value": {text}}.Encode())
}

// Edit returns the address of the editor for a file.
func (l Links) Edit(branch, file string) string {
	return l.at(func(p addresses) string { return p.edit }, escaped(branch, file))
}

// PullRequest returns the address of a pull request.
func (l Links) PullRequest(number int) string {
	return l.at(func(p addresses) string { return p.pull }, strconv.Itoa(number))
}

// escaped joins elements of a path, escaped.
func escaped(elements ...string) string {
	u := url.URL{Path: path.Join(elements...)}
	return strings.TrimPrefix(u.EscapedPath(), "./")
}
