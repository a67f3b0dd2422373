package demo_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/agent/wiring/demo"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/driver/cloudconfig/userdata"
	"fairlead.dev/providers/infrastructure/docker"
	"fairlead.dev/providers/infrastructure/docker/dockertest"
	"fairlead.dev/providers/infrastructure/docker/engine"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/test/run/waits"
)

const haproxy = "localhost/haproxy:lab"

// A laptop is a Docker daemon on whose containers Kubernetes runs: that of the in-memory cloud.
type laptop struct {
	*testing.T
	d     *dockertest.Daemon
	cloud *inmemory.Cloud

	mu   sync.Mutex
	data map[fleet.MachineName]inmemory.VMSpec
}

// newLaptop returns a laptop with images. Its containers have addresses of the loopback network, which no other test has.
func newLaptop(t *testing.T, images ...string) *laptop {
	l := &laptop{T: t, d: dockertest.New(images...), cloud: inmemory.NewCloud(inmemory.CloudOptions{}), data: make(map[fleet.MachineName]inmemory.VMSpec)}
	t.Cleanup(l.cloud.Close)
	l.d.Subnet(fmt.Sprintf("127.%d", 64+os.Getpid()%128))
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	var booting sync.WaitGroup
	t.Cleanup(func() {
		stop()
		booting.Wait()
	})
	booting.Go(func() {
		for on := make(map[string]bool); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			l.boot(ctx, on)
		}
	})
	return l
}

// boot brings the machines and the network of the cloud in line with the containers.
func (l *laptop) boot(ctx context.Context, on map[string]bool) {
	there := make(map[string]bool)
	networks, _ := l.cloud.Networks(ctx, nil)
	balanced := false
	for _, c := range l.d.Containers() {
		if c.State != "running" {
			continue
		}
		there[c.ID] = true
		name := fleet.MachineName(c.Labels[fleet.TagMachine])
		l.mu.Lock()
		spec := l.data[name]
		l.mu.Unlock()
		switch {
		case name == "":
			balanced = true
			if len(networks) == 0 {
				if _, err := l.cloud.CreateNetwork(ctx, inmemory.NetworkSpec{Name: "lb", Endpoint: fleet.Endpoint{Host: c.Address, Port: 6443}}); err != nil {
					l.Error(err)
				}
			}
		case !on[c.ID] && len(networks) > 0:
			on[c.ID] = true
			spec.ID, spec.Network, spec.Provider, spec.Addresses = c.ID, networks[0].ID, fleet.ProviderID("docker:////"+c.ID), []string{c.Address}
			spec.UserData = bytes.ReplaceAll(spec.UserData, []byte(userdata.NodeID), []byte(spec.Provider))
			if _, err := l.cloud.CreateVM(ctx, spec); err != nil {
				l.Error(err)
			}
		}
	}
	for id := range on {
		if !there[id] {
			delete(on, id)
			_ = l.cloud.DeleteVM(ctx, id) // it may be gone
		}
	}
	if !balanced && len(networks) > 0 {
		_ = l.cloud.DeleteNetwork(ctx, networks[0].ID) // it may be gone
	}
}

// note notes what a machine boots with.
func (l *laptop) note(r providers.MachineRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data[r.Name] = inmemory.VMSpec{Name: string(r.Name), Version: r.Pool.Version, UserData: r.UserData.Content.Reveal()}
}

// A provider is that of the laptop.
type provider struct {
	*docker.Provider

	l *laptop
}

// CreateMachine implements providers.Infrastructure.
func (p provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	p.l.note(r)
	return p.Provider.CreateMachine(ctx, op, r)
}

// run runs the demo, and returns its output.
func (l *laptop) run(ctx context.Context, out io.Writer, keep bool, images ...string) error {
	factory := docker.Factory()
	factory.New = func(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
		p, err := docker.New(docker.Options{
			Engine: engine.Options{Host: "unix:///test.sock", Base: l.d}, Network: o.Settings["network"], Tick: 50 * time.Millisecond, Settle: time.Second,
		})
		return provider{p, l}, err
	}
	o := &demo.Docker{Engine: engine.Options{Host: "unix:///test.sock", Base: l.d}, HAProxy: haproxy}
	for _, text := range images {
		image, err := demo.ParseNodeImage(text)
		if err != nil {
			l.Fatal(err)
		}
		o.NodeImages = append(o.NodeImages, image)
	}
	return demo.Run(ctx, demo.Options{Out: out, Keep: keep, Version: "test", Docker: o, Built: wiring.Built{
		Providers: []providers.Factory{inmemory.Factory(), factory},
		Distributions: func(c *workload.Client) providers.Distributions {
			return providers.Distributions{"KubeadmControlPlane": kubeadm.New(c)}
		},
	}})
}

