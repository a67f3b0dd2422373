package pullrequests

import (
	"cmp"
	"fmt"
	"html"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/sources/status"
)

const (
	// maxComment is how many bytes of a comment all forges take.
	maxComment = 32 << 10
	// maxPart bounds one piece of text of others, in characters.
	maxPart = 300
	// maxRemarks bounds lists of remarks.
	maxRemarks = 50
)

// span returns text of others as a code span, in which nothing is a link, a name or a tag.
func span(text string) string {
	text = strings.ReplaceAll(fleet.PlainText(strings.Join(strings.Fields(text), " ")), "`", "'")
	if text = short(text, maxPart); text == "" {
		return "`-`"
	}
	return "`" + text + "`"
}

// short returns text of at most n characters.
func short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// write returns the answer, with the changes of each cluster, or with how many there are.
func write(p status.Plan, d document, details bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", title("Fairlead plan", d.fleet), span(d.headline(p)))
	for _, f := range d.failures {
		fmt.Fprintf(&b, "- %s %s\n", map[bool]string{true: "accepted:", false: "**fails**:"}[d.accepted != ""], span(f))
	}
	if d.accepted != "" {
		fmt.Fprintf(&b, "- %s\n", span(d.accepted))
	} else if len(d.failures) > 0 && p.Tree != "" && p.Number > 0 {
		fmt.Fprintf(&b, "- to accept the changes anyway: `fairlead approve %d --changes --head %s --reason …`\n", p.Number, p.Head)
	}
	list(&b, "error: ", d.errors)
	list(&b, "problem: ", d.problems)
	if len(d.failures)+len(d.errors)+len(d.problems) > 0 {
		b.WriteString("\n")
	}
	for _, c := range clustersOf(d.changes) {
		writeCluster(&b, c, details)
	}
	list(&b, "", d.remarks)
	besides(&b, "withdrawn by this pull request", d.withdrawn)
	besides(&b, "pending without this pull request, too", d.pending)
	b.WriteString(foot(p))
	return b.String()
}

// foot says what was planned.
func foot(p status.Plan) string {
	text := fmt.Sprintf("\nHead `%s` merged onto %s", p.Head, span(p.Base))
	if p.Tree != "" {
		text += fmt.Sprintf(", as tree `%s`", strings.TrimPrefix(p.Tree, "sha1:"))
	}
	if p.Look != "" {
		text += fmt.Sprintf(", by look `%s`", p.Look)
	}
	return text + ". It is planned again when one of them changes.\n"
}

func (d document) headline(p status.Plan) string {
	if d.stands != "" {
		return d.stands + "; by the plan: " + d.summary()
	}
	if p.Tree == "" {
		return p.Summary
	}
	return d.summary()
}

// besides writes changes that the plan does not add, a line for each cluster.
func besides(b *strings.Builder, what string, changes []status.PlannedChange) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintf(b, "- %s: %s\n", what, output.Count(len(changes), "change"))
	for i, c := range clustersOf(changes) {
		if i == maxRemarks {
			fmt.Fprint(b, "  - and more clusters\n")
			return
		}
		fmt.Fprintf(b, "  - %s: %s\n", span(c.shown()), span(document{changes: c.changes}.summary()))
	}
}

func list(b *strings.Builder, what string, lines []string) {
	for i, l := range lines {
		if i == maxRemarks {
			fmt.Fprintf(b, "- and %d more\n", len(lines)-i)
			return
		}
		fmt.Fprintf(b, "- %s%s\n", what, span(l))
	}
}

// A clusterChanges is what changes in one cluster.
type clusterChanges struct {
	name    string
	changes []status.PlannedChange
}

// shown returns what people call it.
func (c clusterChanges) shown() string { return cmp.Or(c.name, preview.ConfigFile) }

// clustersOf groups changes by cluster, in their order.
func clustersOf(changes []status.PlannedChange) []clusterChanges {
	var out []clusterChanges
	at := make(map[string]int)
	for _, c := range changes {
		i, ok := at[c.Cluster]
		if !ok {
			i = len(out)
			at[c.Cluster] = i
			out = append(out, clusterChanges{name: c.Cluster})
		}
		out[i].changes = append(out[i].changes, c)
	}
	return out
}

// writeCluster writes one cluster. The summary is HTML, which Markdown is not read in.
func writeCluster(b *strings.Builder, c clusterChanges, details bool) {
	what := document{changes: c.changes}.summary()
	if !details {
		fmt.Fprintf(b, "- %s: %s\n", span(c.shown()), span(what))
		return
	}
	fmt.Fprintf(b, "<details><summary><code>%s</code>: %s</summary>\n\n", html.EscapeString(strings.Trim(span(c.shown()), "`")), html.EscapeString(what))
	for _, one := range c.changes {
		thing := strings.TrimSpace(one.Pool + " " + one.Machine)
		if one.By != "" {
			thing += " → " + one.By
		}
		thing = cmp.Or(one.Addon, one.Host, thing)
		if thing != "" {
			thing = " " + span(thing)
		}
		fmt.Fprintf(b, "- **%s**%s: %s%s\n", forecastWord(one.Change), thing, span(one.Reason), interrupts(one))
	}
	b.WriteString("\n</details>\n\n")
}

// forecastWord returns the kind of a change, one that is known.
func forecastWord(kind string) string { return strings.Map(letters, kind) }

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r == ' ' {
		return r
	}
	return -1
}

// interrupts says whom a change interrupts.
func interrupts(c status.PlannedChange) string {
	switch forecast.ChangeKind(c.Change) {
	case forecast.DeleteCluster:
		return "; **everything on it ends**"
	case forecast.ReplaceMachine, forecast.DeleteMachine, forecast.DeletePool:
		return "; what runs on it moves"
	default:
		if preview.EndsPromise(c.Change) {
			return "; **this ends a promise**"
		}
		return ""
	}
}

// comment returns the comment for what is written on the status branch: the same where it
// is short enough, or else how much of what changes in which cluster.
func comment(id fleet.ID, branch string, p status.Plan) string {
	whole := p.Text
	text := mark(id) + whole
	if len(text) <= maxComment {
		return text
	}
	more := fmt.Sprintf("All of it is in `%s` on the branch %s, and `fairlead plan --pull-request %d` shows it.\n", p.Path(), span(branch), p.Number)
	headline, _, _ := strings.Cut(whole, "\n")
	var b strings.Builder
	b.WriteString(mark(id) + headline + "\n\n" + more + "\n")
	groups := clustersOf(p.Changes)
	for i, c := range groups {
		if b.Len() > maxComment-2000 {
			fmt.Fprintf(&b, "- and %d more clusters\n", len(groups)-i)
			break
		}
		writeCluster(&b, c, false)
	}
	b.WriteString(foot(p))
	return b.String()
}
