package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func TestMain(m *testing.M) {
	Hook()
	if os.Getenv("FAIRLEAD_TEST_LAB_CRASH") != "" {
		crash()
	}
	os.Exit(m.Run())
}

// crash is a test that is killed while its lab is up.
func crash() {
	if _, err := Up(context.Background(), Options{Name: "crash", Machines: 1}); err != nil {
		panic(err)
	}
	_ = processOf(os.Getpid()).kill()
}

// up makes a lab for a test.
func up(t *testing.T, name string, machines int) (context.Context, *Lab) {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_LAB") == "" {
		t.Skip("it needs root and images: `make test-lab` runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	l, err := Up(ctx, Options{Name: name, Machines: machines})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
		nothingLeft(t, name)
	})
	return ctx, l
}

// nothingLeft checks that the host has nothing of a lab.
func nothingLeft(t *testing.T, name string) {
	t.Helper()
	if left, _ := filepath.Glob("/run/netns/fairlead-" + name + "*"); len(left) > 0 {
		t.Errorf("networks are left: %v", left)
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil || bytes.Contains(mounts, []byte("/labs/"+name+"/")) {
		t.Errorf("mounts are left: %v", err)
	}
	var left []string
	all, err := hierarchies()
	for _, h := range all {
		dirs, _ := filepath.Glob(filepath.Join(h.mount, h.own, "fairlead-lab", name+"-*"))
		left = append(left, dirs...)
	}
	if err != nil || len(left) > 0 {
		t.Errorf("control groups are left: %v, %v", left, err)
	}
}

func exec1(t *testing.T, ctx context.Context, m *Machine, args ...string) string {
	t.Helper()
	out, err := m.Exec(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// What a machine is to who gets it: a Debian to log in to as root, with a kernel
// that it cannot change, and the programs of Kubernetes.
func TestMachine(t *testing.T) {
	ctx, l := up(t, "machine", 2)
	host, err := os.ReadFile("/proc/sys/kernel/panic")
	if err != nil {
		t.Fatal(err)
	}
	m, other := l.Machines()[0], l.Machines()[1]
	if got := login(t, ctx, l, m, "hostname; ping -c1 -W5 "+other.Address+" >/dev/null && echo reached"); got != "m1\nreached\n" {
		t.Errorf("over SSH: %q", got)
	}
	for _, unit := range []string{"ssh", "containerd", "dbus"} {
		if got := exec1(t, ctx, m, "systemctl", "is-active", unit); got != "active" {
			t.Errorf("%s is %s", unit, got)
		}
	}
	if got := exec1(t, ctx, m, "kubeadm", "version", "-o", "short"); got != l.Versions()[0] {
		t.Errorf("kubeadm is %s, want %s", got, l.Versions()[0])
	}
	older := l.Versions()[len(l.Versions())-1]
	exec1(t, ctx, m, "use-kubernetes", older)
	if got := exec1(t, ctx, m, "kubeadm", "version", "-o", "short"); got != older {
		t.Errorf("kubeadm is %s after use-kubernetes %s", got, older)
	}
	if _, err := m.Exec(ctx, "use-kubernetes", "v1.0.0"); err == nil || !strings.Contains(err.Error(), older) {
		t.Errorf("a version that there is not: %v, want those that there are", err)
	}
	if got := exec1(t, ctx, m, "sh", "-c", "sysctl -n kernel.panic; echo 3 > /proc/sys/vm/drop_caches || echo refused"); got != "10\nrefused" {
		t.Errorf("settings of the kernel: %q", got)
	}
	if now, err := os.ReadFile("/proc/sys/kernel/panic"); err != nil || !bytes.Equal(now, host) {
		t.Errorf("the host's kernel.panic was %s and is %s, %v", host, now, err)
	}
	if got := exec1(t, ctx, m, "cloud-init", "status", "--wait"); !strings.Contains(got, "done") {
		t.Errorf("cloud-init: %s", got)
	}
	for _, image := range []string{"kube-apiserver:" + l.Versions()[0], "kube-proxy:" + older, "pause:"} {
		if got := exec1(t, ctx, m, "ctr", "-n", "k8s.io", "images", "ls", "-q"); !strings.Contains(got, image) {
			t.Errorf("there is no image %s among\n%s", image, got)
		}
	}
}

// login runs a command over SSH with the lab's key and the machine's host key.
func login(t *testing.T, ctx context.Context, l *Lab, m *Machine, command string) string {
	t.Helper()
	line, err := m.HostKey()
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	check, err := knownhosts.New(known)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(l.Key)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Dial(ctx, "tcp", m.Address+":22")
	if err != nil {
		t.Fatal(err)
	}
	c, channels, requests, err := ssh.NewClientConn(conn, m.Address+":22", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: check, HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(c, channels, requests)
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.CombinedOutput(command)
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

// A disk outlives the plug and a reboot, and not a wipe.
func TestPower(t *testing.T) {
	ctx, l := up(t, "power", 1)
	m := l.Machines()[0]
	exec1(t, ctx, m, "sh", "-c", "echo kept > /root/file; sync")
	before := m.state()
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if m.On() || before.Init.alive() {
		t.Fatal("it is on after the plug was pulled")
	}
	if _, err := m.Exec(ctx, "true"); err == nil || !strings.Contains(err.Error(), "off") {
		t.Errorf("a command on a machine that is off: %v", err)
	}
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := exec1(t, ctx, m, "cat", "/root/file"); got != "kept" {
		t.Errorf("the disk has %q", got)
	}

	boot := m.state().Init
	_, _ = m.Exec(ctx, "systemctl", "reboot", "--force", "--force") // it ends with the machine
	if err := until(ctx, func() error {
		if now := m.state().Init; now == boot || !now.alive() {
			return errors.New("it does not boot again")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := m.ready(ctx); err != nil {
		t.Fatal(err)
	}
	if got := exec1(t, ctx, m, "cat", "/root/file"); got != "kept" {
		t.Errorf("after a reboot the disk has %q", got)
	}

	if err := m.Wipe(); err != nil {
		t.Fatal(err)
	}
	if err := m.Seed("first", m.Name, []byte("#cloud-config\nwrite_files:\n- path: /root/seeded\n  content: by cloud-init\n")); err != nil {
		t.Fatal(err)
	}
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	exec1(t, ctx, m, "cloud-init", "status", "--wait")
	if got := exec1(t, ctx, m, "sh", "-c", "cat /root/seeded; echo; ls /root/file 2>/dev/null || echo none"); got != "by cloud-init\nnone" {
		t.Errorf("after a wipe: %q", got)
	}
	if err := m.Seed("second", m.Name, nil); err == nil || !strings.Contains(err.Error(), "is on") {
		t.Errorf("a seed for a machine that is on: %v", err)
	}
}

// What a killed test leaves is removed by the next of the same name, and nobody
// takes a lab that is in use.
func TestLeftovers(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_LAB") == "" {
		t.Skip("it needs root and images: `make test-lab` runs it")
	}
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), "FAIRLEAD_TEST_LAB_CRASH=1")
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("it was to be killed: %v: %s", err, said.String())
	}
	l, err := View("crash")
	if err != nil {
		t.Fatal(err)
	}
	left := l.Machines()[0].state()
	if !left.Init.alive() {
		t.Fatal("nothing is left to remove")
	}
	_, again := up(t, "crash", 0)
	if left.Init.alive() || left.Supervisor.alive() {
		t.Error("machines of a crash go on")
	}
	if _, err := Up(t.Context(), Options{Name: again.Name}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a lab was taken away from a test: %v", err)
	}
}
