package worker

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

const (
	defaultMemory = 256 << 20
	leastMemory   = 96 << 20
	// resting is the memory of a process that builds nothing.
	resting = 64 << 20
	// unlimited is the memory of all processes together where this process has no limit.
	unlimited   = 2 << 30
	defaultTime = 10 * time.Second
)

// DefaultLimits derives limits from the memory of this process, by its cgroup or else by
// GOMEMLIMIT: all builds together get two fifths of it.
func DefaultLimits() Limits { return limitsFor(MemoryLimit()) }

// MemoryLimit returns the memory limit of this process, by its cgroup or else by
// GOMEMLIMIT; 0 is no limit.
func MemoryLimit() int64 { return memoryOf(os.ReadFile) }

// limitsFor returns the limits for a process with a memory limit; 0 is no limit.
func limitsFor(limit int64) Limits {
	all := int64(unlimited)
	if limit > 0 {
		all = limit / 5 * 2
	}
	l := Limits{Memory: min(defaultMemory, max(all-resting, leastMemory)), Time: defaultTime}
	l.Processes = int(min(max(all/(l.Memory+resting), 1), int64(runtime.GOMAXPROCS(0))))
	return l
}

// memoryOf returns the memory limit of this process; 0 is no limit.
func memoryOf(read func(string) ([]byte, error)) int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := read(file)
		if err != nil {
			continue
		}
		// Version 1 of cgroups has an impossibly large number for no limit.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n < 1<<50 {
			return n
		}
	}
	if n := debug.SetMemoryLimit(-1); n < math.MaxInt64 {
		return n
	}
	return 0
}
