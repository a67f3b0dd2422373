package sops

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart has cmd end with all the processes that it starts.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}

// limit bounds the private memory that a process, and each that it starts, can write to.
// No such process writes its memory to the disk.
func limit(pid int, memory uint64) {
	for which, most := range map[int]uint64{unix.RLIMIT_DATA: memory, unix.RLIMIT_CORE: 0} {
		_ = unix.Prlimit(pid, which, &unix.Rlimit{Cur: most, Max: most}, nil) // it may have ended
	}
}
