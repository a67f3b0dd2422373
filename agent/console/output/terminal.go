package output

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// A screen is a terminal that commands write to. What is drawn on purpose is written to
// the File.
type screen struct {
	plain
	File *os.File // not embedded: its other methods would lead around plain
}

// A plain is where commands write texts to, be it a terminal, a pipe or a file: what
// steers a terminal is removed, whatever its origin, since what is in a file
// or a comment of a forge is looked at later. A text is written at once.
type plain struct{ to io.Writer }

// Write implements io.Writer.
func (p plain) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.to, unsteered(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// unsteered returns text without control characters but for ends of lines and tabs.
func unsteered(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Plain returns what writes texts to w without what steers a terminal. Tables on a
// terminal have colours.
func Plain(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &screen{plain{f}, f}
	}
	return plain{w}
}

// Exact returns a writer to w, which Plain returned, that changes no bytes, for what another
// program is to read: manifests, a kubeconfig, the value of a secret. A terminal is not
// steered by them either.
func Exact(w io.Writer) io.Writer {
	if p, ok := w.(plain); ok {
		return p.to
	}
	return w
}

// Terminal returns the terminal behind w, to draw on; nil where w is none.
func Terminal(w io.Writer) *os.File {
	switch w := w.(type) {
	case *screen:
		return w.File
	case *os.File:
		return w
	}
	return nil
}

// isTerminal reports whether w is a terminal that colours and cursor moves may
// be written to. NO_COLOR and TERM=dumb say that they may not.
func isTerminal(w io.Writer) bool {
	if c, ok := w.(*canvas); ok {
		return isTerminal(c.as)
	}
	f := Terminal(w)
	return f != nil && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width returns the width of w, where it is a terminal that may be drawn on,
// else 0.
func Width(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	if c, ok := w.(*canvas); ok {
		w = c.as
	}
	width, _, err := term.GetSize(int(Terminal(w).Fd()))
	if err != nil {
		return 0
	}
	return width
}
