package page

import (
	"html"
	"regexp"
	"strings"
)

// A passage is a part of a plan that was written for people, as Markdown: its begin, what
// changes in one cluster, or what comes after.
type passage struct {
	Title   string
	Folded  bool // of a cluster
	Items   []text
	Remarks []text
}

// A text is a line of it.
type text []span

// A span is a piece of a line.
type span struct {
	Text         string
	Code, Strong bool
}

// passages parses the Markdown of a plan: headings, lists, folded parts, code and bold text.
// Everything else is text, and so is all HTML except the folds.
func passages(markdown string) []passage {
	var out []passage
	open := passage{}
	next := func(p passage) {
		if open.Title != "" || len(open.Items)+len(open.Remarks) > 0 {
			out = append(out, open)
		}
		open = p
	}
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if m := summary.FindStringSubmatch(line); m != nil {
			next(passage{Title: html.UnescapeString(m[1] + m[2]), Folded: true})
			continue
		}
		heading, isHeading := strings.CutPrefix(line, "### ")
		item, isItem := strings.CutPrefix(line, "- ")
		switch {
		case line == "" || strings.HasPrefix(line, "<!--"):
		case line == "</details>":
			next(passage{})
		case isHeading:
			next(passage{Title: strings.ReplaceAll(heading, "`", "")})
		case isItem:
			open.Items = append(open.Items, spans(item))
		default:
			open.Remarks = append(open.Remarks, spans(line))
		}
	}
	next(passage{})
	return out
}

// summary matches what is seen of a folded part.
var summary = regexp.MustCompile(`^<details><summary><code>(.*?)</code>(.*)</summary>$`)

// spans returns the pieces of a line. A mark that is not closed is text.
func spans(line string) text {
	var out text
	add := func(s span) {
		if s.Text != "" {
			out = append(out, s)
		}
	}
	for line != "" {
		before, rest, code := strings.Cut(line, "`")
		if i := strings.Index(before, "**"); i >= 0 {
			if strong, after, closed := strings.Cut(line[i+2:], "**"); closed {
				add(span{Text: line[:i]})
				add(span{Text: strong, Strong: true})
				line = after
				continue
			}
		}
		inside, after, closed := strings.Cut(rest, "`")
		if !code || !closed {
			add(span{Text: line})
			break
		}
		add(span{Text: before})
		add(span{Text: inside, Code: true})
		line = after
	}
	return out
}
