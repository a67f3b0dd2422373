package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// A program that makes machines starts itself under these names.
const (
	supervisorName = "fairlead-lab-machine" // DIR NETWORK: holds one machine
	initName       = "fairlead-lab-init"    // DIR: becomes the first process of a machine
)

// Hook must be the first call of a program that makes machines. Where the
// program was started to be one, it never returns.
func Hook() {
	var err error
	switch {
	case os.Args[0] == supervisorName && len(os.Args) == 3:
		err = supervise(os.Args[1], os.Args[2])
	case os.Args[0] == initName && len(os.Args) == 2:
		err = boot(os.Args[1])
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A state says what processes a machine is, while it is on.
type state struct{ Supervisor, Init process }

func (m *Machine) state() state {
	var s state
	if b, err := os.ReadFile(m.file("state.json")); err == nil {
		_ = json.Unmarshal(b, &s) // it is renamed into its place: never half
	}
	return s
}

// supervise runs the machine of a folder until it is switched off from within:
// one that reboots is started again. Killing this process kills the
// machine, since the kernel then kills its first process.
func supervise(dir, network string) error {
	runtime.LockOSThread() // the parent that a machine dies with is a thread
	if err := setns(network); err != nil {
		return err
	}
	groups, err := makeCgroups(filepath.Base(filepath.Dir(dir))+"-"+filepath.Base(dir), filepath.Join(dir, "cgroups"))
	if err != nil {
		return err
	}
	for {
		again, err := run(dir, groups)
		if err != nil || !again {
			return errors.Join(err, os.Remove(filepath.Join(dir, "state.json")))
		}
	}
}

// run runs the machine once, and says whether it asked to be started again.
func run(dir string, groups []string) (again bool, err error) {
	wait, start, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer func() { _ = start.Close() }()
	c := exec.Command("/proc/self/exe")
	c.Args = []string{initName, dir}
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.ExtraFiles = []*os.File{wait}
	c.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID,
	}
	if err := c.Start(); err != nil {
		return false, err
	}
	_ = wait.Close()
	for _, group := range groups {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0o644); err != nil {
			return false, errors.Join(err, c.Process.Kill(), c.Wait())
		}
	}
	if _, err := start.WriteString("go"); err != nil {
		return false, errors.Join(err, c.Process.Kill(), c.Wait())
	}
	b, err := json.Marshal(state{Supervisor: processOf(os.Getpid()), Init: processOf(c.Process.Pid)})
	if err != nil {
		return false, err
	}
	tmp := filepath.Join(dir, ".state.json")
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return false, err
	}
	if err := os.Rename(tmp, filepath.Join(dir, "state.json")); err != nil {
		return false, err
	}
	err = c.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// reboot(2) in a PID namespace ends its first process with SIGHUP to
		// start again, with SIGINT to stay off.
		status, ok := exit.Sys().(syscall.WaitStatus)
		return ok && status.Signaled() && status.Signal() == syscall.SIGHUP, nil
	}
	return false, err
}
