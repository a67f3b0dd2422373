package docker_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/docker/dockertest"
)

const otherImage = "registry.example.com:5000/node:v1.35.0"

// create requests a worker of an image.
func (l *life) create(image string) error {
	pool := l.c.Workers[0]
	pool.Infrastructure = machine(image)
	return l.p.CreateMachine(l.Context(), "op-1", request(&l.c, pool, "md-1"))
}

// TestPull: the daemon pulls an image that its host does not have, once for all machines. Requests say how far it is,
// and the cluster is notified at its end.
func TestPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		if n := l.d.Pulls(); n > 0 {
			t.Errorf("%d pulls of images that the host has", n)
		}
		l.d.Offer(otherImage, dockertest.Pull{MB: []int64{900, 100}, Every: 30 * time.Second})
		changes, stop := l.watch()
		defer stop()
		if err := l.create(otherImage); fleet.KindOf(err) != fleet.Unavailable || err.Error() != `cannot create machine prod/md-1: pulling image "`+otherImage+`": 0 of 1000 MB` {
			t.Errorf("the first request = %v", err)
		}
		if changes.Swap(0) == 0 {
			t.Error("the cluster is not notified that a pull began")
		}
		time.Sleep(3*time.Minute + 40*time.Second)
		if err := l.create(otherImage); fleet.KindOf(err) != fleet.Unavailable || !strings.HasSuffix(err.Error(), ": 300 of 1000 MB") {
			t.Errorf("after 350 MB: %v", err)
		}
		l.observe()
		time.Sleep(6*time.Minute + 10*time.Second)
		changes.Store(0)
		time.Sleep(40 * time.Second)
		if changes.Load() == 0 {
			t.Error("the cluster is not notified that the image is there")
		}
		if err := l.create(otherImage); err != nil {
			t.Errorf("CreateMachine once the image is there = %v", err)
		}
		if n := l.d.Pulls(); n != 1 {
			t.Errorf("%d pulls, want 1", n)
		}
		if n := len(l.observe().Machines); n != 3 {
			t.Errorf("%d machines, want 3", n)
		}
	})
}

// TestPullOfBalancer: the image of the load balancer is pulled, too, within the request if that takes little time.
func TestPullOfBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.d = dockertest.New(nodeImage)
		l.p = newProvider(t, l.d)
		l.d.Offer(balancerImage, dockertest.Pull{MB: []int64{9}, Every: 10 * time.Millisecond})
		if err := l.p.EnsureInfrastructure(t.Context(), "op-infra", &l.c); err != nil {
			t.Error(err)
		}
		l.until(true)
	})
}

// TestPullFails: a pull that fails says why in the daemon's words, and what to do. It is tried again after waits that
// grow, and says the same until then. The machine is made as soon as somebody brings the image.
func TestPullFails(t *testing.T) {
	for name, test := range map[string]struct {
		pull dockertest.Pull
		none bool // no registry offers the image
		kind fleet.ErrorKind
		said string
	}{
		"unknown":      {none: true, kind: fleet.Invalid, said: "manifest unknown"},
		"unauthorized": {pull: dockertest.Pull{Status: 500, Words: "Head https://registry: unauthorized: authentication required"}, kind: fleet.Unauthorized, said: "authentication required"},
		"denied":       {pull: dockertest.Pull{Status: 404, Words: "pull access denied for node, repository does not exist or may require 'docker login'"}, kind: fleet.Unauthorized, said: "pull access denied"},
		"air gap":      {pull: dockertest.Pull{Status: 500, Words: "dial tcp: lookup registry.example.com: no such host"}, kind: fleet.Unavailable, said: "no such host"},
		"half way":     {pull: dockertest.Pull{MB: []int64{9}, Words: "write /var/lib/docker: no space left on device"}, kind: fleet.Unavailable, said: "no space left on device"},
		"cut":          {pull: dockertest.Pull{MB: []int64{9}, Cut: true}, kind: fleet.Unavailable, said: "unexpected EOF"},
		"forgotten":    {pull: dockertest.Pull{MB: []int64{9}, Forget: true}, kind: fleet.Unavailable, said: "has no such image"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife(t)
				l.until(true)
				if !test.none {
					l.d.Offer(otherImage, test.pull)
				}
				err := l.create(otherImage)
				for _, want := range []string{test.said, "Run 'docker pull " + otherImage + "' there, or build the image"} {
					if fleet.KindOf(err) != test.kind || !strings.Contains(err.Error(), want) {
						t.Errorf("CreateMachine = %v (kind %s), want kind %s with %q", err, fleet.KindOf(err), test.kind, want)
					}
				}
				for range 360 {
					if again := l.create(otherImage); again == nil || again.Error() != err.Error() {
						t.Fatalf("the same again = %v, want %v", again, err)
					}
					time.Sleep(10 * time.Second)
				}
				if n := l.d.Pulls(); n < 5 || n > 12 {
					t.Errorf("%d pulls in an hour, want some", n)
				}
				changes, stop := l.watch()
				defer stop()
				changes.Store(0)
				l.d.Load(otherImage)
				time.Sleep(10 * tick)
				if changes.Load() == 0 {
					t.Error("the cluster is not notified that somebody brought the image")
				}
				if err := l.create(otherImage); err != nil {
					t.Errorf("CreateMachine once the image is there = %v", err)
				}
			})
		})
	}
}

// TestPullSaysTheSame: a fault that lasts is said once, also while it is tried again, which may take long.
func TestPullSaysTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		l.d.Offer(otherImage, dockertest.Pull{Status: 500, After: 20 * time.Second, Words: "dial tcp: lookup registry.example.com: i/o timeout"})
		_ = l.create(otherImage)
		time.Sleep(25 * time.Second)
		err := l.create(otherImage)
		if err == nil || !strings.Contains(err.Error(), "i/o timeout") {
			t.Fatalf("CreateMachine = %v", err)
		}
		for range 360 {
			if again := l.create(otherImage); again == nil || again.Error() != err.Error() {
				t.Fatalf("the same again = %v, want %v", again, err)
			}
			time.Sleep(10 * time.Second)
		}
		if l.d.Pulls() < 5 {
			t.Errorf("%d pulls in an hour, want some", l.d.Pulls())
		}
	})
}

// TestPullHangs: a daemon that says no more is given up, and an agent that ends does not wait for it.
func TestPullHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		l.d.Offer(otherImage, dockertest.Pull{MB: []int64{900}, Every: time.Second, Hangs: true})
		_ = l.create(otherImage)
		time.Sleep(5*time.Minute + 10*time.Second)
		if err := l.create(otherImage); err == nil || !strings.Contains(err.Error(), "the daemon said nothing for 5 minutes") {
			t.Errorf("CreateMachine = %v", err)
		}
		time.Sleep(10 * time.Minute)
		_ = l.create(otherImage)
		l.p.Close()
	})
}

// watch watches the cluster, and counts its changes.
func (l *life) watch() (changes *atomic.Int32, end func()) {
	changes = new(atomic.Int32)
	ctx, stop := context.WithCancel(l.Context())
	var watching sync.WaitGroup
	watching.Go(func() { _ = l.p.Watch(ctx, func(fleet.Key) { changes.Add(1) }) })
	time.Sleep(10 * time.Second) // nothing happens: the next listing would come in minutes
	return changes, func() {
		stop()
		watching.Wait()
	}
}
