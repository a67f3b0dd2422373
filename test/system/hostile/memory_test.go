package hostile

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/run/race"
)

const (
	// most is what the process may need above what it needs at rest.
	most = 256 << 20
	// patience is the time of processors after which a row counts as one that does not
	// end: four times the 5 s that each is to take. Time of the clock says little on a
	// machine that does other things.
	patience = 20 * time.Second
	// hung is the time by the clock after which it does, for what waits.
	hung = 10 * time.Minute
)

// A cost is what a row took.
type cost struct {
	row    string
	memory int // bytes above rest; -1 where the kernel does not tell
	cpu    time.Duration
	clock  time.Duration
}

// within runs f and returns what it took. It fails t where the process needed more than
// most bytes of resident memory above rest meanwhile, and ends the program, with what it
// is at, where f does not come back.
func within(t *testing.T, f func()) cost {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // an agent's, whatever the environment says
	debug.FreeOSMemory()
	rest := statusOf("VmRSS")
	reset := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // the peak begins anew
	began, cpu, longest := time.Now(), processorTime(), patience
	if race.Detector {
		longest *= 20
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
			}
			if used, waited := processorTime()-cpu, time.Since(began); used > longest || waited > hung {
				debug.SetTraceback("all")
				panic(fmt.Sprintf("%s has not ended after %s, %s of it at work", t.Name(), waited, used))
			}
		}
	}()
	f()
	close(ended)
	c := cost{t.Name(), -1, processorTime() - cpu, time.Since(began)}
	if peak := statusOf("VmHWM"); reset == nil && peak > 0 {
		c.memory = peak - rest
	}
	if c.memory > most && !race.Detector {
		t.Errorf("it took %d MiB of memory above the %d MiB at rest, want %d at most", c.memory>>20, rest>>20, most>>20)
	}
	return c
}

// processorTime returns what this process has used of processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tell logs what took most.
func tell(t *testing.T, costs []cost) {
	t.Helper()
	if len(costs) == 0 {
		return
	}
	m := slices.MaxFunc(costs, func(a, b cost) int { return cmp.Compare(a.memory, b.memory) })
	l := slices.MaxFunc(costs, func(a, b cost) int { return cmp.Compare(a.cpu, b.cpu) })
	t.Logf("%d rows; the most memory: %d MiB, %s; the longest: %.1f s of processors, %.1f s by the clock, %s",
		len(costs), m.memory>>20, m.row, l.cpu.Seconds(), l.clock.Seconds(), l.row)
	if m.memory < 0 {
		t.Log("memory was not looked at: the kernel does not tell the peak anew (/proc/self/clear_refs)")
	}
}

// statusOf returns a number of bytes in /proc/self/status; 0 where there is none.
func statusOf(name string) int {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return n << 10
		}
	}
	return 0
}
