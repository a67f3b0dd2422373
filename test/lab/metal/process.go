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

	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// A process is the Ironic that runs in the background, with the files that it leaves:
//
//	pid          its process
//	ironic.env   how to reach it, for a shell and for OpenStack's client
//	ca.crt       what its certificate is signed with
//	hosts.yaml   its hosts and their Secrets, as manifests of Metal3
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
	text, err := os.ReadFile(p.file("ironic.env"))
	fmt.Print(string(text))
	fmt.Println("# hosts: " + p.file("hosts.yaml"))
	fmt.Println("# log: " + p.file("log"))
	return err
}

func (p process) start(ctx context.Context, args []string) error {
	if err := os.Remove(p.file("ironic.env")); err != nil && !errors.Is(err, os.ErrNotExist) {
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
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(p.file("ironic.env")); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			said, unread := os.ReadFile(p.file("log"))
			return errors.Join(fmt.Errorf("it ended: %s", bytes.TrimSpace(said)), err, unread)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), c.Process.Kill())
		case <-tick.C:
		}
	}
}

// ready says how to reach i, when it serves.
func (p process) ready(i *metal3test.Ironic, hosts []*metal3test.Host) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	env := fmt.Sprintf(`export OS_AUTH_TYPE=http_basic
export OS_ENDPOINT=%s
export OS_USERNAME=%s
export OS_PASSWORD='%s'
export OS_CACERT=%s
export IMAGE=%s IMAGE_SHA256=%s
export DEPLOY_ISO=%s
`, i.URL(), metal3test.User, metal3test.Password, p.file("ca.crt"), i.ImageURL(), i.ImageSHA256(), i.RamdiskURL())
	var manifests strings.Builder
	for _, h := range hosts {
		fmt.Fprintf(&manifests, manifest, h.Name(), h.Name(), h.BMC(), h.Name(), h.MAC(), h.Name(), metal3test.BMCUser, h.Password())
	}
	part := p.file("ironic.env.part")
	return errors.Join(
		os.WriteFile(p.file("pid"), []byte(strconv.Itoa(os.Getpid())), 0o600),
		os.WriteFile(p.file("ca.crt"), i.CA(), 0o600),
		os.WriteFile(p.file("hosts.yaml"), []byte(manifests.String()), 0o600),
		os.WriteFile(part, []byte(env), 0o600), os.Rename(part, p.file("ironic.env")),
	)
}

// manifest is a host.
const manifest = `---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: %s
  labels:
    host: %s
spec:
  bmc:
    address: %s
    credentialsName: %s-bmc
  bootMACAddress: "%s"
  bootMode: UEFI
  online: true
---
apiVersion: v1
kind: Secret
metadata:
  name: %s-bmc
stringData:
  username: %s
  password: %s
`

// ended takes away what says that it serves.
func (p process) ended() error {
	return errors.Join(os.Remove(p.file("pid")), os.Remove(p.file("ironic.env")))
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
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for running(pid) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	fmt.Println("stopped")
	return nil
}

// running reports whether there is a process, which takes its files away before it ends.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
