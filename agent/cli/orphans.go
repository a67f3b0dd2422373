package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/assembly"
	"fairlead.dev/agent/metrics"
)

func newOrphans(version string) *cobra.Command {
	var remove, yes bool
	cmd := &cobra.Command{
		Use:     "orphans [PATH|URL]",
		GroupID: groupLook,
		Short:   "Say what a fleet left behind, and remove it",
		Long: `Say what a fleet left behind: what carries its tags, or was made by one of its
clusters for itself, and belongs to no cluster that Git has.

It looks wherever the credentials of the clusters reach, and where the status branch
says that they lived. All of the fleet must be readable and without problems: what
is not in Git counts as proof here. What is younger than the time that a provider
may take to show a change, and what belongs to a cluster that is being made or
changed, is passed over.

A cluster that vanished from Git is told of and never touched: bring it back with
the annotation fairlead.dev/delete: "true", or switch on prune in fleet.yaml.

With --delete everything else is removed, after a question, or without with --yes;
each thing is looked at again before. The exit code is 0 if nothing is left, 2 if
something is, and 1 if something went wrong: what could not be looked at is told
after what was found elsewhere.`,
		Example: `  fairlead orphans --source https://git.example.com/fleet.git
  fairlead orphans ./fleet --delete
  fairlead orphans ./fleet -o json | jq -r '.orphans[].id'`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	output := outputFlag(cmd, formatTable, formatJSON, formatYAML, formatMarkdown)
	f := addSource(cmd)
	f.addStatus(cmd)
	f.addSecrets(cmd)
	f.addProviders(cmd)
	cmd.Flags().BoolVar(&remove, "delete", false, "remove what is found")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --delete: do not ask")
	confirms(cmd, "delete", "yes")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := locate(cmd.Context(), f.from(argv, quiet(cmd.ErrOrStderr())))
		if err != nil {
			return err
		}
		if p.path != "." {
			return &usageError{fmt.Errorf("orphans are looked for in a whole fleet: name its root, %s", redacted(p.settings.Source))}
		}
		var m *metrics.Metrics // with none, the world is one to look at
		if remove {
			m = metrics.New(version)
		}
		w, err := assembly.OpenWorld(cmd.Context(), p.settings, m)
		if err != nil {
			return err
		}
		defer w.Close()
		s, err := newSweep(cmd.Context(), p, f, w.Infrastructure)
		if err != nil {
			return err
		}
		unseen := s.look(cmd.Context(), time.Now())
		if err := s.show(cmd.OutOrStdout(), format(*output)); err != nil {
			return err
		}
		left := len(s.removable()) + len(s.vanished)
		if remove && len(s.removable()) > 0 {
			if !s.recorded {
				return errors.Join(unseen, errors.New("no status of this fleet is known here, so nothing is removed: clusters that vanished from Git cannot be told from leftovers; name the repository of the status branch with --status-repository"))
			}
			if !yes {
				ok, err := agreed(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), fmt.Sprintf("Remove %s?", count(len(s.removable()), "thing")))
				if err != nil {
					return err
				}
				if !ok {
					return &exitError{exitChanges}
				}
			}
			errs := s.remove(cmd.Context(), cmd.ErrOrStderr())
			unseen = errors.Join(append(errs, unseen)...)
			left = len(s.vanished)
		}
		if unseen != nil {
			return unseen
		}
		if left > 0 {
			return &exitError{exitChanges}
		}
		return nil
	}
	return cmd
}

// agreed asks a question, and reports whether the answer is yes. No answer is no.
// Where ctx ends before, that is the error, and nobody reads the answer.
func agreed(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprint(out, question+" [y/N] ")
	answers := make(chan string, 1)
	go func() { // a read of a terminal cannot be ended; it ends with the process
		answer, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is no
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case answer := <-answers:
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false, fmt.Errorf("nobody answered: %w", context.Cause(ctx))
	}
}
