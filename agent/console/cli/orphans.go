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

	"fairlead.dev/agent/console/orphans"
	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

func newOrphans(built wiring.Built) *cobra.Command {
	var remove, yes bool
	cmd := &cobra.Command{
		Use:     "orphans [PATH|URL]",
		GroupID: groupLook,
		Short:   "List and delete orphaned resources",
		Long: `List orphaned resources: resources with the tags of the fleet, or created by one of its
clusters, that belong to no cluster in Git.

The command searches where the credentials of clusters lead, and where clusters lived
according to the status branch. The fleet must be readable and without problems.
Resources of clusters in creation or change, and very new ones, are skipped. A cluster
that was removed from Git is listed and never deleted: restore it with the annotation
fairlead.dev/delete: "true", or enable prune in fleet.yaml.

--delete deletes the rest after confirmation and a second check. The exit code is 0 if
there are none, 2 if there are some, and 1 after an error.`,
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
	cmd.Flags().BoolVar(&remove, "delete", false, "delete the orphans")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --delete: skip the confirmation")
	confirms(cmd, "delete", "yes")
	needs(cmd, "delete", "yes")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := f.located(cmd, argv)
		if err != nil {
			return err
		}
		if p.scope != scope.All {
			return &usageError{fmt.Errorf("orphans needs the whole fleet: use its root, %s", redacted(p.settings.Source))}
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
		if !s.Recorded() && left == 0 {
			return errors.Join(unseen, fmt.Errorf("no status of %s found, so only the locations of clusters in Git were searched. Set --source to the repository that the agent follows, or --status-repository", redacted(p.settings.Source)))
		}
		if !s.Recorded() && !remove {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: no status branch found, so clusters removed from Git cannot be distinguished from orphans. Set --status-repository")
		}
		if remove && len(s.Removable()) > 0 {
			if !s.Recorded() {
				return errors.Join(unseen, errors.New("no status branch found, so nothing is deleted: clusters removed from Git cannot be distinguished from orphans. Set --status-repository"))
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
		return false, fmt.Errorf("no confirmation: %w", context.Cause(ctx))
	}
}
