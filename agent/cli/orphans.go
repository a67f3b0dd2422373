package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/orphans"
	"fairlead.dev/agent/output"
	"fairlead.dev/agent/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

func newOrphans(built wiring.Built) *cobra.Command {
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
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.addSecrets(cmd)
	f.addProviders(cmd)
	cmd.Flags().BoolVar(&remove, "delete", false, "remove what is found")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --delete: do not ask")
	confirms(cmd, "delete", "yes")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		if err := f.checkHere(argv); err != nil {
			return err
		}
		p, err := locate(cmd.Context(), f.from(argv, quiet(cmd.ErrOrStderr())))
		if err != nil {
			return err
		}
		if p.scope != scope.All {
			return &usageError{fmt.Errorf("orphans are looked for in a whole fleet: name its root, %s", redacted(p.settings.Source))}
		}
		w, err := wiring.OpenRuntime(cmd.Context(), p.settings, modeOf(remove), nil)
		if err != nil {
			return err
		}
		defer w.Close()
		s, note, err := newScan(cmd.Context(), p, f, w.Infrastructure)
		if err != nil {
			return err
		}
		if note != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note)
		}
		unseen := s.Look(cmd.Context(), time.Now())
		if err := s.Write(cmd.OutOrStdout(), output.Format(*form)); err != nil {
			return err
		}
		left := len(s.Removable()) + len(s.Vanished())
		if remove && len(s.Removable()) > 0 {
			if !s.Recorded() {
				return errors.Join(unseen, errors.New("no status of this fleet is known here, so nothing is removed: clusters that vanished from Git cannot be told from leftovers; name the repository of the status branch with --status-repository"))
			}
			if !yes {
				ok, err := askYesNo(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), fmt.Sprintf("Remove %s?", output.Count(len(s.Removable()), "thing")))
				if err != nil {
					return err
				}
				if !ok {
					return &exitError{exitChanges}
				}
			}
			errs := s.Remove(cmd.Context(), func(o fleet.Orphan) {
				fmt.Fprintf(cmd.ErrOrStderr(), "removed %s %s\n", o.Kind, cmp.Or(o.Name, o.ID))
			})
			unseen = errors.Join(append(errs, unseen)...)
			left = len(s.Vanished())
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

// newScan reads the fleet and its status branch. It fails where one of them cannot be read
// in full; note says that the status of a clone's origin cannot be read.
func newScan(ctx context.Context, p selection, f *sourceFlags, open func(string) (providers.Infrastructure, error)) (_ *orphans.Scan, note string, _ error) {
	loaded, err := p.load(ctx, wiring.RenderOptions{})
	if err != nil {
		return nil, "", err
	}
	_, recorded, note, err := p.statusOf(ctx, cmp.Or(f.branch, loaded.Config.StatusBranch))
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the status branch: %w", err)
	}
	s, err := orphans.New(orphans.Options{Fleet: loaded, Status: recorded, Open: open})
	if err == nil && len(loaded.Clusters) == 0 {
		return nil, "", p.empty()
	}
	return s, note, err
}

// askYesNo asks a question, and reports whether the answer is yes. The end of the input is
// no. Where ctx ends first, the error says so.
func askYesNo(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprint(out, question+" [y/N] ")
	answers := make(chan string, 1)
	go func() { // reading from a terminal cannot be interrupted
		answer, _ := bufio.NewReader(in).ReadString('\n') // the end of the input counts as no
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
