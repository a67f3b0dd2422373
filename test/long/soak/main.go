// Command soak lets a fleet live through bad days: clusters are pushed, scaled,
// upgraded, broken, repaired, deleted and pushed again at random, over a Git
// server that fails and loses answers, on a cloud in a process of its own that
// is slow, forgetful and at times away. All the while the agent is killed with
// SIGKILL and started again with nothing but its secrets, or started twice, and its
// status branch is deleted, damaged, renamed and at times answered for by an empty
// repository, or by one that lags behind what was pushed. With -keys commits and the status are
// signed, and the key of the commits is withdrawn and put back.
//
// All that the processes of the agent ask of the cloud goes through a judge: after one of them
// began to change things no earlier one does, and somebody cares for the clusters all the time.
//
// Then the days get better, and everything must be as Git says: one machine for
// each name, nothing to plan; and once every cluster is deleted nothing left
// over. What belongs to others in the same cloud must be untouched.
//
// The exit code is 0 only if all of that was seen. The seed that is printed
// makes the same pushes and faults again; their timing is the machine's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "fairlead", "bin/fairlead", "the program to test")
	flag.DurationVar(&o.length, "for", time.Minute, "how long the bad days last")
	flag.IntVar(&o.clusters, "clusters", 6, "clusters in the fleet")
	flag.BoolVar(&o.keys, "keys", false, "commits and the status are signed, and keys are withdrawn and put back")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of what is random")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := soak(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak: "+err.Error())
		stop()
		os.Exit(1)
	}
}

type options struct {
	binary   string
	length   time.Duration
	clusters int
	keys     bool
	seed     uint64
}

func soak(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "fairlead-soak-")
	if err != nil {
		return err
	}
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "soak: %s with %d clusters, -seed %d, everything is in %s\n", o.length, o.clusters, o.seed, dir)
	r := rand.New(rand.NewPCG(o.seed, 0))
	w, err := newWorld(ctx, o.binary, dir)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, w.close())
		if err == nil {
			err = os.RemoveAll(dir)
		}
	}()
	if o.keys {
		if w.keys, err = newKeyring(filepath.Join(dir, "keys")); err != nil {
			return err
		}
	}
	f, err := newFleet(filepath.Join(dir, "clone"), w.bare, o.clusters, w.keys)
	if err != nil {
		return err
	}
	theirs, err := w.foreign(ctx)
	if err != nil {
		return err
	}
	if err := w.startAgent(); err != nil {
		return err
	}
	if err := badDays(ctx, o.length, r, w, f); err != nil {
		return err
	}
	if err := goodDays(ctx, w, f); err != nil {
		return err
	}
	if err := errors.Join(w.untouched(ctx, theirs), w.judge.verdict()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "soak: good, after %d pushes, %d kills, %d changes of the weather and %d troubles of the status: %s\n", f.pushes, w.kills, w.weathers, w.troubles, w.judge)
	return nil
}

// badDays does one bad thing after the other until length is over.
func badDays(ctx context.Context, length time.Duration, r *rand.Rand, w *world, f *fleet) error {
	end := time.Now().Add(length)
	for time.Now().Before(end) {
		var err error
		switch r.IntN(12) {
		case 0, 1:
			err = w.restart()
		case 2, 3:
			err = w.weather(ctx, r)
		case 4:
			err = w.trouble(ctx, r, f)
		default:
			err = f.disturb(r)
		}
		if err := errors.Join(w.judge.verdict(), err); err != nil {
			return err
		}
		if err := wait(ctx, time.Duration(200+r.IntN(1500))*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// goodDays ends the faults and looks whether everything gets as Git says, first
// with all clusters, then with none.
func goodDays(ctx context.Context, w *world, f *fleet) error {
	if err := w.calm(ctx); err != nil {
		return err
	}
	if err := f.repair(); err != nil {
		return err
	}
	if err := w.restart(); err != nil { // one that could not read fleet.yaml stays on the former status branch
		return err
	}
	if err := finishDeletions(ctx, w, f); err != nil {
		return err
	}
	if err := w.converged(ctx, f.machines()); err != nil {
		return fmt.Errorf("with the fleet repaired: %w", err)
	}
	if err := w.kill(); err != nil {
		return err
	}
	if err := w.startAgent(); err != nil {
		return err
	}
	if err := w.converged(ctx, f.machines()); err != nil {
		return fmt.Errorf("after another start: %w", err)
	}
	if err := f.deleteAll(); err != nil {
		return err
	}
	if err := w.converged(ctx, f.machines()); err != nil {
		return fmt.Errorf("with everything deleted: %w", err)
	}
	return nil
}

// finishDeletions does what the status tells people to do of clusters that were asked
// for again when half of their control plane was gone: it has these deleted to the
// end, and asks for them then.
func finishDeletions(ctx context.Context, w *world, f *fleet) error {
	err := w.converged(ctx, f.machines())
	if err == nil {
		return nil
	}
	halves, known := w.halfDeleted(f.wereDeleted())
	if known != nil || len(halves) == 0 {
		return errors.Join(fmt.Errorf("with the fleet repaired: %w", err), known)
	}
	for _, deleted := range []bool{true, false} {
		if err := f.delete(halves, deleted); err != nil {
			return err
		}
		if err := w.converged(ctx, f.machines()); err != nil {
			return fmt.Errorf("with %v deleted to the end: %w", halves, err)
		}
	}
	return nil
}

// wait lets d pass.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
