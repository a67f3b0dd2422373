package worker

import (
	"testing"
	"time"
)

// A build waits for a process that is busy before it starts another one, for as long as it takes
// if that is starting, and a program that does not start is no process.
func TestTake(t *testing.T) {
	p := NewPool([]string{"/there/is/no/such/program"}, Limits{Processes: 2})
	if _, err := p.take(t.Context()); err == nil || p.running.Load() != 0 {
		t.Errorf("first process: %v, %d processes; want an error, and none", err, p.running.Load())
	}
	busy := new(process)
	p.running.Store(1)
	go func() { p.idle <- busy }()
	if got, err := p.take(t.Context()); got != busy {
		t.Errorf("got %v, %v; want the process that was busy", got, err)
	}
	p.starting.Store(1)
	time.AfterFunc(2*patience+patience/2, func() { p.idle <- busy })
	if got, err := p.take(t.Context()); got != busy {
		t.Errorf("got %v, %v; want the process that was starting", got, err)
	}
	p.starting.Store(0)
	if _, err := p.take(t.Context()); err == nil || p.running.Load() != 1 {
		t.Errorf("second process: %v, %d processes; want an error, and one", err, p.running.Load())
	}
}
