package page

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// History is the view of the newest commits of the status branch.
type History struct {
	Cluster string `json:"cluster,omitempty"` // that it is of; empty: of the fleet
	Branch  string `json:"branch"`
	URL     string `json:"url,omitempty"` // where the forge has all of it
	Commits []Done `json:"commits"`
	Days    []Day  `json:"-"`
}

// A Day is what was done on one.
type Day struct {
	Name    string
	Commits []Done
}

// A Done is what a commit of the status branch tells.
type Done struct {
	Commit  string    `json:"commit"`
	URL     string    `json:"url,omitempty"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Person  bool      `json:"-"` // it is no agent's
	Subject string    `json:"subject"`
	Lines   []string  `json:"lines,omitempty"` // of the body: what was done and why
}

func historyView() view {
	return view{name: "history", title: "History", build: func(s *state, q query) (any, bool) {
		out := History{Branch: q.options.Branch, URL: q.options.StatusForge.History(q.options.Branch, ""), Commits: []Done{}}
		for _, e := range s.History {
			out.Commits = append(out.Commits, doneOf(e, q.options))
		}
		out.Days = daysOf(out.Commits)
		return out, true
	}}
}

// pastView is the history of one cluster, which may be gone.
func pastView() view {
	return view{name: "past", path: "history", of: ", its history", build: func(s *state, q query) (any, bool) {
		out := History{
			Cluster: q.key.String(), Branch: q.options.Branch, URL: q.options.StatusForge.History(q.options.Branch, status.ClusterPath(q.key)),
			Commits: doneTo(s, q.key, mostHistory, q.options),
		}
		out.Days = daysOf(out.Commits)
		return out, len(out.Commits) > 0 || s.byKey[q.key] != nil
	}}
}

// daysOf parts commits, the newest first, by the day in UTC.
func daysOf(list []Done) []Day {
	var out []Day
	for _, d := range list {
		name := d.At.UTC().Format("Monday 2 January 2006")
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, Day{Name: name})
		}
		last := &out[len(out)-1]
		last.Commits = append(last.Commits, d)
	}
	return out
}

// doneOf returns the commit e without its trailers.
func doneOf(e sources.Entry, o *Options) Done {
	subject, body, _ := strings.Cut(strings.TrimSpace(e.Message), "\n")
	d := Done{Commit: e.Commit, URL: o.StatusForge.Commit(e.Commit), At: e.At, By: fleet.PlainText(e.By), Subject: fleet.PlainText(subject)}
	d.Person = !strings.Contains(body, "Fairlead-Agent: ")
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" && line != subject && !strings.HasPrefix(line, "Fairlead-") {
			d.Lines = append(d.Lines, fleet.PlainText(line))
		}
	}
	return d
}

// doneTo returns what the newest commits tell of cluster k, in most commits at most.
func doneTo(s *state, k fleet.Key, most int, o *Options) []Done {
	out := []Done{}
	of := k.String() + ": "
	for _, e := range s.History {
		d := doneOf(e, o)
		var lines []string
		for _, line := range append([]string{d.Subject}, d.Lines...) {
			if text, ok := strings.CutPrefix(line, of); ok {
				lines = append(lines, text)
			}
		}
		switch {
		case len(lines) > 0:
			d.Subject, d.Lines = lines[0], lines[1:]
		case !mentions(d.Subject, k):
			continue
		}
		if out = append(out, d); len(out) == most {
			break
		}
	}
	return out
}

// mentions reports whether text names cluster k, as the subject of a request does.
func mentions(text string, k fleet.Key) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",:;", r) })
	return slices.Contains(words, k.String())
}

// underWay returns what was begun last in a cluster, of which done was; nil: it is at rest, or
// the commits do not tell.
func underWay(done []Done, sign Sign) *Done {
	if sign != Creating && sign != Changing && sign != Deleting {
		return nil
	}
	for _, d := range done {
		if lines := slices.DeleteFunc(append([]string{d.Subject}, d.Lines...), func(l string) bool { return !action.MatchString(l) }); len(lines) > 0 {
			d.Lines = lines
			return &d
		}
	}
	return nil
}

// action matches a line that tells of an action, "CreateMachine x: why", and not of a phase or
// an error.
var action = regexp.MustCompile(`^[A-Z][a-z]+[A-Z][A-Za-z]*( \S+)?: `)
