package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// path is what processes of a machine search.
const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// sysctls returns settings of the whole kernel that the kubelet insists on. A
// machine sees them as they should be, and the host's stay unchanged.
func sysctls() map[string]string {
	return map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	}
}

// boot makes the calling process the first one of the machine of a folder: it
// has namespaces of its own but that of control groups, and is in its groups
// once the supervisor says so on file 3.
func boot(dir string) error {
	runtime.LockOSThread()
	if _, err := io.ReadFull(os.NewFile(3, "start"), make([]byte, 2)); err != nil {
		return fmt.Errorf("the supervisor ended: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("cannot make a namespace of control groups: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "disk.json"))
	if err != nil {
		return err
	}
	var d disk
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(d.Name)); err != nil {
		return err
	}
	groups, err := hierarchies()
	if err != nil {
		return err
	}
	s := &stage{root: filepath.Join(dir, "root")}
	s.mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	s.mount("overlay", s.root, "overlay", 0, fmt.Sprintf("lowerdir=%s:%s,upperdir=%s/upper,workdir=%s/work", d.Node, d.Rootfs, dir, dir))
	s.dir("var/lib/containerd")
	s.bind(filepath.Join(dir, "containerd"), "var/lib/containerd")
	s.kernel()
	s.cgroups(groups)
	s.devices(filepath.Join(dir, "console.log"))
	s.mount("tmpfs", s.at("tmp"), "tmpfs", 0, "mode=1777")
	s.pivot()
	if s.err != nil {
		return s.err
	}
	return unix.Exec("/lib/systemd/systemd", []string{"systemd", "--show-status=yes"}, []string{"container=lab", path})
}

// A stage is the root of a machine before anything runs in it. The first error
// stays, and nothing is done after it.
type stage struct {
	root string
	err  error
}

func (s *stage) at(name string) string { return filepath.Join(s.root, name) }

func (s *stage) try(what string, f func() error) {
	if s.err != nil {
		return
	}
	if err := f(); err != nil {
		s.err = fmt.Errorf("cannot %s: %w", what, err)
	}
}

func (s *stage) mount(source, target, kind string, flags uintptr, data string) {
	s.try("mount "+source+" on "+target, func() error { return unix.Mount(source, target, kind, flags, data) })
}

func (s *stage) bind(source, name string) { s.mount(source, s.at(name), "", unix.MS_BIND, "") }

func (s *stage) readOnly(name string) {
	s.mount("none", s.at(name), "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

func (s *stage) dir(name string) {
	s.try("make "+name, func() error { return os.MkdirAll(s.at(name), 0o755) })
}

func (s *stage) file(name, text string) {
	s.try("write "+name, func() error { return os.WriteFile(s.at(name), []byte(text), 0o644) })
}

func (s *stage) link(target, name string) {
	s.try("link "+name, func() error { return os.Symlink(target, s.at(name)) })
}

// kernel mounts what the kernel tells. Settings cannot be changed but those of
// the machine's network.
func (s *stage) kernel() {
	s.mount("proc", s.at("proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	s.mount("tmpfs", s.at("run"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
	s.bind(s.at("proc/sys"), "proc/sys")
	s.bind(s.at("proc/sys/net"), "proc/sys/net")
	s.readOnly("proc/sys")
	if _, err := os.Stat("/proc/sysrq-trigger"); err == nil {
		s.bind(s.at("proc/sysrq-trigger"), "proc/sysrq-trigger")
		s.readOnly("proc/sysrq-trigger")
	}
	s.dir("run/lab-sysctl")
	for name, value := range sysctls() {
		if _, err := os.Stat(s.at("proc/sys/" + name)); err != nil {
			continue // this kernel is without it
		}
		private := "run/lab-sysctl/" + strings.ReplaceAll(name, "/", ".")
		s.file(private, value+"\n")
		s.bind(s.at(private), "proc/sys/"+name)
	}
	s.mount("sysfs", s.at("sys"), "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// cgroups mounts the hierarchies that the host has. Their roots are the groups
// that this process is in.
func (s *stage) cgroups(all []hierarchy) {
	if all[0].options == "" {
		s.mount("cgroup2", s.at("sys/fs/cgroup"), "cgroup2", 0, "")
		s.readOnly("sys")
		return
	}
	s.mount("tmpfs", s.at("sys/fs/cgroup"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
	for _, h := range all {
		name := filepath.Base(h.mount)
		s.dir("sys/fs/cgroup/" + name)
		if h.options == "" {
			s.mount("cgroup2", s.at("sys/fs/cgroup/"+name), "cgroup2", 0, "")
			continue
		}
		s.mount("cgroup", s.at("sys/fs/cgroup/"+name), "cgroup", 0, h.options)
		for part := range strings.SplitSeq(h.options, ",") {
			if part != name && part != "none" && !strings.HasPrefix(part, "name=") {
				s.link(name, "sys/fs/cgroup/"+part)
			}
		}
	}
	s.readOnly("sys")
}

// devices makes the devices that a machine has: none of the host's hardware.
func (s *stage) devices(console string) {
	s.mount("tmpfs", s.at("dev"), "tmpfs", unix.MS_NOSUID, "mode=755")
	for _, name := range []string{"dev/pts", "dev/shm", "dev/mqueue", "dev/net"} {
		s.dir(name)
	}
	nodes := map[string][2]uint32{
		"null": {1, 3}, "zero": {1, 5}, "full": {1, 7}, "random": {1, 8}, "urandom": {1, 9}, "tty": {5, 0}, "fuse": {10, 229}, "net/tun": {10, 200},
	}
	for name, number := range nodes {
		s.try("make the device "+name, func() error {
			path := s.at("dev/" + name)
			if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(number[0], number[1]))); err != nil {
				return err
			}
			return os.Chmod(path, 0o666)
		})
	}
	s.mount("devpts", s.at("dev/pts"), "devpts", 0, "newinstance,ptmxmode=0666,mode=620,gid=5")
	s.mount("tmpfs", s.at("dev/shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	for name, target := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "kmsg": "null"} {
		s.link(target, "dev/"+name)
	}
	s.file("dev/console", "")
	s.bind(console, "dev/console")
}

// pivot makes the stage the root, and leaves nothing of the host's.
func (s *stage) pivot() {
	s.try("enter the root", func() error {
		if err := unix.Chdir(s.root); err != nil {
			return err
		}
		// The old root lies over the new one, and is taken away.
		if err := unix.PivotRoot(".", "."); err != nil {
			return err
		}
		if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
			return err
		}
		return unix.Chdir("/")
	})
	// Volumes of pods reach into containers.
	s.mount("none", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}
