package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// watchTick is the time between two looks at a status branch that is watched.
const watchTick = 2 * time.Second

// addWatch adds the flag that has a command show the status whenever it changes.
func addWatch(cmd *cobra.Command) *bool {
	watch := cmd.Flags().BoolP("watch", "w", false, "show changes until interrupted; without a terminal, print new lines")
	settings(cmd, "watch")
	return watch
}

// canWatch returns an error where what is shown in a format cannot be watched.
func canWatch(form output.Format) error {
	if form == output.FormatTable || form == output.FormatWide || form == output.FormatName {
		return nil
	}
	return &usageError{fmt.Errorf("--watch cannot be used with -o %s", form)}
}

// find returns what a command is about, as here does, and the name of its status branch.
func (f *sourceFlags) find(cmd *cobra.Command, source []string) (selection, string, error) {
	p, err := f.here(cmd.Context(), source)
	if err != nil {
		return p, "", err
	}
	branch, err := p.branch(cmd.Context(), f.branch)
	return p, branch, err
}

// show calls show with what the status branch says, once, or with watch whenever it changes.
func (p selection) show(cmd *cobra.Command, branch string, form output.Format, watch bool, show func(io.Writer, status.Status) error) error {
	if watch {
		return p.keepShowing(cmd, branch, form, show)
	}
	s, _, err := p.await(cmd.Context(), branch, 0)
	if err != nil {
		return err
	}
	if s.Owner.Agent == "" {
		if err := p.checkFollowed(cmd.Context(), branch); err != nil {
			return fmt.Errorf("no status found: %w", err)
		}
	}
	return show(cmd.OutOrStdout(), s)
}

// keepShowing calls show with what the status branch says whenever it changes.
func (p selection) keepShowing(cmd *cobra.Command, branch string, form output.Format, show func(io.Writer, status.Status) error) error {
	if err := canWatch(form); err != nil {
		return err
	}
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return err
	}
	return p.watch(cmd.Context(), b, cmd.OutOrStdout(), show)
}

// watch calls show with the status on b whenever that changed, and writes to w what is
// different, until ctx ends. An error of a read is said, and the next read may succeed.
func (p selection) watch(ctx context.Context, b sources.Branch, w io.Writer, show func(io.Writer, status.Status) error) error {
	verify, err := p.settings.Verifier()
	if err != nil {
		return err
	}
	reading := status.Reading{Verify: verify, Of: p.clusters}
	frame := output.NewFrame(w)
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	for {
		_, tree, err := b.Read(ctx)
		var s status.Status
		if err == nil {
			s, err = reading.Read(tree)
		}
		text := &bytes.Buffer{}
		if err == nil {
			err = show(output.Like(text, w), p.of(s))
		}
		if ctx.Err() != nil {
			return nil // an interrupt is the usual end
		}
		if err != nil {
			if text.Len() == 0 && frame.Empty() {
				return err
			}
			fmt.Fprintln(text, "cannot read the status branch: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if err := frame.Show(text.String()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
