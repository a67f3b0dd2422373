package cli

import (
	"context"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/recovery"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

// recoveryFlags say what bootstrap restores where the home of a fleet is gone.
type recoveryFlags struct {
	location     fleet.Escrow
	identity     string
	allowChanges bool
}

func (r *recoveryFlags) add(cmd *cobra.Command) {
	addEscrowLocation(cmd, &r.location)
	fs := cmd.Flags()
	fs.StringVar(&r.identity, "identity-file", "", "file with an age identity that decrypts the escrow, if the home is lost. Restores the secrets first")
	fs.BoolVar(&r.allowChanges, "allow-changes", false, "with --identity-file, continue if the plan changes more than the home")
	confirms(cmd, "identity-file", "allow-changes")
	needs(cmd, "identity-file", "allow-changes", "escrow-folder", "escrow-branch")
}

// recover restores the secrets of the fleet and shows the plan, before anything is changed
// that others can see. The error says why the fleet is not taken over. The call may be
// repeated. It does nothing once the fleet lives in its new home.
func (m *moveCommand) recover(cmd *cobra.Command, s wiring.Settings, p *pivot.Parts, w pivot.Destination) error {
	r, ctx := m.recovery, cmd.Context()
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
	e, _, err := openEscrow(cmd, s, r.location, r.identity)
	if err != nil {
		return err
	}
	loaded, err := wholeOf(s).load(ctx, (&valueFlags{warn: func(string) {}}).options())
	if err != nil {
		return err
	}
	return recovery.Run(ctx, recovery.Options{
		Escrow: e, Fleet: loaded.ID, Home: w.Home, To: p.From,
		Plan: func(ctx context.Context) (*preview.Plan, error) {
			return makePlan(ctx, wholeOf(s), m.f.recreating(w.Home, m.recreateRequest()), &valueFlags{warn: func(string) {}})
		},
		Self: m.name, Owner: owner, TakeOver: w.TakeOver,
		DryRun: m.dryRun, AllowChanges: r.allowChanges, Out: cmd.OutOrStdout(),
	})
}