// nothingLeft checks that the demo left nothing.
func (l *laptop) nothingLeft() {
	l.Helper()
	if c, n := l.d.Containers(), l.d.Networks(); len(c) > 0 || len(n) > 0 {
		l.Errorf("it left %d containers and the networks %v", len(c), n)
	}
	if files, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(files) > 0 {
		l.Errorf("it left the files %v, %v", files, err)
	}
}

// TestDemoOnDocker: the story on containers is told to its end, with the node images of kind that the host has, and leaves
// nothing.
func TestDemoOnDocker(t *testing.T) {
	l := newLaptop(t, haproxy, "kindest/node:v1.32.1", "kindest/node:v1.33.5", "kindest/node:v1.34.1", "kindest/node:latest", "their/node:v1.35.0")
	var out bytes.Buffer
	if err := l.run(t.Context(), &out, false); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"4/4", "v1.33.5", "v1.34.1", "git show fairlead/status:plans/refs/heads/proposals/kubernetes.md", "4 pushes, each seen to its end"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out.String())
		}
	}
	l.nothingLeft()
}

// TestDemoOnDockerInterrupted: a demo that is interrupted half way, or that was kept running, leaves nothing. An image that
// the host does not have is pulled.
func TestDemoOnDockerInterrupted(t *testing.T) {
	for name, keep := range map[string]bool{"half way": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			l := newLaptop(t, haproxy)
			l.d.Offer("their/node:1", dockertest.Pull{MB: []int64{900}, Every: time.Millisecond})
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			from, to := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				err := l.run(ctx, to, keep, "v1.34.1=their/node:1")
				_ = to.Close()
				ended <- err
			}()
			var out bytes.Buffer
			at := "small-md-0"
			if keep {
				at = "It runs on until you press Ctrl-C"
			}
			timer := time.AfterFunc(waits.Limit, interrupt)
			defer timer.Stop()
			for b := make([]byte, 4096); ; {
				n, err := from.Read(b)
				out.Write(b[:n])
				machines := slices.ContainsFunc(l.d.Containers(), func(c dockertest.Container) bool { return strings.HasPrefix(c.Labels[fleet.TagMachine], at) })
				if machines || strings.Contains(out.String(), at) {
					interrupt()
				}
				if err != nil {
					break
				}
			}
			if err := <-ended; (err == nil) != keep || !strings.Contains(out.String(), "1/") {
				t.Errorf("it ended with %v:\n%s", err, out.String())
			}
			l.nothingLeft()
		})
	}
}

// TestDemoOnDockerCannotStart: a demo that cannot start says what to do, and makes nothing.
func TestDemoOnDockerCannotStart(t *testing.T) {
	for name, test := range map[string]struct {
		images []string // of the host
		named  []string
		down   bool
		want   string
	}{
		"no images":         {want: "Run 'docker pull kindest/node:v1.34.0'"},
		"no daemon":         {down: true, want: "Start Docker or podman, or set DOCKER_HOST"},
		"far apart":         {named: []string{"v1.32.0=a", "v1.34.0=b"}, want: "one minor version apart"},
		"images of another": {images: []string{"my-kindest/node:v1.34.0"}, want: "has no node image of kind"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLaptop(t, test.images...)
			if test.down {
				l.d.Inject(dockertest.Fault{Status: 500})
			}
			var out bytes.Buffer
			if err := l.run(t.Context(), &out, false, test.named...); err == nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, output %q, want %q", err, out.String(), test.want)
			}
			l.nothingLeft()
		})
	}
	for _, text := range []string{"v1.34.0", "1.34.0=image", "v1.34=image", "v1.34.0="} {
		if _, err := demo.ParseNodeImage(text); err == nil || !strings.Contains(err.Error(), "VERSION=IMAGE") {
			t.Errorf("ParseNodeImage(%q) = %v", text, err)
		}
	}
}
