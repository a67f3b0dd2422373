package hostile

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// most is what the process may need above what it needs at rest.
const most = 256 << 20

// within runs f, and fails t where the process needed more than most bytes of resident
// memory above rest meanwhile. Where the kernel does not tell, it only runs f.
func within(t *testing.T, f func()) {
	t.Helper()
	debug.FreeOSMemory()
	rest := statusOf("VmRSS")
	reset := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // the peak begins anew
	f()
	if peak := statusOf("VmHWM"); reset == nil && peak-rest > most {
		t.Errorf("it took %d MiB of memory above the %d MiB at rest, want %d at most", (peak-rest)>>20, rest>>20, most>>20)
	} else if reset == nil {
		t.Logf("%d MiB", (peak-rest)>>20)
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
