package worker

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// limitData bounds the private writable memory of this process. Unlike the address space,
// that corresponds to the heap of a Go program.
func limitData(memory int64) error {
	var now int64
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(status, []byte("VmData:"))
	if _, err := fmt.Sscanf(string(rest), "%d kB", &now); err != nil {
		return fmt.Errorf("read VmData: %w", err)
	}
	most := uint64(now<<10 + memory)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most})
}

// endLate ends this process when its processor time is over. The Go runtime ignores the
// signal by default.
func endLate() {
	late := make(chan os.Signal, 1)
	signal.Notify(late, unix.SIGXCPU)
	go func() {
		fmt.Fprintln(os.Stderr, <-late, lateWord)
		os.Exit(1)
	}()
}

// limitTime allows this process so many more seconds of processor time.
func limitTime(seconds int64) error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	most := uint64(used.Utime.Sec + used.Stime.Sec + 2 + seconds) // fractions of a second may be missing in both
	return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY})
}
