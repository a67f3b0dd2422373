package wiring

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
)

// The age identity that the escrow is for.
const (
	recipient = "age1psq6mpu3n2pcmht3nhdt9n3gd5s9pulgwzcgrjjpdr6ue5caggpq5dhs8y"
	identity  = "AGE-SECRET-KEY-1304UNR6ZFTJD3929P75AD0AQZFXVPNKN9H4CW2AXW90TZ0Z59DASKPCNTU"
)

func (w *moveWorld) escrow() escrow.Place { return escrow.Branch("fairlead/escrow", w.vault) }

// lostHome is atHome, and then the home is lost: its agent, its machines and the
// secrets in it. Escrow has these.
func lostHome(ctx context.Context, w *moveWorld) {
	atHome(ctx, w)
	name := ownership.AgentOf(keyHome())
	k, err := escrow.NewKeeper(w.escrow(), w.store(name), escrow.Options{Fleet: "harbour", Recipients: []string{recipient}})
	if err == nil {
		_, err = k.Keep(ctx, allKeys(), nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := w.status(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	delete(w.installed, keyHome())
	delete(w.addons, keyHome())
	w.lost, w.config = s.Owner, nil
	w.mu.Unlock()
	time.Sleep(time.Minute) // the kubelet ends the agent
	w.mu.Lock()
	w.stores[name] = secrets.NewMemory()
	w.mu.Unlock()
	w.destroy(ctx, keyHome())
}

// destroy removes all that the cloud has of a cluster.
func (w *moveWorld) destroy(ctx context.Context, k fleet.Key) {
	tags := map[string]string{fleet.TagCluster: k.String()}
	vms, err := w.cloud.VMs(ctx, tags)
	for _, vm := range vms {
		if err == nil {
			err = w.cloud.DeleteVM(ctx, vm.ID)
		}
	}
	time.Sleep(time.Minute)
	networks, err2 := w.cloud.Networks(ctx, tags)
	for _, n := range networks {
		if err == nil {
			err = w.cloud.DeleteNetwork(ctx, n.ID)
		}
	}
	if err != nil || err2 != nil || len(vms) == 0 || len(networks) == 0 {
		w.t.Fatalf("cannot destroy %s: %v, %v", k, err, err2)
	}
}

// recovery is `fairlead bootstrap` of a home that is gone, with --identity-file
// and --take-over.
func recovery(ctx context.Context, w *moveWorld) error {
	return w.command(ctx, laptop, func(p *process) error {
		want, parts, err := p.inTo(keyHome(), laptop)
		if err != nil {
			return err
		}
		want.TakeOver = w.lost
		owner, err := parts.Arbiter.Owner(p.ctx)
		if err != nil {
			return err
		}
		if want.Arrived(owner) {
			return pivot.New(want, parts).Run(p.ctx)
		}
		e, err := escrow.Open(p.ctx, w.escrow(), fleet.NewSecret([]byte(identity)))
		if err == nil {
			_, err = e.Restore(p.ctx, parts.From)
		}
		if err != nil {
			return err
		}
		return p.beside(agent.Options{Only: keyHome(), Recreate: fmt.Sprintf("gone: %s@%d", w.lost.Agent, w.lost.Epoch), WaitForOwnership: owner.Is(want.TakeOver)}, pivot.New(want, parts).Run)
	})
}
