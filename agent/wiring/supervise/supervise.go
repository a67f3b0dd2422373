package supervise

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
)

// Main runs the command line args with run, and ends the process with the exit code that
// run returns. It has to be the first thing that a program does.
func Main(args []string, run func() int) {
	abortOnCrash()
	if needsParent(args) {
		os.Exit(runAgain(args))
	}
	os.Exit(run())
}

// abortOnCrash makes the runtime end the process with SIGABRT where it crashes, without a
// core dump.
func abortOnCrash() {
	debug.SetTraceback("crash")
	noCoreDump()
}

// crashed is the exit code of a process that SIGABRT ended.
const crashed = 128 + int(syscall.SIGABRT)

// needsParent reports whether this is the first process of a container, and the exit code
// of a crash could be taken for an answer of the command in args.
func needsParent(args []string) bool {
	return os.Getpid() == 1 && len(args) > 0 && slices.Contains([]string{"plan", "orphans"}, args[0])
}

// runAgain runs the program again with args, in another process, and returns the exit code
// of that. It passes signals on.
func runAgain(args []string) int {
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
