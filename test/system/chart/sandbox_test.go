package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// enterVariable holds a confinement, in JSON, for the process that becomes the
// container.
const enterVariable = "FAIRLEAD_TEST_CONTAINER"

// A confinement is what a container runtime takes from a process before it runs
// the program.
type confinement struct {
	Root     string   // which becomes / and can be read alone, where the pod says so
	ReadOnly bool     // as securityContext.readOnlyRootFilesystem has it
	Writable []string // folders in it that a file system in memory is mounted on
	User     int
	Group    int
	Args     []string // program and arguments
	Env      []string
}

// inside returns the command that runs args in root, as the pod's user and as
// its security contexts want it. The command is this test's own program at first.
func inside(root string, writable []string, pod *corev1.Pod, env, args []string) *exec.Cmd {
	security := pod.Spec.Containers[0].SecurityContext
	what, err := json.Marshal(confinement{
		Root: root, ReadOnly: security != nil && security.ReadOnlyRootFilesystem != nil && *security.ReadOnlyRootFilesystem, Writable: writable,
		User: int(*pod.Spec.SecurityContext.RunAsUser), Group: int(*pod.Spec.SecurityContext.RunAsGroup), Args: args, Env: env,
	})
	if err != nil {
		panic(err) // there is nothing in it that JSON does not know
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{enterVariable + "=" + string(what)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd
}

// enter makes this process, which has mounts of its own, the program of its
// confinement. It returns only where it cannot.
func enter() error {
	runtime.LockOSThread() // some of what follows is about one thread
	var c confinement
	if err := json.Unmarshal([]byte(os.Getenv(enterVariable)), &c); err != nil {
		return err
	}
	proc := filepath.Join(c.Root, "proc") // as each container has it, where the image has none
	if err := os.MkdirAll(proc, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(c.Root, c.Root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind the root: %w", err)
	}
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount %s: %w", proc, err)
	}
	if c.ReadOnly {
		if err := unix.Mount("", c.Root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			return fmt.Errorf("make the root read-only: %w", err)
		}
	}
	for _, dir := range c.Writable {
		if err := unix.Mount("tmpfs", filepath.Join(c.Root, dir), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,mode=1777"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"chroot", func() error { return unix.Chroot(c.Root) }},
		{"chdir", func() error { return unix.Chdir("/") }},
		{"setgroups", func() error { return syscall.Setgroups(nil) }},
		{"setgid", func() error { return syscall.Setgid(c.Group) }},
		{"setuid", func() error { return syscall.Setuid(c.User) }},
		{"gain no privileges", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"end with the test", func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return fmt.Errorf("run %s: %w", c.Args[0], unix.Exec(c.Args[0], c.Args, c.Env))
}

// confined says in what a process has more than its pod's security contexts
// leave it.
func confined(pid int, pod *corev1.Pod) error {
	proc := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return err
	}
	user := *pod.Spec.SecurityContext.RunAsUser
	for _, want := range []string{fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", user), "Groups:\t", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !regexp.MustCompile(`(?m)^` + want + `\s*$`).Match(status) {
			return fmt.Errorf("the process lacks %q: %s", want, status)
		}
	}
	mounts, err := os.ReadFile(proc + "mountinfo") // fields: proc_pid_mountinfo(5)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[4] == "/" && strings.HasPrefix(f[5], "ro") {
			return nil
		}
	}
	return fmt.Errorf("the root of the process can be written to: %s", mounts)
}
