// Package hoststest makes hosts for tests: each has namespaces and folders of its
// own, a real sshd, and a fake kubeadm. They behave as badly as real ones: they
// refuse, hang, lose connections in the middle, restart, and run out of disk.
package hoststest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	_ "embed"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
)

//go:embed boot.sh
var boot string

// A World is a group of hosts that let one key in.
type World struct {
	t   testing.TB
	dir string
	// PrivateKey lets root in on every host; PublicKey is its other half.
	PrivateKey []byte
	PublicKey  string
}

// New returns a world without hosts. It skips the test where no hosts can be made:
// that takes root, for namespaces, and sshd.
func New(t testing.TB) *World {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("hosts are made of namespaces, which takes root")
	}
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skip("hosts need sshd: apt-get install openssh-server")
	}
	w := &World{t: t, dir: t.TempDir()}
	w.PrivateKey, w.PublicKey = NewKey(t, "")
	return w
}

// NewKey returns a private key, locked with passphrase unless that is empty, and the
// public one as a line of authorized_keys.
func NewKey(t testing.TB, passphrase string) (private []byte, public string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line)))
}

// Host makes and boots a host. Options are variables of boot.sh: "DISK=64k" is the
// room that Fairlead has on its disk, "CLOUDINIT=no" hides cloud-init, "HAPROXY=no" HAProxy.
func (w *World) Host(name string, options ...string) *Host {
	w.t.Helper()
	return w.boot(&Host{w: w, Name: name, dir: filepath.Join(w.dir, name), options: options})
}

// Bastion makes and boots a host that reaches the others, in the network of the test.
// Nothing but forwarding is for it.
func (w *World) Bastion(name string) *Host {
	w.t.Helper()
	return w.boot(&Host{w: w, Name: name, dir: filepath.Join(w.dir, name), outside: true})
}

// context does not end before the hosts do, which is when the test was cleaned up.
func (w *World) context() context.Context { return context.WithoutCancel(w.t.Context()) }

func (w *World) boot(h *Host) *Host {
	w.t.Helper()
	for _, sub := range []string{"etc", "var-lib", "var-log", "root", "home", "opt", "sbin", "tmp"} {
		if err := os.MkdirAll(filepath.Join(h.dir, sub), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	h.NewHostKey()
	l, err := new(net.ListenConfig).Listen(w.context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	h.listener, h.Port = l, l.Addr().(*net.TCPAddr).Port
	h.serving.Go(h.serve)
	w.t.Cleanup(func() {
		_ = h.listener.Close()
		h.Off()
		h.serving.Wait()
	})
	h.On()
	return h
}

// A Host is one machine. Its address is 127.0.0.1.
type Host struct {
	w       *World
	Name    string
	Port    int
	dir     string
	options []string
	outside bool // in the network of the test
	public  string

	listener net.Listener
	serving  sync.WaitGroup

	mu    sync.Mutex
	init  *exec.Cmd // nil while it is off
	conns map[net.Conn]bool
	fault Fault
	made  int // connections, so far
}

// NewHostKey gives the host another key, as an installation does.
func (h *Host) NewHostKey() {
	h.w.t.Helper()
	private, public := NewKey(h.w.t, "")
	h.public = public
	if err := os.MkdirAll(filepath.Join(h.dir, "etc/ssh"), 0o755); err != nil {
		h.w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "etc/ssh/test_key"), private, 0o600); err != nil {
		h.w.t.Fatal(err)
	}
}

// KnownHosts is the line of a known_hosts file for the host.
func (h *Host) KnownHosts() string { return fmt.Sprintf("[127.0.0.1]:%d %s\n", h.Port, h.public) }

// Path returns where a file of the host is: one below /etc, /var/lib, /root, /home,
// /opt or /usr/local/sbin.
func (h *Host) Path(path string) string {
	for from, to := range map[string]string{
		"/etc/": "etc", "/var/lib/": "var-lib", "/var/log/": "var-log", "/root/": "root", "/home/": "home", "/opt/": "opt", "/usr/local/sbin/": "sbin",
	} {
		if rest, ok := strings.CutPrefix(path, from); ok {
			return filepath.Join(h.dir, to, rest)
		}
	}
	h.w.t.Fatalf("%s is none of the host's own files", path)
	return ""
}

// Read returns the content of a file; "" where there is none.
func (h *Host) Read(path string) string {
	b, err := os.ReadFile(h.Path(path))
	if err != nil && !os.IsNotExist(err) {
		h.w.t.Error(err)
	}
	return string(b)
}

// Write writes a file that its root could write.
func (h *Host) Write(path, content string) {
	h.w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.Path(path)), 0o755); err != nil {
		h.w.t.Fatal(err)
	}
	if err := os.WriteFile(h.Path(path), []byte(content), 0o755); err != nil {
		h.w.t.Fatal(err)
	}
}

// On boots the host, and returns when it takes connections.
func (h *Host) On() {
	h.w.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	cmd := exec.CommandContext(h.w.context(), "/bin/sh", "-c", boot)
	cmd.Env = append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ROOT=" + h.dir, "NAME=" + h.Name, "KEY=" + h.w.PublicKey,
	}, h.options...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	if !h.outside {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.w.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		h.w.t.Fatalf("cannot boot host %s: %v", h.Name, err)
	}
	ready := make([]byte, 3)
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "up\n" {
		h.w.t.Fatalf("host %s does not boot: %v", h.Name, err)
	}
	h.init, h.conns = cmd, make(map[net.Conn]bool)
}

// Off takes the power away. Everything that ran on the host is gone, its disk stays.
func (h *Host) Off() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.init == nil {
		return
	}
	_ = h.init.Process.Kill()
	_ = h.init.Wait()
	h.init = nil
	for c := range h.conns {
		_ = c.Close()
	}
}

// Exec runs a command of shell on the host, not over SSH.
func (h *Host) Exec(command string) string {
	h.w.t.Helper()
	cmd, err := h.enter("/bin/sh", "-c", command)
	if err != nil {
		h.w.t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.w.t.Logf("host %s: %s: %v\n%s", h.Name, command, err, out)
	}
	return string(out)
}

// enter returns a command in the namespaces of the host.
func (h *Host) enter(args ...string) (*exec.Cmd, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.init == nil {
		return nil, fmt.Errorf("host %s is off", h.Name)
	}
	pid := fmt.Sprint(h.init.Process.Pid)
	where := []string{"--target", pid, "--mount", "--uts", "--ipc", "--pid", "--wd=/"}
	if !h.outside {
		where = append(where, "--net")
	}
	cmd := exec.CommandContext(h.w.context(), "nsenter", append(append(where, "--"), args...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	return cmd, nil
}

// Remove removes files of the host.
func (h *Host) Remove(paths ...string) {
	h.w.t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(h.Path(path)); err != nil {
			h.w.t.Fatal(err)
		}
	}
}

// Connections returns how many connections to the host there were.
func (h *Host) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.made
}
