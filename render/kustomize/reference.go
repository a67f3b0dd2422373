package kustomize

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// remote matches what kustomize would fetch, and what looks similar. Everything else is
// rewritten to a path that begins with "./" or "../", which kustomize never fetches.
var remote = regexp.MustCompile(`(?i)^(git::|[a-z][a-z0-9+.-]*:/|[^/]*@[^/]*:|[a-z0-9-]+(\.[a-z0-9-]+)+(/|:).*(//|\?|\.git(/|$))|(github\.com|gitlab\.com|bitbucket\.org|gist\.github\.com|dev\.azure\.com)(/|:))|://|[?&](ref|version|timeout|submodules)=`)

// resolve returns the path in the tree that ref refers to in a kustomization in dir, and
// whether it is a folder. The path is recorded as read, whether it exists or not.
func (s *scanner) resolve(dir, ref string, at place) (string, bool, error) {
	switch {
	case ref == "":
		return "", false, at.refuse("remove the entry or name a file", "the reference is empty")
	case strings.ContainsAny(ref, "\n\x00"):
		return "", false, at.refuse("name one file or folder", "the reference is not a path")
	case remote.MatchString(ref):
		return "", false, at.refuse("copy it into the repository", "%q is a remote reference; nothing is fetched while rendering", ref)
	case path.IsAbs(ref) || strings.Contains(ref, `\`) || len(ref) > 1 && ref[1] == ':':
		return "", false, at.refuse("use a path relative to the kustomization", "%q is an absolute path", ref)
	}
	target := path.Join(dir, ref)
	if target == ".." || strings.HasPrefix(target, "../") {
		return "", false, at.refuse("keep what it needs in the repository, or pin its repository in spec.sources of fleet.yaml", "%q is outside of the repository", ref)
	}
	if home := s.home(dir); home != "" && home != s.home(target) {
		return "", false, at.refuse("keep what it needs in the same source", "%q is outside of the source in %s", ref, home)
	}
	info, err := fs.Stat(s.tree, target)
	if err != nil || !info.IsDir() {
		s.reads[target] = true
	}
	if errors.Is(err, fs.ErrNotExist) {
		if module := s.submodule(target); module != "" {
			return "", false, at.refuse(pinIt, "%q is in the submodule %s, whose content is not fetched", ref, module)
		}
		return "", false, at.refuse("check the path; it is relative to the kustomization", "%q does not exist", ref)
	}
	if err != nil {
		return "", false, at.refuse("", "cannot read %q: %v", ref, err)
	}
	return target, info.IsDir(), nil
}

// pinIt is the hint for what is in a submodule.
const pinIt = "pin its repository in fleet.yaml under spec.sources, or copy it into the repository"

// submodule returns the submodule of Git that contains name, or "" if there is none.
// The file .gitmodules is recorded as read.
func (s *scanner) submodule(name string) string {
	s.reads[gitmodules] = true
	data, err := ReadFile(s.tree, gitmodules, s.limits.File)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(line, "=")
		dir := path.Clean(strings.Trim(strings.TrimSpace(value), `"`))
		if ok && strings.TrimSpace(key) == "path" && (name == dir || strings.HasPrefix(name, dir+"/")) {
			return dir
		}
	}
	return ""
}

// gitmodules is the file in which Git lists the submodules of a repository.
const gitmodules = ".gitmodules"

// home returns the folder of s.apart that contains name.
func (s *scanner) home(name string) string {
	for _, dir := range s.apart {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return dir
		}
	}
	return ""
}

// relative returns the path from dir to target, beginning with "./" or "../".
func relative(dir, target string) string {
	from, to := segments(dir), segments(target)
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	up := strings.Repeat("../", len(from)-n)
	if up == "" {
		up = "./"
	}
	return up + strings.Join(to[n:], "/")
}

func segments(p string) []string {
	if p == "." {
		return nil
	}
	return strings.Split(p, "/")
}
