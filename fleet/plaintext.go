package fleet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What texts of others are cut to, in runes: a fault that a proxy tells as a page of HTML
// is not kept permanently.
const (
	maxLine  = 1000
	maxLines = 4000
)

// PlainText returns text as it may be shown: on one line, without characters that steer
// a terminal or turn what is read, and cut to 1000 runes. It and PlainLines are for texts
// of providers, API servers, machines and repositories, wherever they leave the process:
// reports, metrics, pages and terminals. What they return is unchanged if it is passed again.
func PlainText(text string) string { return plain(text, maxLine, "") }

// PlainLines is PlainText for a text of several lines, which is cut to 4000 runes.
func PlainLines(text string) string { return plain(text, maxLines, "\n\t") }

// OneLine returns what err says on one line, cut to 500 runes: fit for a message in Git.
func OneLine(err error) string {
	const most = 500
	s := strings.Join(strings.Fields(err.Error()), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// plain returns text without control characters but those in keep, cut to limit runes.
func plain(text string, limit int, keep string) string {
	if len(text) <= limit && isPrintableASCII(text) {
		return text
	}
	n := utf8.RuneCountInString(text)
	cut := n > limit && (n > limit+1 || !strings.HasSuffix(text, "…")) // or it was cut before
	odd := func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(keep, r) }
	if !cut && utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	n = 0
	for _, r := range text {
		if cut && n == limit {
			return b.String() + "…"
		}
		switch {
		case !odd(r):
		case unicode.IsSpace(r):
			r = ' '
		default:
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// isPrintableASCII is for most texts, which are checked many times.
func isPrintableASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
