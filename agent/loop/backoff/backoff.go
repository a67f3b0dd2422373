// Package backoff waits: longer after each failure, a little more or less than asked for,
// and no longer than a context lives.
//
//	for failures := backoff.New(time.Second, time.Minute); ; {
//		err := try(ctx)
//		if err == nil || !backoff.Sleep(ctx, backoff.Jitter(failures.Step())) {
//			return err
//		}
//	}
package backoff

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// New returns waits that begin with first and double up to most.
func New(first, most time.Duration) *wait.Backoff {
	return &wait.Backoff{Duration: min(first, most), Factor: 2, Cap: most, Steps: math.MaxInt32}
}

// Sleep waits for d and reports whether ctx still goes on.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Jitter returns d, up to a tenth shorter or longer, so that agents and clusters do not
// march in step.
func Jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
