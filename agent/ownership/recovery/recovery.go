package recovery

import (
	"context"
	"fmt"
	"io"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
)

// Options say what is recovered. All but Owner, TakeOver and the switches are required.
type Options struct {
	Escrow *escrow.Escrow
	Fleet  fleet.ID  // in the source
	Home   fleet.Key // cluster that is gone, and is recreated
	To     escrow.Store
	// Plan says what an agent with the restored secrets would change.
	Plan func(ctx context.Context) (*preview.Plan, error)

	Self     string      // agent that takes over
	Owner    fleet.Owner // of the fleet at the moment; zero: none
	TakeOver fleet.Owner // owner that is gone, as a person says

	DryRun       bool // restore nothing
	AllowChanges bool // go on where the plan holds other clusters
	Out          io.Writer
}

// Run restores the secrets of the fleet and shows the plan. The error says why the fleet is
// not taken over.
func Run(ctx context.Context, o Options) error {
	if o.Fleet != o.Escrow.Fleet {
		return fmt.Errorf("the escrow is that of fleet %q, and the source has fleet %q: name another with --escrow-folder or --escrow-branch, or the fleet with --fleet-id", o.Escrow.Fleet, o.Fleet)
	}
	for _, problem := range o.Escrow.Problems() {
		fmt.Fprintln(o.Out, "! in escrow, and cannot be restored: "+problem)
	}
	if err := o.restore(ctx); err != nil {
		return err
	}
	p, err := o.Plan(ctx)
	if err != nil {
		return err
	}
	if err := p.Write(o.Out, output.FormatTable); err != nil {
		return err
	}
	fmt.Fprintln(o.Out)
	if why := strings.Join(p.Besides(o.Home), ", "); why != "" && !o.AllowChanges && !o.DryRun {
		return fmt.Errorf("nothing was taken over: the plan changes more than the home: %s. If that is intended, add --allow-changes", why)
	}
	if o.Owner.Agent == "" || o.Owner.Agent == o.Self || o.Owner.Agent == o.TakeOver.Agent && o.Owner.Epoch == o.TakeOver.Epoch {
		return nil
	}
	return fmt.Errorf("the fleet is owned by agent %q (epoch %d): be sure that it is gone, and give the same command --take-over %s@%d",
		o.Owner.Agent, o.Owner.Epoch, o.Owner.Agent, o.Owner.Epoch)
}

// restore brings what is in escrow into the store, and says what it did.
func (o Options) restore(ctx context.Context) error {
	if o.DryRun {
		fmt.Fprintf(o.Out, "→ restore the secrets: %s in escrow\n", entries(len(o.Escrow.Entries)))
		return nil
	}
	done, err := o.Escrow.Restore(ctx, o.To)
	restored := 0
	for _, d := range done {
		if d.Result == escrow.ResultRestored {
			restored++
		}
	}
	if err != nil {
		return fmt.Errorf("cannot restore all secrets (%d are here): %w", len(done), err)
	}
	fmt.Fprintf(o.Out, "✓ restore the secrets: %d restored, %d there already, of %s in escrow\n", restored, len(done)-restored, entries(len(o.Escrow.Entries)))
	return nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
