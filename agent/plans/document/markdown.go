package document

import (
	"fmt"
	"html"
	"strings"

	"fairlead.dev/sources/status"
)

// Markdown returns p as Markdown, with all its changes.
func Markdown(p status.Plan) string { return markdown(Sections(p, true)) }

// Brief returns p as Markdown of at most about so many bytes: why it fails, and how much changes in which
// clusters. It says that the rest is on the status branch called branch.
func Brief(p status.Plan, most int, branch string) string {
	first := Sections(p, false)[0]
	first.Items = first.Items[:min(len(first.Items), mostFailures)]
	first.Remarks = []Line{{
		plain("All of it is in "), code(p.Path()), plain(" on the branch "), code(branch), plain(", and "), code(fmt.Sprintf("fairlead plan --pull-request %d", p.Number)), plain(" shows it."),
	}}
	groups := groupsOf(p.Changes)
	for n := len(groups); ; n /= 2 {
		text := markdown([]Section{first, {Items: shortOf(groups, n), Remarks: []Line{footOf(p)}}})
		if len(text) <= most || n == 0 {
			return text
		}
	}
}

// mostFailures is how many failures and problems a brief text has.
const mostFailures = 20

// markdown writes sections. The summary of a folded one is HTML, in which no Markdown is read.
func markdown(sections []Section) string {
	var b strings.Builder
	for _, s := range sections {
		switch {
		case s.Folded:
			fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n", inHTML(s.Title))
		case len(s.Title) > 0:
			fmt.Fprintf(&b, "### %s\n\n", inline(s.Title))
		}
		for _, item := range s.Items {
			fmt.Fprintf(&b, "- %s\n", inline(item.Line))
			for _, below := range item.Below {
				fmt.Fprintf(&b, "  - %s\n", inline(below))
			}
		}
		if len(s.Items) > 0 {
			b.WriteString("\n")
		}
		for _, line := range s.Remarks {
			fmt.Fprintf(&b, "%s\n\n", inline(line))
		}
		if s.Folded {
			b.WriteString("</details>\n\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func inline(l Line) string {
	var b strings.Builder
	for _, s := range l {
		mark := ""
		switch {
		case s.Code:
			mark = "`"
		case s.Strong:
			mark = "**"
		}
		b.WriteString(mark + s.Text + mark)
	}
	return b.String()
}

func inHTML(l Line) string {
	var b strings.Builder
	for _, s := range l {
		text := html.EscapeString(s.Text)
		if s.Code {
			text = "<code>" + text + "</code>"
		}
		b.WriteString(text)
	}
	return b.String()
}
