package main

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

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// A process is the vCenter that runs in the background, with the files that it leaves:
//
//	pid          its process
//	vcenter.env  how to reach it, for a shell and for govc
//	log          what it said
type process struct{ dir string }

func (p process) file(name string) string { return filepath.Join(p.dir, name) }

// up starts it unless it runs, and prints how to reach it.
func (p process) up(ctx context.Context, args []string) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if p.pid() == 0 {
		if err := p.start(ctx, args); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(p.file("vcenter.env"))
	fmt.Print(string(text))
	fmt.Println("# log: " + p.file("log"))
	return err
}

func (p process) start(ctx context.Context, args []string) error {
	if err := os.Remove(p.file("vcenter.env")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.Create(p.file("log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command("/proc/self/exe", append([]string{"serve"}, args...)...) // it outlives this call
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		if _, err := os.Stat(p.file("vcenter.env")); err == nil {
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

// ready says how to reach v, when it serves.
func (p process) ready(v *vspheretest.VCenter) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	text := fmt.Sprintf(`export VSPHERE_SERVER=%s
export VSPHERE_USERNAME=%s
export VSPHERE_PASSWORD='%s'
export VSPHERE_THUMBPRINT=%s
export GOVC_URL=https://$VSPHERE_SERVER/sdk GOVC_USERNAME=$VSPHERE_USERNAME GOVC_PASSWORD=$VSPHERE_PASSWORD GOVC_INSECURE=1
`, v.Server(), vspheretest.Administrator, vspheretest.Password, v.Thumbprint())
	if err := os.WriteFile(p.file("pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	part := p.file("vcenter.env.part")
	return errors.Join(os.WriteFile(part, []byte(text), 0o600), os.Rename(part, p.file("vcenter.env")))
}

// ended takes away what says that it serves.
func (p process) ended() error {
	return errors.Join(os.Remove(p.file("pid")), os.Remove(p.file("vcenter.env")))
}

// pid is the process that runs; 0: none does. An id may have become another's since.
func (p process) pid() int {
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

// down ends it and waits until it is gone.
func (p process) down(ctx context.Context) error {
	pid := p.pid()
	if pid == 0 {
		fmt.Println("it does not run")
		return nil
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
	fmt.Println("stopped")
	return nil
}
