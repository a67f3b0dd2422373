package document

import (
	"cmp"
	"fmt"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

const (
	// maxPart bounds one piece of text of others, in characters.
	maxPart = 300
	// maxRemarks bounds lists of remarks.
	maxRemarks = 50
)

// A Section is a part of a rendered document: its beginning, what changes in one cluster, or what follows.
type Section struct {
	Title   Line // empty: it follows the section before it
	Folded  bool // it is about the cluster of its title
	Items   []Item
	Remarks []Line
}

// An Item is one of a list, with those below it.
type Item struct {
	Line

	Below []Line
}

// A Line is text for people.
type Line []Span

// A Span is a piece of a line.
type Span struct {
	Text         string
	Code, Strong bool
}

// plain returns text of Fairlead's own.
func plain(format string, args ...any) Span { return Span{Text: fmt.Sprintf(format, args...)} }

func strong(text string) Span { return Span{Text: text, Strong: true} }

// code returns text of others, on one line and bounded.
func code(text string) Span {
	text = strings.ReplaceAll(fleet.PlainText(strings.Join(strings.Fields(text), " ")), "`", "'")
	return Span{Text: cmp.Or(Short(text, maxPart), "-"), Code: true}
}

// Short returns text of at most n characters.
func Short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// titled returns the title of a document: two fleets may both comment on a pull request.
func titled(what string, of fleet.ID, rest ...Span) Line {
	line := Line{plain("%s", what)}
	if of != "" {
		line = append(line, plain(" of "), code(string(of)))
	}
	return append(line, rest...)
}

// Sections returns what p says, for any medium: with the changes of each cluster, or with how many there are.
func Sections(p status.Plan, details bool) []Section {
	if p.Result != nil {
		return []Section{resultOf(p)}
	}
	first := Section{Title: titled(Title, p.Fleet, plain(": "), code(cmp.Or(p.Headline, p.Summary)))}
	for _, f := range p.Failures {
		word := Line{strong("fails"), plain(": ")}
		if p.Accepted != "" {
			word = Line{plain("accepted: ")}
		}
		first.Items = append(first.Items, Item{Line: append(word, code(f))})
	}
	switch {
	case p.Accepted != "":
		first.Items = append(first.Items, Item{Line: Line{code(p.Accepted)}})
	case len(p.Failures) > 0 && p.Tree != "" && p.Number > 0:
		first.Items = append(first.Items, Item{Line: Line{plain("to accept the changes anyway: "), code(fmt.Sprintf("fairlead approve %d --changes --head %s --reason …", p.Number, p.Head))}})
	}
	first.list("error: ", p.Errors)
	first.list("problem: ", p.Problems)
	out := []Section{first}
	groups := groupsOf(p.Changes)
	if !details {
		out = append(out, Section{Items: shortOf(groups, len(groups))})
	}
	for _, g := range groups {
		if details {
			out = append(out, g.section())
		}
	}
	last := Section{}
	if p.Omitted > 0 {
		last.Items = append(last.Items, Item{Line: Line{plain("and %s more, the least harmful", output.Count(p.Omitted, "change"))}})
	}
	last.list("", p.Remarks)
	last.besides("withdrawn by this pull request", p.Withdrawn)
	last.besides("pending without this pull request, too", p.Pending)
	last.Remarks = append(last.Remarks, footOf(p))
	return append(out, last)
}

// list adds lines of others.
func (s *Section) list(what string, lines []string) {
	for i, l := range lines {
		if i == maxRemarks {
			s.Items = append(s.Items, Item{Line: Line{plain("and %d more", len(lines)-i)}})
			return
		}
		item := Line{code(l)}
		if what != "" {
			item = Line{plain("%s", what), code(l)}
		}
		s.Items = append(s.Items, Item{Line: item})
	}
}

// besides adds changes that the plan does not add, a line for each cluster.
func (s *Section) besides(what string, parts []status.PlanPart) {
	n := 0
	var below []Line
	for i, p := range parts {
		n += p.Changes
		switch {
		case i < maxRemarks:
			below = append(below, Line{code(clusterOf(p.Cluster)), plain(": "), code(p.Summary)})
		case i == maxRemarks:
			below = append(below, Line{plain("and more clusters")})
		}
	}
	if n > 0 {
		s.Items = append(s.Items, Item{Line{plain("%s: %s", what, output.Count(n, "change"))}, below})
	}
}

// footOf says what was planned.
func footOf(p status.Plan) Line {
	line := Line{plain("Head "), code(p.Head), plain(" merged onto "), code(p.Base)}
	if p.Tree != "" {
		line = append(line, plain(", as tree "), code(strings.TrimPrefix(p.Tree, "sha1:")))
	}
	if p.Look != "" {
		line = append(line, plain(", by observation "), code(p.Look))
	}
	return append(line, plain(". It is planned again when one of them changes."))
}

// resultOf says what became of a merge.
func resultOf(p status.Plan) Section {
	how := ": done as planned"
	switch {
	case !p.Result.Done:
		how = ": merged, not done yet"
	case len(p.Result.Differs) > 0:
		how = ": done, not all as planned"
	}
	s := Section{Title: titled("Fairlead", p.Fleet, plain("%s", how))}
	s.list("waits: ", p.Result.Waits)
	s.list("differs: ", p.Result.Differs)
	s.list("as merged: ", p.Result.AsMerged)
	s.Remarks = []Line{{plain("Planned at head "), code(p.Head), plain(": "), code(p.Summary), plain(".")}}
	return s
}

// A group is what changes in one cluster.
type group struct {
	cluster string
	changes []status.PlannedChange
}

// groupsOf groups changes by cluster, in their order.
func groupsOf(changes []status.PlannedChange) []group {
	var out []group
	at := make(map[string]int)
	for _, c := range changes {
		i, ok := at[c.Cluster]
		if !ok {
			i = len(out)
			at[c.Cluster] = i
			out = append(out, group{cluster: c.Cluster})
		}
		out[i].changes = append(out[i].changes, c)
	}
	return out
}

// Parts returns changes in short, by cluster.
func Parts(changes []status.PlannedChange) []status.PlanPart {
	var out []status.PlanPart
	for _, g := range groupsOf(changes) {
		out = append(out, status.PlanPart{Cluster: g.cluster, Changes: len(g.changes), Summary: Summary(g.changes)})
	}
	return out
}

// shortOf returns how much changes in which cluster, of the first clusters.
func shortOf(groups []group, most int) []Item {
	var out []Item
	for i, g := range groups {
		if i == most {
			return append(out, Item{Line: Line{plain("and %d more clusters", len(groups)-i)}})
		}
		out = append(out, Item{Line: Line{code(clusterOf(g.cluster)), plain(": "), code(Summary(g.changes))}})
	}
	return out
}

// clusterOf returns what people call the cluster of a change.
func clusterOf(cluster string) string { return cmp.Or(cluster, ConfigFile) }

// machineOf returns what changes, and what replaces it.
func machineOf(c status.PlannedChange) string {
	machine := c.Machine
	if c.By != "" {
		machine += " → " + c.By
	}
	return cmp.Or(c.Addon, c.Host, machine)
}

func (g group) section() Section {
	s := Section{Title: Line{code(clusterOf(g.cluster)), plain(": %s", Summary(g.changes))}, Folded: true}
	for _, c := range g.changes {
		w, _ := wordOf(c.Change)
		line := Line{strong(forecastWord(c.Change))}
		thing := machineOf(c)
		if c.Addon == "" && c.Host == "" {
			thing = strings.TrimSpace(c.Pool + " " + thing)
		}
		if thing != "" {
			line = append(line, plain(" "), code(thing))
		}
		line = append(line, plain(": "), code(c.Reason))
		if w.interrupts != "" {
			line = append(line, plain("; "), strong(w.interrupts))
		}
		s.Items = append(s.Items, Item{Line: line})
	}
	return s
}

// forecastWord returns the kind of a change without what no kind has.
func forecastWord(kind string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r == ' ' {
			return r
		}
		return -1
	}, kind)
}
