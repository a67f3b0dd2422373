package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Machine is one machine of a lab.
type Machine struct {
	Name    string // m1, m2, …; its host name
	Address string // of its network card, IPv4

	lab *Lab
	dir string
}

func (l *Lab) machine(n int) *Machine {
	name := "m" + strconv.Itoa(n)
	return &Machine{Name: name, Address: prefix + strconv.Itoa(first+n), lab: l, dir: filepath.Join(l.dir, name)}
}

func (m *Machine) namespace() string { return m.lab.Namespace() + "-" + m.Name }
func (m *Machine) hostKey() string   { return filepath.Join(m.dir, "ssh_host_ed25519_key") }

// HostKey returns the key of the machine's sshd as a line of known_hosts.
func (m *Machine) HostKey() (string, error) {
	public, err := publicKey(m.hostKey())
	return m.Address + " " + string(public), err
}

// Console returns the end of what the machine said on its console.
func (m *Machine) Console() string {
	b, err := os.ReadFile(filepath.Join(m.dir, "console.log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4096):])
}

// On says whether the machine is on.
func (m *Machine) On() bool { return m.state().Supervisor.alive() }

// Start switches the machine on, with the disk that it has, and returns when its
// sshd answers. A machine that is on stays on.
func (m *Machine) Start(ctx context.Context) error {
	if !m.On() {
		if err := m.switchOn(ctx); err != nil {
			return err
		}
	}
	return m.ready(ctx)
}

// switchOn starts the machine's supervisor, which starts the machine.
func (m *Machine) switchOn(ctx context.Context) error {
	if err := errors.Join(m.removeCgroups(), m.unplug()); err != nil {
		return err
	}
	if err := m.plug(ctx); err != nil {
		return err
	}
	if err := os.Remove(m.file("state.json")); err != nil && !os.IsNotExist(err) {
		return err
	}
	console, err := os.OpenFile(m.file("console.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = console.Close() }()
	c := exec.Command("/proc/self/exe")
	c.Args = []string{supervisorName, m.dir, m.namespace()}
	c.Stdout, c.Stderr = console, console
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // no other process buries it while this one lives
		close(ended)
	}()
	if err := until(ctx, func() error {
		if m.state().Init.PID != 0 {
			return nil
		}
		select {
		case <-ended:
			return errOff
		default:
			return errors.New("it does not start")
		}
	}); err != nil {
		return fmt.Errorf("machine %s: %w; its console:\n%s", m.Name, err, m.Console())
	}
	return nil
}

// ready waits until sshd answers.
func (m *Machine) ready(ctx context.Context) error {
	err := until(ctx, func() error {
		if !m.On() {
			return errOff
		}
		conn, err := m.lab.Dial(ctx, "tcp", m.Address+":22")
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		_, err = io.ReadFull(conn, make([]byte, 4)) // SSH-
		return err
	})
	if err != nil {
		return fmt.Errorf("machine %s does not answer on the port of SSH: %w; its console:\n%s", m.Name, err, m.Console())
	}
	return nil
}

// Kill pulls the plug: no process of the machine gets to say a word. Its disk
// stays.
func (m *Machine) Kill() error {
	s := m.state()
	if err := errors.Join(s.Supervisor.kill(), s.Init.kill()); err != nil {
		return fmt.Errorf("cannot switch off %s: %w", m.Name, err)
	}
	return errors.Join(m.removeCgroups(), m.unplug())
}

// Wipe switches the machine off and gives it a new disk. Its keys stay.
func (m *Machine) Wipe() error {
	if err := m.Kill(); err != nil {
		return err
	}
	return m.makeDisk()
}

// Seed lays user data, and the name that the machine gets, where cloud-init finds them
// when the machine starts the next time; it must be off. cloud-init acts on them if id is
// new to the machine.
func (m *Machine) Seed(id, hostname string, userData []byte) error {
	if m.On() {
		return fmt.Errorf("machine %s is on: its disk cannot be written to from outside", m.Name)
	}
	seed := "var/lib/cloud/seed/nocloud/"
	meta := fmt.Sprintf("instance-id: %s\nlocal-hostname: %s\n", id, hostname)
	return errors.Join(m.write(seed+"user-data", userData, 0o600), m.write(seed+"meta-data", []byte(meta), 0o644))
}

// Command returns a command that runs in the machine as root, with the
// environment of a login and without a network between.
func (m *Machine) Command(ctx context.Context, args ...string) *exec.Cmd {
	enter := []string{
		"--target", strconv.Itoa(m.state().Init.PID), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--",
		"/usr/bin/env", "-i", path, "HOME=/root", "LANG=C.UTF-8", "KUBECONFIG=/etc/kubernetes/admin.conf",
	}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// Exec runs a command in the machine and returns what it prints. An error has
// what it printed on its standard error.
func (m *Machine) Exec(ctx context.Context, args ...string) (string, error) {
	if !m.On() {
		return "", fmt.Errorf("machine %s is off", m.Name)
	}
	c := m.Command(ctx, args...)
	var out, complaint bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaint
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s on %s: %w: %s", strings.Join(args, " "), m.Name, err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

func (m *Machine) file(name string) string { return filepath.Join(m.dir, name) }

// errOff says that a machine went off while something was waited for on it.
var errOff = errors.New("it went off")

// until calls try every 50 ms until it succeeds, or the machine goes off, or ctx
// ends, and returns its last error then.
func until(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || errors.Is(err, errOff) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
