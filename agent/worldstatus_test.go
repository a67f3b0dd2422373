package agent

import (
	"context"
	"errors"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

func (w *world) Owner(context.Context) (fleet.Owner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owner, nil
}

func (w *world) Claim(_ context.Context, self, place string) (fleet.Owner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner.Agent == "" {
		w.owner = fleet.Owner{Agent: self, Epoch: 1, Place: place}
	}
	return w.owner, nil
}

func (w *world) HandOver(context.Context, fleet.Owner, string, string) (fleet.Owner, error) {
	return fleet.Owner{}, errors.New("not used")
}

func (w *world) Succession(context.Context) (fleet.Owner, fleet.Succession, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doubt != nil {
		return fleet.Owner{}, fleet.Succession{}, w.doubt
	}
	return w.owner, w.next, nil
}

func (w *world) Restore(_ context.Context, of fleet.Owner) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restored, w.doubt = append(w.restored, of), nil
	return nil
}

func (w *world) Succeed(_ context.Context, of fleet.Owner, from, to fleet.Succession) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner != of || w.next != from {
		return fleet.Errorf(fleet.Conflict, "succeed", "moved")
	}
	w.next = to
	return nil
}

func (w *world) Yield(_ context.Context, of fleet.Owner, s fleet.Succession) (fleet.Owner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner != of || w.next != s {
		return fleet.Owner{}, fleet.Errorf(fleet.Conflict, "yield", "moved")
	}
	w.owner, w.next = fleet.Owner{Agent: s.To, Epoch: of.Epoch + 1}, s.At(fleet.StepHandedOver)
	return w.owner, nil
}

func (w *world) Put(r fleet.Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports[r.Cluster] = r
}

func (w *world) PutFleet(s sources.FleetStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet = s
}

func (w *world) Flush(context.Context) (fleet.Revision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fleet.Revision{}, w.unwritten
}

func (w *world) Run(ctx context.Context) error {
	w.mu.Lock()
	w.published++
	w.mu.Unlock()
	<-ctx.Done()
	return nil
}
