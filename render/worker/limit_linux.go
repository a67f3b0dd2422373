package worker

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// limitData bounds the private memory of this process that can be written to. Unlike
// the size of its address space, that follows what the heap of a Go program takes.
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

// endLate ends this process when its time is over. The runtime of Go takes no notice
// of the signal by itself.
func endLate() {
	late := make(chan os.Signal, 1)
	signal.Notify(late, unix.SIGXCPU)
	go func() {
		fmt.Fprintln(os.Stderr, <-late, lateWord)
		os.Exit(1)
	}()
}

// limitTime gives this process so many more seconds of a processor.
func limitTime(seconds int64) error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	most := uint64(used.Utime.Sec + used.Stime.Sec + 2 + seconds) // of each a part of a second may be left out
	return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY})
}
