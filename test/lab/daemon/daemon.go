// Package daemon runs the program of a lab in the background: the same program, with the argument serve.
package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Process runs in the background, with the files that it leaves in Dir:
//
//	pid    its process
//	log    what it said
//	Env    how to reach it, for a shell
type Process struct{ Dir, Env string }

func (p Process) file(name string) string { return filepath.Join(p.Dir, name) }

// Up starts it unless it runs, and prints how to reach it.
func (p Process) Up(ctx context.Context, args []string) error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	if p.pid() == 0 {
		if err := p.start(ctx, args); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(p.file(p.Env))
	_, unprinted := fmt.Fprintf(os.Stdout, "%s# log: %s\n", text, p.file("log"))
	return errors.Join(err, unprinted)
}

func (p Process) start(ctx context.Context, args []string) error {
	if err := os.Remove(p.file(p.Env)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.Create(p.file("log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe", append([]string{"serve"}, args...)...) // it outlives this call
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		if _, err := os.Stat(p.file(p.Env)); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			said, unread := os.ReadFile(p.file("log"))
			return errors.Join(fmt.Errorf("it ended: %s", bytes.TrimSpace(said)), err, unread)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), c.Process.Kill())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Ready says how to reach it, when it serves.
func (p Process) Ready(env string) error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(p.file("pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	part := p.file(p.Env + ".part")
	return errors.Join(os.WriteFile(part, []byte(env), 0o600), os.Rename(part, p.file(p.Env)))
}

// Ended takes away what says that it serves.
func (p Process) Ended() error {
	return errors.Join(os.Remove(p.file("pid")), os.Remove(p.file(p.Env)))
}

// pid is the process that runs; 0: none does. An id may have become another's since.
func (p Process) pid() int {
	text, err := os.ReadFile(p.file("pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !bytes.Contains(command, []byte("\x00serve")) {
		return 0
	}
	return pid
}

// Down ends it and waits until it is gone.
func (p Process) Down(ctx context.Context) error {
	pid := p.pid()
	if pid == 0 {
		_, err := fmt.Fprintln(os.Stdout, "it does not run")
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for p.pid() == pid {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	_, err := fmt.Fprintln(os.Stdout, "stopped")
	return err
}
