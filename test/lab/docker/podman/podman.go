// Package podman runs podman as a daemon with the API of Docker, whose images are made from those of the Kubernetes
// lab: nodes with systemd, containerd and kubeadm, and HAProxy. It needs root, podman, runc, netavark and iptables.
package podman

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairlead.dev/test/lab/kubernetes/images"
)

// BalancerTag is the tag of the image of a load balancer, which is called haproxy.
const BalancerTag = "lab"

const (
	repository = "localhost"
	balancer   = repository + "/haproxy:" + BalancerTag
)

// Repository is that of the image of a load balancer, for spec.loadBalancer.imageRepository.
func Repository() string { return repository }

// Node returns the node image with that version of Kubernetes.
func Node(version string) string { return repository + "/node:" + version }

// A Daemon is a podman that serves, in a folder of its own:
//
//	podman.sock   the API of Docker
//	log           what it logged
//	containers    images and containers
type Daemon struct {
	dir     string
	lock    *os.File // is held as long as it serves: another one would remove its containers
	service *exec.Cmd
	ended   chan struct{}
}

// Start starts a daemon in the folder dir, after it made its images unless they are there. Containers that a
// former one left are removed. progress receives what takes long.
func Start(ctx context.Context, dir string, progress io.Writer) (*Daemon, error) {
	for _, p := range []string{"podman", "runc", "iptables"} { // netavark calls iptables
		if _, err := exec.LookPath(p); err != nil {
			return nil, fmt.Errorf("the lab of Docker needs %s: apt-get install --no-install-recommends podman runc netavark iptables", p)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d := &Daemon{dir: dir}
	if d.lock, err = os.OpenFile(d.file("lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("a podman runs in %s already: end it, such as with make lab-docker-down: %w", dir, err), d.lock.Close())
	}
	if err := errors.Join(os.WriteFile(d.file("containers.conf"), []byte(config(dir)), 0o600), os.WriteFile(d.file("runtime"), []byte(runtime), 0o700)); err != nil {
		return nil, err
	}
	if err := d.removeContainers(ctx); err != nil {
		return nil, err
	}
	if err := d.makeImages(ctx, progress); err != nil {
		return nil, err
	}
	return d, d.serve(ctx)
}

// config returns the settings of podman. runc runs in each layout of control groups.
func config(dir string) string {
	return fmt.Sprintf(`[engine]
runtime = "lab"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = %q
[engine.runtimes]
lab = [%q]
[network]
network_backend = "netavark"
network_config_dir = %q
`, filepath.Join(dir, "tmp"), filepath.Join(dir, "runtime"), filepath.Join(dir, "networks"))
}

func (d *Daemon) file(name string) string { return filepath.Join(d.dir, name) }

// Host is what DOCKER_HOST is set to.
func (d *Daemon) Host() string { return "unix://" + d.file("podman.sock") }

func (d *Daemon) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "podman", append([]string{"--root", d.file("containers"), "--runroot", d.file("run")}, args...)...)
	c.Env = append(os.Environ(), "CONTAINERS_CONF="+d.file("containers.conf"))
	return c
}

// Podman runs a command of podman on the daemon's containers, and returns its output.
func (d *Daemon) Podman(ctx context.Context, args ...string) (string, error) {
	var said strings.Builder
	c := d.command(ctx, args...)
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("podman %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

func (d *Daemon) removeContainers(ctx context.Context) error {
	_, err := d.Podman(ctx, "rm", "--all", "--force", "--volumes", "--time", "0")
	return err
}

// serve starts the service, and returns when it answers.
func (d *Daemon) serve(ctx context.Context) error {
	log, err := os.OpenFile(d.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	socket := d.file("podman.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	d.service = d.command(context.WithoutCancel(ctx), "system", "service", "--time=0", "unix://"+socket)
	d.service.Stdout, d.service.Stderr = log, log
	if err := d.service.Start(); err != nil {
		return err
	}
	d.ended = make(chan struct{})
	go func() {
		_ = d.service.Wait() // its log says why
		close(d.ended)
	}()
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case <-d.ended:
			said, err := os.ReadFile(log.Name())
			return errors.Join(fmt.Errorf("podman ended: %s", said), err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), d.end())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (d *Daemon) end() error {
	if err := d.service.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-d.ended
	return nil
}

// Restart ends the service and starts it again. Containers run on, as they do with live-restore of Docker.
func (d *Daemon) Restart(ctx context.Context) error {
	if err := d.end(); err != nil {
		return err
	}
	return d.serve(ctx)
}

// Stop removes all containers and ends the service. Its images stay.
func (d *Daemon) Stop(ctx context.Context) error {
	return errors.Join(d.removeContainers(ctx), d.end(), d.lock.Close())
}

var (
	//go:embed image/entrypoint
	entrypoint string
	//go:embed image/runtime
	runtime string
)

// makeImages makes a node image for each version of the lab, and the image of a load balancer.
func (d *Daemon) makeImages(ctx context.Context, progress io.Writer) error {
	set, err := images.Current()
	if err != nil {
		return err
	}
	from := fmt.Sprintf("from=%x", sha256.Sum256([]byte(strings.Join([]string{set.Rootfs, set.Node, set.Store, entrypoint}, "\n"))))
	derived := map[string][]string{balancer: {`ENTRYPOINT ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]`}}
	for _, v := range set.Versions {
		derived[Node(v)] = []string{"ENV KUBERNETES_VERSION=" + v}
	}
	there, err := d.Podman(ctx, "images", "--filter", "label="+from, "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return err
	}
	lines := strings.Fields(there)
	maps.DeleteFunc(derived, func(name string, _ []string) bool { return slices.Contains(lines, name) })
	if len(derived) == 0 {
		return nil
	}
	base := repository + "/node:base"
	_, _ = fmt.Fprintln(progress, "making images of podman: this takes minutes, once") // a message that nothing depends on
	if err := d.importNode(ctx, set, base, from); err != nil {
		return err
	}
	for name, changes := range derived {
		id, err := d.Podman(ctx, "create", base)
		if err != nil {
			return err
		}
		args := []string{"commit", "--quiet"}
		for _, c := range changes {
			args = append(args, "--change", c)
		}
		if _, err := d.Podman(ctx, append(args, id, name)...); err != nil {
			return err
		}
		if _, err := d.Podman(ctx, "rm", id); err != nil {
			return err
		}
	}
	_, err = d.Podman(ctx, "image", "prune", "--force") // those that these replace
	return err
}

// importNode imports what machines of the Kubernetes lab are made of as one image.
func (d *Daemon) importNode(ctx context.Context, set images.Set, name, label string) error {
	work, err := os.MkdirTemp(d.dir, "image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	for _, part := range []struct{ from, to string }{{set.Rootfs, ""}, {set.Node, ""}, {set.Store, "var/lib/containerd"}} { // a node's files replace those of the root filesystem
		to := filepath.Join(work, part.to)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, "cp", "--archive", "--remove-destination", "--reflink=auto", part.from+"/.", to).CombinedOutput(); err != nil {
			return fmt.Errorf("copy %s: %w: %s", part.from, err, out)
		}
	}
	for name, text := range map[string]string{"usr/local/sbin/entrypoint": entrypoint, "usr/local/etc/haproxy/haproxy.cfg": ""} {
		path := filepath.Join(work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			return err
		}
	}
	tar := exec.CommandContext(ctx, "tar", "--numeric-owner", "-C", work, "-c", ".")
	load := d.command(ctx, "import", "--quiet", "--change", `ENTRYPOINT ["/usr/local/sbin/entrypoint"]`, "--change", "LABEL "+label, "-", name)
	var said strings.Builder
	tar.Stderr, load.Stderr = &said, &said
	if load.Stdin, err = tar.StdoutPipe(); err != nil {
		return err
	}
	if err := tar.Start(); err != nil {
		return err
	}
	if err := errors.Join(load.Run(), tar.Wait()); err != nil {
		return fmt.Errorf("import %s: %w: %s", name, err, said.String())
	}
	return nil
}
