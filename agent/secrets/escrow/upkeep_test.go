package escrow_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
)

func TestChangesSecrets(t *testing.T) {
	for kind, want := range map[fleet.ActionKind]bool{fleet.EnsureCertificates: true, fleet.EnsureKubeconfig: true, fleet.CreateMachine: false} {
		if got := escrow.ChangesSecrets([]fleet.Action{{Kind: kind}}); got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}

// unseen are metrics that nobody reads.
type unseen struct{}

func (unseen) EscrowKept(int, error) {}
func (unseen) ResetEscrow()          {}

// TestEscrowThatCannotBeOpened: an escrow that cannot be opened is a problem, and is opened
// again with the next look.
func TestEscrowThatCannotBeOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		opened, notified := 0, 0
		u := escrow.NewUpkeep(escrow.UpkeepParts{
			Wanted: func() escrow.Wanted { return escrow.Wanted{Escrow: fleet.Escrow{Recipients: []string{"age1"}}} },
			Open: func(fleet.ID, fleet.Escrow) (escrow.Copy, error) {
				opened++
				var none *escrow.Keeper
				return none, errors.New("no answer")
			},
			May: func() error { return nil }, Notify: func() { notified++ }, Metrics: unseen{}, Log: slog.New(slog.DiscardHandler),
		})
		done := make(chan error, 1)
		go func() { done <- u.Run(ctx) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if p, is := u.Problem(); !is || p.Field != "spec.escrow" {
			t.Errorf("the problem is %+v", p)
		}
		if opened < 10 || notified != 1 {
			t.Errorf("it was opened %d times and told %d times", opened, notified)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
