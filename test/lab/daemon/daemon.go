// Package daemon runs the program of a lab in the background: the same program, with the argument serve.
package daemon

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
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

// Main is a program with the arguments up, down and serve, the first and the last with flags, whose
// process leaves its files in the user's cache, or in the folder that FAIRLEAD_LAB_NAME names. It ends
// with the context of serve, which calls Ready and Ended.
func Main(name, env string, flags *flag.FlagSet, serve func(context.Context, Process) error) {
	Run(func(ctx context.Context, args []string) error {
		dir := os.Getenv("FAIRLEAD_LAB_" + strings.ToUpper(name))
		if dir == "" {
			cache, err := os.UserCacheDir()
			if err != nil {
				return err
			}
			dir = filepath.Join(cache, "fairlead", name)
		}
		return Process{dir, env}.Do(ctx, args, flags, serve)
	})
}

// Run calls do with the arguments of the program, until it is asked to end, and ends with its error.
func Run(do func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := do(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Do does what args begin with: up, down or serve.
func (p Process) Do(ctx context.Context, args []string, flags *flag.FlagSet, serve func(context.Context, Process) error) error {
	if len(args) == 0 {
		return errors.New("missing argument: up, down or serve; its main.go below test/lab lists their flags")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "up":
		return p.up(ctx, args[1:])
	case "down":
		return p.down(ctx)
	case "serve":
		return serve(ctx, p)
	}
	return fmt.Errorf("unknown argument %q: must be one of up, down, serve", args[0])
}

// File is the path of a file that it leaves.
func (p Process) File(name string) string { return filepath.Join(p.Dir, name) }

// up starts it unless it runs, and prints how to reach it.
func (p Process) up(ctx context.Context, args []string) error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	if p.pid() == 0 {
		if err := p.start(ctx, args); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(p.File(p.Env))
	_, unprinted := fmt.Fprintf(os.Stdout, "%s# log: %s\n", text, p.File("log"))
	return errors.Join(err, unprinted)
}

func (p Process) start(ctx context.Context, args []string) error {
	if err := os.Remove(p.File(p.Env)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.Create(p.File("log"))
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
		if _, err := os.Stat(p.File(p.Env)); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			said, unread := os.ReadFile(p.File("log"))
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
	if err := os.WriteFile(p.File("pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	part := p.File(p.Env + ".part")
	return errors.Join(os.WriteFile(part, []byte(env), 0o600), os.Rename(part, p.File(p.Env)))
}

// Ended takes away what says that it serves.
func (p Process) Ended() error {
	return errors.Join(os.Remove(p.File("pid")), os.Remove(p.File(p.Env)))
}

// pid is the process that runs; 0: none does. An id may have become another's since.
func (p Process) pid() int {
	text, err := os.ReadFile(p.File("pid"))
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

// down ends it and waits until it is gone.
func (p Process) down(ctx context.Context) error {
	pid := p.pid()
	if pid == 0 {
		_, err := fmt.Fprintln(os.Stdout, "it does not run")
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for running(pid) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	_, err := fmt.Fprintln(os.Stdout, "stopped")
	return err
}

// running reports whether there is a process, which takes its files away before it ends.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
