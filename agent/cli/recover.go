package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/assembly"
	"fairlead.dev/agent/pivot"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
)

// A recovery is what bootstrap does first where the home of a fleet is gone: it
// brings the secrets back, and shows that no other cluster is changed.
type recovery struct {
	place        fleet.Escrow
	identity     string
	allowChanges bool
}

func (r *recovery) add(cmd *cobra.Command) {
	addEscrowPlace(cmd, &r.place)
	fs := cmd.Flags()
	fs.StringVar(&r.identity, "identity-file", "", "the home is gone: file with an age identity that the escrow is encrypted for. The secrets are restored first")
	fs.BoolVar(&r.allowChanges, "allow-changes", false, "with --identity-file, go on where the plan is not empty but for the home")
	confirms(cmd, "identity-file", "allow-changes")
}

// check refuses flags that do nothing.
func (r *recovery) check() error {
	if r.identity == "" && (r.place.Folder != "" || r.place.Branch != "" || r.allowChanges) {
		return &usageError{errors.New("an escrow is opened with an identity: name its file with --identity-file")}
	}
	return onePlace(r.place)
}

// recover restores the secrets of the fleet and shows the plan, before anything
// is changed that others see. The error says why the fleet is not taken over. It
// may be repeated; once the fleet lives in its new home it does nothing.
func (m *mover) recover(cmd *cobra.Command, s assembly.Settings, p *pivot.Parts, w pivot.Want) error {
	r, ctx, out := m.recovery, cmd.Context(), cmd.OutOrStdout()
	if r.identity == "" || m.undo {
		return nil
	}
	owner, err := p.Arbiter.Owner(ctx)
	if err != nil {
		return err
	}
	if w.TakeOver.Agent != "" && w.Arrived(owner) {
		return nil
	}
	e, _, err := openEscrow(cmd, s, r.place, r.identity)
	if err != nil {
		return err
	}
	if err := m.ours(ctx, s, e); err != nil {
		return err
	}
	for _, problem := range e.Problems() {
		fmt.Fprintln(out, "! in escrow, and cannot be restored: "+problem)
	}
	if err := m.restore(ctx, out, e, p.From); err != nil {
		return err
	}
	planned, err := makePlan(ctx, part{settings: s, path: "."}, m.f.recreating(w.Home, m.gone()), &valueFlags{warn: func(string) {}})
	if err != nil {
		return err
	}
	if err := planned.show(out, formatTable); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if why := planned.besides(w.Home); why != "" && !r.allowChanges && !m.dryRun {
		return fmt.Errorf("the plan is not empty but for the home, so nothing was taken over: %s; where that is meant, say --allow-changes", why)
	}
	if owner.Agent == "" || owner.Agent == m.name || owner.Agent == w.TakeOver.Agent && owner.Epoch == w.TakeOver.Epoch {
		return nil
	}
	return fmt.Errorf("the fleet is owned by agent %q (epoch %d): be sure that it is gone, and give the same command --take-over %s@%d",
		owner.Agent, owner.Epoch, owner.Agent, owner.Epoch)
}

// ours says why e is not the escrow of the fleet in the source.
func (m *mover) ours(ctx context.Context, s assembly.Settings, e *escrow.Escrow) error {
	loaded, err := part{settings: s, path: "."}.load(ctx, (&valueFlags{warn: func(string) {}}).options())
	if err != nil {
		return err
	}
	if loaded.ID != e.Fleet {
		return fmt.Errorf("the escrow is that of fleet %q, and the source has fleet %q: name another with --escrow-folder or --escrow-branch, or the fleet with --fleet-id", e.Fleet, loaded.ID)
	}
	return nil
}

// restore brings what is in escrow into the store, and says what it did.
func (m *mover) restore(ctx context.Context, out io.Writer, e *escrow.Escrow, to pivot.Store) error {
	if m.dryRun {
		fmt.Fprintf(out, "→ restore the secrets: %s in escrow\n", entries(len(e.Entries)))
		return nil
	}
	done, err := e.Restore(ctx, to)
	restored := 0
	for _, d := range done {
		if d.Result == escrow.ResultRestored {
			restored++
		}
	}
	if err != nil {
		return fmt.Errorf("cannot restore all secrets (%d are here): %w", len(done), err)
	}
	fmt.Fprintf(out, "✓ restore the secrets: %d restored, %d there already, of %s in escrow\n", restored, len(done)-restored, entries(len(e.Entries)))
	return nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// besides says what the plan holds, or could not tell, of clusters other than
// home; nothing where it is empty but for it.
func (out *planned) besides(home fleet.Key) string {
	var why []string
	add := func(text string) {
		if !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	for _, c := range out.Changes {
		if c.Cluster != home.String() {
			add(c.Cluster + " would be changed")
		}
	}
	for _, k := range out.lacking {
		add("the secrets of " + k.String() + " are not in escrow")
	}
	for _, e := range out.Errors {
		add(strings.ReplaceAll(e, "\n", "; "))
	}
	return strings.Join(why, ", ")
}
