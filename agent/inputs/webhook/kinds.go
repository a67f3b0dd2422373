package webhook

import (
	"net/http"
	"slices"
	"strings"
)

// A kind is one kind of forge: how it proves who it is, and what it tells.
type kind struct {
	name string
	// verify reports whether one of the secrets made the proof in h for body.
	verify func(h http.Header, body []byte, secrets [][]byte) bool
	// form allows a form whose field payload is the JSON, beside plain JSON.
	form bool
	// any allows every content type, and content that is not JSON.
	any bool
	// read returns what h and payload tell. Its errors say what is wrong with the
	// payload.
	read func(h http.Header, payload []byte) (event, error)
}

func kinds() []kind {
	return []kind{github(), gitlab(), gitea(), bitbucket(), generic()}
}

// Kinds returns the names of all kinds, sorted.
func Kinds() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return names
}

// An event is what a call tells, in the words of all kinds.
type event struct {
	ping bool   // only asks whether somebody is there
	name string // of the event, as the forge calls it
	push bool
	pull bool // about a pull request, whose refs are not told

	// id is what tells this call from others, "" where its content does.
	id string
	// repeats is set where two calls of equal content may both be meant.
	repeats bool

	urls          []string // of the repository, each way to it
	path          string   // of the repository in the forge, "team/fleet", if the call has it
	refs          []string // full names that moved; none: not told
	defaultBranch string   // if the call has it

	commits map[string]string // that refs are at since, in hex, if the call has it
}

// repository is the part that GitHub and Gitea share, and GitLab spells
// otherwise.
type repository struct {
	FullName      string `json:"full_name"`
	HTMLURL       string `json:"html_url"`
	CloneURL      string `json:"clone_url"`
	SSHURL        string `json:"ssh_url"`
	DefaultBranch string `json:"default_branch"`
}

func (r repository) into(e *event) {
	e.path, e.defaultBranch = r.FullName, r.DefaultBranch
	e.urls = present(r.CloneURL, r.SSHURL, r.HTMLURL)
}

// present returns what is not empty.
func present(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// at returns what is at commit since, if the call has both.
func at(ref, commit string) map[string]string {
	if ref == "" || commit == "" {
		return nil
	}
	return map[string]string{ref: commit}
}

// fullRef returns the full name of a branch or tag that a forge gives the short
// name of.
func fullRef(kind, name string) string {
	if strings.EqualFold(kind, "tag") || strings.EqualFold(kind, "annotated_tag") {
		return "refs/tags/" + name
	}
	return "refs/heads/" + name
}
