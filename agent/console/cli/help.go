package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The size of a terminal that --help of a command fits on, in lines and characters.
const (
	screenLines = 24
	helpWidth   = 80
)

// enoughFlags is how many flags --help describes, if it can, rather than have more text or examples.
const enoughFlags = 5

// writeHelp writes all that there is to say of cmd.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(w, strings.Join(reflow(cmp.Or(cmd.Long, cmd.Short)), "\n\n"))
	if cmd.Runnable() || cmd.HasSubCommands() {
		fmt.Fprintln(w)
		writeUsage(w, cmd)
	}
}

// screen returns the help of cmd, or as much of it as a screen shows. The rest is in
// `fairlead help`.
func screen(cmd *cobra.Command) string {
	var all strings.Builder
	writeHelp(&all, cmd)
	if cmd.HasAvailableSubCommands() || fits(all.String()) {
		return all.String()
	}
	flags, _ := ownFlags(cmd)
	first := func(f *pflag.Flag) int { // flags that several commands have come last
		if groupOf(f.Name) == other || slices.Contains(mainFlags(), f.Name) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(flags, func(a, b *pflag.Flag) int { return cmp.Compare(first(a), first(b)) })
	most := len(flags)
	if _, many := cmd.Annotations[grouped]; many {
		most = len(slices.DeleteFunc(slices.Clone(flags), func(f *pflag.Flag) bool { return first(f) > 0 }))
	}
	best, described := "", -1
	for _, size := range []struct{ lines, examples int }{{7, 2}, {7, 1}, {1, 1}} {
		for n := most; n > described; n-- {
			var b strings.Builder
			writeScreen(&b, cmd, size.lines, size.examples, flags[:n], flags[n:])
			if fits(b.String()) {
				best, described = b.String(), n
			}
		}
		if described >= min(most, enoughFlags) {
			break
		}
	}
	return cmp.Or(best, all.String())
}

func fits(text string) bool {
	return strings.Count(text, "\n") <= screenLines &&
		!slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return len([]rune(line)) > helpWidth })
}

// writeScreen writes a short help of cmd: the first paragraphs with up to so many lines in all, the
// first examples, the described flags, and the names of others.
func writeScreen(w io.Writer, cmd *cobra.Command, lines, examples int, described, named []*pflag.Flag) {
	text := ""
	for _, p := range reflow(cmp.Or(cmd.Long, cmd.Short)) {
		if text != "" && strings.Count(text+p, "\n")+3 > lines {
			break
		}
		text = strings.TrimPrefix(text+"\n\n"+p, "\n\n")
	}
	if at := strings.LastIndex(text, "\n\n"); at > 0 && strings.HasSuffix(text, ":") {
		text = text[:at] // what it introduces is left out
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", text, cmd.UseLine())
	if e := shortExamples(cmd.Example, examples); len(e) > 0 {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.Join(e, "\n"))
	}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	for _, f := range described {
		set.AddFlag(f)
	}
	fmt.Fprintln(w, "\nFlags:")
	for line := range strings.Lines(set.FlagUsages()) {
		fmt.Fprintln(w, cut(strings.TrimSuffix(line, "\n"), helpWidth))
	}
	if len(named) > 0 {
		fmt.Fprintln(w, namesOf(named))
	}
	more := "'fairlead options' for global flags"
	if _, many := cmd.Annotations[grouped]; many {
		more = "'fairlead options " + cmd.Name() + "' for all flags"
	}
	more = fmt.Sprintf("Use 'fairlead help%s' for details, %s.", strings.TrimPrefix(cmd.CommandPath(), "fairlead"), more)
	fmt.Fprintf(w, "\n%s\n", fillLines(more, helpWidth))
}

// namesOf returns the names of flags, or, if they would take more than three lines, the names of
// flags of no group and the titles of groups.
func namesOf(flags []*pflag.Flag) string {
	all, single, titles := "  Also:", "", []string(nil)
	for _, f := range flags {
		all += " --" + f.Name
		if groupOf(f.Name) == other {
			single += " --" + f.Name
		} else {
			titles = append(titles, groupOf(f.Name))
		}
	}
	if len(all) > 3*helpWidth {
		var groups []string
		for _, g := range flagGroups() {
			if slices.Contains(titles, g.title) {
				groups = append(groups, g.title)
			}
		}
		if single != "" {
			single += " and"
		}
		all = "  Also" + single + " flags of: " + strings.Join(groups, ", ")
	}
	return strings.ReplaceAll(fillLines(all, helpWidth-2), "\n", "\n  ")
}

// shortExamples returns the first most examples. An example that is too long for the screen goes on
// after a backslash.
func shortExamples(text string, most int) []string {
	var out []string
	for i, e := range strings.Split(strings.ReplaceAll(text, "\\\n", "\\\x00"), "\n") {
		if e == "" || i >= most {
			continue
		}
		for line := range strings.SplitSeq(e, "\x00") {
			if at := strings.LastIndex(line[:min(len(line), helpWidth-1)], " --"); len(line) > helpWidth && at > 0 {
				line = line[:at] + " \\\n    " + line[at+1:]
			}
			out = append(out, line)
		}
	}
	return out
}

// cut shortens a line to width characters, and marks that with an ellipsis. It leaves out a
// parenthesis that does not fit.
func cut(line string, width int) string {
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	text := string(r[:width-1])
	text = text[:strings.LastIndex(text, " ")]
	if open := strings.LastIndex(text, " ("); open > strings.LastIndex(text, ")") {
		text = text[:open]
	}
	return strings.TrimRight(text, " ,;:") + " …"
}

// reflow returns the paragraphs of a text with lines of up to helpWidth characters. It leaves
// indented lines.
func reflow(text string) []string {
	var out []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if !strings.Contains("\n"+p, "\n ") {
			p = fillLines(p, helpWidth)
		}
		out = append(out, p)
	}
	return out
}

// fillLines breaks the words of text into lines of up to width characters.
func fillLines(text string, width int) string {
	var b strings.Builder
	b.WriteString(text[:len(text)-len(strings.TrimLeft(text, " "))])
	at := b.Len()
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len([]rune(word)) > width:
			b.WriteString("\n")
			at = 0
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += len([]rune(word))
	}
	return b.String()
}
