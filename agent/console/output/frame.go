package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// A canvas is a text in memory that is made for where it will be shown.
type canvas struct {
	plain
	text *bytes.Buffer
	as   io.Writer
}

// Like returns what writes to text, as it would be written to w: tables have the width and
// the colours of w.
func Like(text *bytes.Buffer, w io.Writer) io.Writer { return &canvas{plain{text}, text, w} }

// A Frame shows a text that changes: on a terminal in place, elsewhere the lines that are
// new.
type Frame struct {
	w     io.Writer
	fancy bool
	last  string
	shown map[string]bool // lines of last, without the space that aligns them
}

// NewFrame returns an empty frame on w.
func NewFrame(w io.Writer) *Frame { return &Frame{w: w, fancy: isTerminal(w)} }

// Empty reports whether nothing was shown yet.
func (f *Frame) Empty() bool { return f.shown == nil }

// clear moves to the top of a terminal, and empties it.
const clearScreen = "\x1b[H\x1b[2J"

// Show shows text, which was written through Like, in place of what was shown before.
func (f *Frame) Show(text string) error {
	if text == f.last && f.shown != nil {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	before := f.shown
	f.last, f.shown = text, make(map[string]bool, len(lines))
	if f.fancy {
		return f.draw(lines)
	}
	for _, l := range lines {
		squeezed := strings.Join(strings.Fields(l), " ")
		f.shown[squeezed] = true
		if before[squeezed] || squeezed == "" && before != nil {
			continue
		}
		if _, err := fmt.Fprintln(f.w, l); err != nil {
			return err
		}
	}
	return nil
}

// draw fills the terminal with as many lines as it has room for.
func (f *Frame) draw(lines []string) error {
	terminal := Terminal(f.w)
	if _, height, err := term.GetSize(int(terminal.Fd())); err == nil && height > 2 && len(lines) >= height {
		more := len(lines) - (height - 2)
		lines = append(lines[:height-2:height-2], fmt.Sprintf("… %d more lines", more))
	}
	_, err := io.WriteString(terminal, clearScreen+strings.Join(lines, "\n")+"\n")
	return err
}
