package lab

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A process is one that ran at a time: a number alone may be another's by now.
type process struct {
	PID   int
	Start string // when it began, in the kernel's ticks: field 22 of /proc/PID/stat
}

// processOf returns the process that has this number now; one without a start
// is none.
func processOf(pid int) process {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}
	}
	// The name of the program is in parentheses, and may have anything in it.
	s := string(b)
	fields := strings.Fields(s[strings.LastIndex(s, ")")+1:])
	if len(fields) < 20 || fields[0] == "Z" {
		return process{}
	}
	return process{PID: pid, Start: fields[19]}
}

func (p process) alive() bool { return p.PID > 1 && processOf(p.PID) == p }

// kill kills p, and returns when it has ended. One that is gone is no error.
func (p process) kill() error {
	if p.PID <= 1 {
		return nil
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	// The handle is of the process with the number now, so this is asked after it.
	if !p.alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("process %d does not end, although it was killed", p.PID)
		default:
			return nil
		}
	}
}
