package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"fairlead.dev/fleet"
)

// The defaults of Timing, which are those of Kubernetes' own components.
const (
	DefaultDuration = 15 * time.Second
	DefaultDeadline = 10 * time.Second
	DefaultRetry    = 2 * time.Second
)

// Timing says how fast replicas notice that one is gone.
type Timing struct {
	Duration time.Duration // that a silent holder's Lease is respected
	Deadline time.Duration // that a holder acts without having renewed; shorter than Duration
	Retry    time.Duration // between renewals, and between looks
}

// WithDefaults fills in what is zero.
func (t Timing) WithDefaults() Timing {
	return Timing{
		Duration: cmp.Or(t.Duration, DefaultDuration),
		Deadline: cmp.Or(t.Deadline, DefaultDeadline),
		Retry:    cmp.Or(t.Retry, DefaultRetry),
	}
}

// Check says what is wrong with t. A Lease counts whole seconds.
func (t Timing) Check() error {
	switch {
	case t.Duration != t.Duration.Truncate(time.Second) || t.Duration < time.Second:
		return fmt.Errorf("the lease duration %s is not in whole seconds", t.Duration)
	case t.Deadline >= t.Duration:
		return fmt.Errorf("the renew deadline %s must be shorter than the lease duration %s: a leader stops before another begins", t.Deadline, t.Duration)
	case t.Retry <= 0 || float64(t.Deadline) <= 1.2*float64(t.Retry):
		return fmt.Errorf("the retry period %s must be shorter than the renew deadline %s, with a fifth to spare", t.Retry, t.Deadline)
	}
	return nil
}

// ElectionOptions are those of an Elector. Leases, Namespace, Name and Identity are
// required.
type ElectionOptions struct {
	Leases    coordinationv1client.LeasesGetter
	Namespace string
	Name      string // of the Lease
	Identity  string // of this process: no other ever has it
	Timing    Timing
	// OnLeader is called with the identity of each new leader.
	OnLeader func(identity string)
	Now      func() Instant // default Now
	Log      *slog.Logger   // default: none
}

// An Elector takes part in elections.
type Elector struct{ o ElectionOptions }

// New returns an Elector.
func NewElector(o ElectionOptions) (*Elector, error) {
	o.Timing = o.Timing.WithDefaults()
	if err := o.Timing.Check(); err != nil {
		return nil, err
	}
	for what, value := range map[string]string{"namespace": o.Namespace, "name": o.Name, "identity": o.Identity} {
		if value == "" {
			return nil, fmt.Errorf("the leader election has no %s", what)
		}
	}
	if o.Now == nil {
		o.Now = Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Elector{o}, nil
}

// A Term is one unbroken time of leading.
type Term struct{ fence *Fence }

// Leading is nil as long as this process surely leads.
func (t *Term) Leading() error {
	if t.fence.Holds() {
		return nil
	}
	return fleet.Errorf(fleet.Unauthorized, "act as the leader", "the lease was not renewed in time, or given back")
}

// Run takes part in elections until ctx ends, and calls lead for each term. The
// context of lead ends with the term; lead must return then. Run ends when ctx
// does, or with what lead returned while its term had not ended.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context, t *Term) error) error {
	for {
		over, err := e.term(ctx, lead)
		switch {
		case err != nil:
			return err
		case !over || ctx.Err() != nil:
			return nil
		}
		e.o.Log.Warn("lost leadership, joining the election again", "identity", e.o.Identity)
	}
}

// term waits to be elected and leads. It reports whether the term ended, rather
// than the work.
func (e *Elector) term(ctx context.Context, lead func(context.Context, *Term) error) (over bool, err error) {
	// The Lease outlasts ctx: it is given back after the work has ended.
	leading, lose := context.WithCancel(context.WithoutCancel(ctx))
	defer lose()
	t := &Term{fence: NewFence(e.o.Timing.Deadline, e.o.Now, lose)}
	l := &lock{o: e.o, api: e.o.Leases.Leases(e.o.Namespace), fence: t.fence}
	if !l.acquire(ctx) {
		return ctx.Err() == nil, nil
	}
	e.o.Log.Info("leading", "identity", e.o.Identity, "lease", e.o.Namespace+"/"+e.o.Name)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { l.keep(renewing, lose) })
	working, cancel := context.WithCancel(leading)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	done := make(chan error, 1)
	go func() {
		if !l.outwait(working) {
			done <- nil
			return
		}
		done <- lead(working, t)
	}()
	err = returned(working, done)
	over = leading.Err() != nil
	t.fence.End()
	stop()
	wg.Wait()
	if errors.Is(err, errNotEnded) {
		return false, err
	}
	l.release(context.WithoutCancel(ctx))
	if over {
		return true, nil
	}
	return false, err
}

// shutdownGrace is how long work may take to end with its term.
const shutdownGrace = 20 * time.Second

// errNotEnded ends the process: a worker that still works must not stand again, nor give
// the Lease back.
var errNotEnded = errors.New("the leader's work did not end with its term")

// returned returns what the work returns. ctx is that of the work.
func returned(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(shutdownGrace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return errNotEnded
	}
}
