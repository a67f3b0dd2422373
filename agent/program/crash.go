package program

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
)

// abortOnCrash has the process end by SIGABRT, which shells show as 134, where Go's
// runtime ends it: out of memory, or by a bug. Go's own exit code is 2, which says that
// there are changes. There is no core dump, since secrets would be in it.
func abortOnCrash() {
	debug.SetTraceback("crash")
	noCoreDump()
}

// crashed is the exit code of a process that SIGABRT ended.
const crashed = 128 + int(syscall.SIGABRT)

// needsParent reports whether a crash of the command in args could be taken for an answer
// of it. The first process of a container is not ended by its own signals, and ends with
// Go's exit code.
func needsParent(args []string) bool {
	return os.Getpid() == 1 && len(args) > 0 && slices.Contains([]string{"plan", "orphans"}, args[0])
}

// supervise runs the program again as another process than the first one, and returns its
// exit code.
func supervise(args []string) int {
	self, err := os.Executable()
	if err != nil {
		return crashed
	}
	cmd := exec.Command(self, args...) //nolint:gosec,noctx // the same command line; it ends when it ends
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if err := cmd.Start(); err != nil {
		_, _ = os.Stderr.WriteString("fairlead: " + err.Error() + "\n")
		return crashed
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
			return 128 + int(w.Signal())
		}
		return e.ExitCode()
	}
	if err != nil {
		return crashed
	}
	return 0
}
