package vm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"fairlead.dev/test/lab/kubernetes/images"
)

const program = "qemu-system-x86_64"

// A machine is a process of QEMU.
type machine struct {
	vm       images.VM
	seed     string    // file: the disk with the seed
	port     int       // of its API server, which is forwarded from the same one on loopback
	progress io.Writer // gets its console

	mu      sync.Mutex
	started time.Time
	moments map[string]time.Duration // after the start, by the part of a line of the console that tells of it
}

// moments returns what the console tells of, in order.
func moments() []string {
	return []string{"Linux version", "systemd[1]: Detected", "running 'init'", "running 'modules:final'", "finished at"}
}

// patience is how long a kernel may take to say a first word where it runs at all.
const patience = time.Minute

// kvm reports whether this host can run machines by itself. There are hosts that have
// the device and are machines of somebody whose hypervisor lets no guest of theirs
// live: so a kernel is started without a disk, which says its version and gives up.
func (m *machine) kvm(ctx context.Context) bool {
	if _, err := os.Stat("/dev/kvm"); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := exec.CommandContext(ctx, program, "-M", "q35", "-accel", "kvm", "-cpu", "host", "-m", "512", "-display", "none", "-nodefaults", "-no-reboot",
		"-kernel", m.vm.Kernel, "-append", "console=ttyS0 panic=-1", "-serial", "stdio")
	out, _ := c.Output()
	return bytes.Contains(out, []byte(moments()[0]))
}

// run runs the machine until ctx ends, and returns an error where it ends before.
func (m *machine) run(ctx context.Context, accelerate bool) error {
	accel, cpu := "tcg,thread=multi", "Westmere" // newer ones have vectors, whose emulation is slower than doing without
	if accelerate {
		accel, cpu = "kvm", "host"
	}
	c := exec.CommandContext(ctx, program, "-M", "q35", "-accel", accel, "-cpu", cpu, "-smp", "2", "-m", "3072",
		"-display", "none", "-nodefaults", "-no-reboot",
		"-kernel", m.vm.Kernel, "-initrd", m.vm.Initrd,
		"-append", "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off systemd.unified_cgroup_hierarchy=1",
		"-drive", "file="+m.vm.Disk+",if=virtio,format=raw,snapshot=on,cache=unsafe",
		"-drive", "file="+m.seed+",if=virtio,format=raw,readonly=on",
		"-netdev", fmt.Sprintf("user,id=n0,hostfwd=tcp:127.0.0.1:%d-:%d", m.port, m.port), "-device", "virtio-net-pci,netdev=n0",
		"-device", "virtio-rng-pci", "-serial", "stdio")
	c.Stderr = m.progress
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.started, m.moments = time.Now(), make(map[string]time.Duration)
	m.mu.Unlock()
	if err := c.Start(); err != nil {
		return fmt.Errorf("cannot start a machine: %w (apt-get install qemu-system-x86)", err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Fprintln(m.progress, lines.Text())
		m.hear(lines.Text())
	}
	err = c.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(errors.New("the machine switched itself off"), err)
}

func (m *machine) hear(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, part := range moments() {
		if _, heard := m.moments[part]; !heard && strings.Contains(line, part) {
			m.moments[part] = time.Since(m.started)
		}
	}
}

// heard returns how long after the start each reported moment came.
func (m *machine) heard() map[string]time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]time.Duration)
	for part, after := range m.moments {
		out[part] = after
	}
	return out
}
