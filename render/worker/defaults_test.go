package worker

import (
	"io/fs"
	"math"
	"runtime/debug"
	"testing"
	"time"
)

// What all processes may take together is two fifths of what there is.
func TestLimitsFor(t *testing.T) {
	for limit, want := range map[int64]int64{
		0:         256, // no limit
		8 << 30:   256,
		1 << 30:   256, // 409 for one process of 64 at rest
		768 << 20: 243,
		256 << 20: 96, // with less nothing is built
	} {
		got := limitsFor(limit)
		if got.Memory>>20 != want || got.Time != 10*time.Second || got.Processes < 1 {
			t.Errorf("%d MiB: got %+v, want %d MiB", limit>>20, got, want)
		}
		if all := (got.Memory + resting) * int64(got.Processes); got.Processes > 1 && limit > 0 && all > limit/5*2 {
			t.Errorf("%d MiB: %d processes take %d MiB", limit>>20, got.Processes, all>>20)
		}
	}
}

// A cgroup has the first word, GOMEMLIMIT the second.
func TestMemoryOf(t *testing.T) {
	files := func(m map[string]string) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			if s, ok := m[name]; ok {
				return []byte(s), nil
			}
			return nil, fs.ErrNotExist
		}
	}
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	v2, v1 := "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	for name, tc := range map[string]struct {
		files map[string]string
		limit int64 // GOMEMLIMIT
		want  int64
	}{
		"Version2":   {map[string]string{v2: "1073741824\n"}, 1 << 20, 1 << 30},
		"NoLimit":    {map[string]string{v2: "max\n"}, math.MaxInt64, 0},
		"Version1":   {map[string]string{v1: "1073741824\n"}, math.MaxInt64, 1 << 30},
		"NoLimit1":   {map[string]string{v1: "9223372036854771712\n"}, math.MaxInt64, 0},
		"GOMEMLIMIT": {nil, 1 << 30, 1 << 30},
		"None":       {nil, math.MaxInt64, 0},
	} {
		debug.SetMemoryLimit(tc.limit)
		got := memoryOf(files(tc.files))
		debug.SetMemoryLimit(math.MaxInt64)
		if got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}
