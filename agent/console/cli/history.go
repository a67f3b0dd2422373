package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// mostSearched is how many commits of a status branch are searched for those of a cluster.
const mostSearched = 1000

// An event is one line of a commit of the status branch, about a cluster.
type event struct {
	At     time.Time `json:"at"`
	Commit string    `json:"commit"`
	By     string    `json:"by"`
	What   string    `json:"what"`
}

func newHistory(built wiring.Built) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "history NAMESPACE/NAME", GroupID: groupLook, Short: "Show what changed in a cluster, by commit",
		Long: `Show what changed in a cluster, newest first, from the commits of the status branch:
actions with their reasons, failures, and requests. spec.status.history in fleet.yaml
limits how much the branch keeps. Equal actions of a commit are one row; -o json has
each of them.`,
		Example: `  fairlead history prod/eu-1
  fairlead history prod/eu-1 --limit 100 -o json`,
		Args: args(cobra.ExactArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatJSONPath)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.complete(oneCluster(0))
	cmd.Flags().IntVar(&limit, "limit", 30, "maximum number of lines")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, branch, err := f.find(cmd, nil)
		if err != nil {
			return err
		}
		s, err := p.settings.ReadStatus(cmd.Context(), branch)
		if err != nil {
			return err
		}
		k, err := find(s, argv[0])
		if fleet.KindOf(err) == fleet.NotFound { // it may be forgotten, and in the history
			k, err = fleet.ParseKey(argv[0])
		}
		if err != nil {
			return err
		}
		b, err := p.settings.OpenBranch(branch)
		if err != nil {
			return err
		}
		events, err := historyOf(cmd.Context(), b, k, limit)
		if err != nil {
			return err
		}
		return showHistory(cmd.OutOrStdout(), output.Format(*form), k, events)
	}
	return cmd
}

// historyOf returns what the commits of b tell of k, the newest first, at most limit.
func historyOf(ctx context.Context, b sources.Branch, k fleet.Key, limit int) ([]event, error) {
	logged, ok := b.(sources.Logged)
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, "read the history of "+k.String(), "the status of a folder has no history: use a repository")
	}
	head, _, err := b.Read(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := logged.Log(ctx, head, mostSearched)
	if err != nil {
		return nil, err
	}
	events := []event{}
	for _, e := range entries {
		for _, what := range about(e.Message, k) {
			if len(events) == limit {
				return events, nil
			}
			events = append(events, event{At: e.At, Commit: e.Commit, By: e.By, What: what})
		}
	}
	return events, nil
}

// about returns the lines of a commit's message that are about k. Where the body says what
// was done, the subject adds nothing.
func about(message string, k fleet.Key) []string {
	subject, body, _ := strings.Cut(message, "\n")
	var lines []string
	for line := range strings.Lines(body) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), k.String()+": "); ok {
			lines = append(lines, what)
		}
	}
	what, own := strings.CutPrefix(subject, k.String()+": ")
	switch {
	case own && (len(lines) == 0 || lines[0] != what):
		return append([]string{what}, lines...)
	case len(lines) == 0 && mentions(subject, k):
		return []string{subject}
	}
	return lines
}

// mentions reports whether text names k, or something below it.
func mentions(text string, k fleet.Key) bool {
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimRight(word, ":,;.")
		if word == k.String() || strings.HasPrefix(word, k.String()+"-") {
			return true
		}
	}
	return false
}

func showHistory(w io.Writer, form output.Format, k fleet.Key, events []event) error {
	t := output.Table{Header: []string{"AT", "COMMIT", "BY", "WHAT"}, Fit: true}
	for i, e := range events {
		if same := alike(events[i:]); i > 0 && len(alike(events[i-1:])) > 1 {
			continue // it is a part of the row above
		} else if len(same) > 1 {
			e.What = folded(same)
		}
		if i > 0 && events[i-1].Commit == e.Commit {
			t.Add("", "", "", e.What)
			continue
		}
		name, _, _ := strings.Cut(e.By, " <")
		t.Add(e.At.Format(time.RFC3339), e.Commit[:min(12, len(e.Commit))], name, e.What)
	}
	if t.Empty() && form == output.FormatTable {
		_, err := fmt.Fprintf(w, "no changes of %[2]s found in the newest %[1]d commits of the status branch\n", mostSearched, k)
		return err
	}
	return t.Write(w, form, events)
}

// alike returns the events at the beginning of events that one row shows: the same action for
// the same reason in one commit, on other objects.
func alike(events []event) []event {
	action, _, reason := parts(events[0].What)
	n := 1
	for n < len(events) && reason != "" && events[n].Commit == events[0].Commit {
		if a, _, r := parts(events[n].What); a != action || r != reason {
			break
		}
		n++
	}
	return events[:n]
}

// folded returns what one row says of events that are alike.
func folded(events []event) string {
	action, first, reason := parts(events[0].What)
	return fmt.Sprintf("%s %s and %d more: %s", action, first, len(events)-1, reason)
}

// parts returns the parts of "ACTION SUBJECT: REASON". reason is empty if what has another
// form.
func parts(what string) (action, subject, reason string) {
	head, reason, _ := strings.Cut(what, ": ")
	action, subject, ok := strings.Cut(head, " ")
	if !ok || strings.Contains(subject, " ") {
		return what, "", ""
	}
	return action, subject, reason
}
