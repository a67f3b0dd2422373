package metal3test

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// TestProcessOutlivesThread: Ironic goes on when the thread ends that it was started from, as
// threads do that were in another network.
func TestProcessOutlivesThread(t *testing.T) {
	t.Parallel()
	bound := func(program string, args ...string) *exec.Cmd {
		c := exec.Command(program, args...)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		return c
	}
	other, c := bound("sleep", "600"), bound("sh", "-c", "read line; exit 7")
	say, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var p *process
	started := make(chan error)
	go onThread(func() {
		var err error
		p, err = run(c)
		started <- errors.Join(err, other.Start())
	})
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err == nil {
		t.Fatal("the thread did not end")
	}
	_ = say.Close() // it is closed where the process has ended
	<-p.ended
	if c.ProcessState.ExitCode() != 7 {
		t.Errorf("it ended with the thread: %v", p.err)
	}
}

// onThread calls f on a thread that ends with it. The main thread never ends.
func onThread(f func()) {
	runtime.LockOSThread()
	if syscall.Gettid() != syscall.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		onThread(f)
	}()
	<-done
	runtime.UnlockOSThread()
}
