package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// The rhythm of pulls.
const (
	firstPullWait, longestPullWait = 15 * time.Second, 10 * time.Minute

	// pullPatience is how long a request waits for a pull that it began: registries refuse within seconds.
	pullPatience = 5 * time.Second
	// forgetPull is how long a pull that failed is remembered after the last request for its image.
	forgetPull = 30 * time.Minute
)

// pulls are those of images that the host does not have, by image. They run beside requests and observations.
type pulls struct {
	mu      sync.Mutex
	all     map[string]*pull
	closed  bool
	running sync.WaitGroup
}

// A pull is of one image.
type pull struct {
	image      string
	owners     map[snapshot.Owner]bool // that need it
	asked      time.Time               // when one of them last did
	stop       context.CancelFunc      // of the try under way; nil: none is
	ended      chan struct{}           // is closed at its end
	done, size int64                   // bytes of layers
	err        error                   // of the last try
	tries      int
	due        time.Time // of the next try
}

// haveImage returns nil if the host has an image. Otherwise it has the daemon pull the image, and the error says how
// that goes. o needs the image.
func (p *Provider) haveImage(ctx context.Context, op string, o snapshot.Owner, image string) error {
	there, err := p.client.HasImage(ctx, image)
	if err == nil && there {
		p.pulls.forget(image)
	}
	if err != nil || there {
		return engine.WrapLook(op, err)
	}
	x, begun := p.begin(ctx, o, image)
	if begun {
		select {
		case <-x.ended:
		case <-ctx.Done():
		case <-time.After(pullPatience):
		}
	}
	p.pulls.mu.Lock()
	defer p.pulls.mu.Unlock()
	return engine.Wrap(op, x.problem())
}

// begin notes that o needs an image, and begins a pull if none is under way and one is due.
func (p *Provider) begin(ctx context.Context, o snapshot.Owner, image string) (x *pull, begun bool) {
	s := &p.pulls
	s.mu.Lock()
	defer s.mu.Unlock()
	if x = s.all[image]; x == nil {
		x = &pull{image: image, owners: make(map[snapshot.Owner]bool)}
		if s.all == nil {
			s.all = make(map[string]*pull)
		}
		s.all[image] = x
	}
	x.asked, x.owners[o] = time.Now(), true
	if s.closed || x.stop != nil || time.Now().Before(x.due) {
		return x, false
	}
	ctx, x.stop = context.WithCancel(context.WithoutCancel(ctx))
	x.ended, x.done, x.size = make(chan struct{}), 0, 0
	s.running.Go(func() { p.pull(ctx, x) })
	p.wakeUp()
	return x, true
}

// pull pulls the image of x, and notes the result.
func (p *Provider) pull(ctx context.Context, x *pull) {
	s := &p.pulls
	p.o.Log.Info("pulling an image", "image", x.image)
	err := p.client.Pull(ctx, x.image, func(done, size int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		x.done, x.size = done, size
	})
	if err == nil {
		if there, failed := p.client.HasImage(ctx, x.image); failed == nil && !there {
			err = fleet.Errorf(fleet.Unavailable, "", "the daemon ended the pull, and has no such image")
		}
	}
	if err != nil && ctx.Err() == nil {
		p.o.Log.Warn("pulling an image failed", "image", x.image, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.stop()
	x.stop, x.err = nil, err
	close(x.ended)
	if err == nil {
		maps.DeleteFunc(s.all, func(_ string, y *pull) bool { return y == x })
		return
	}
	x.due = time.Now().Add(min(fleet.RetryWait(firstPullWait, x.tries), longestPullWait))
	x.tries++
}

// problem returns why the image is not there; nil: the pull succeeded. It is the same for as long as nothing happens:
// the last error stays until the next try gets something.
func (x *pull) problem() error {
	switch {
	case x.stop != nil && x.size > 0:
		return fleet.Errorf(fleet.Unavailable, "", "pulling image %q: %s", x.image, x.progress())
	case x.err != nil:
		return fleet.Errorf(fleet.KindOf(x.err), "", "image %q is not on the host of the Docker daemon, and pulling it failed: %w. Run 'docker pull %s' there, or build the image", x.image, x.err, x.image)
	case x.stop != nil:
		return fleet.Errorf(fleet.Unavailable, "", "pulling image %q", x.image)
	}
	return nil
}

// progress returns what is there of the image, in steps of a tenth, so that a status changes seldom.
func (x *pull) progress() string {
	return fmt.Sprintf("%d of %d MB", x.size*(10*x.done/x.size)/10/1e6, x.size/1e6)
}

// see adds the pulls to a view of what there is, without those of images that the host has now.
func (p *Provider) see(ctx context.Context, v *snapshot.View) {
	for _, image := range p.pulls.images() {
		if there, err := p.client.HasImage(ctx, image); err == nil && there {
			p.pulls.forget(image)
		}
	}
	p.pulls.mu.Lock()
	defer p.pulls.mu.Unlock()
	for _, image := range slices.Sorted(maps.Keys(p.pulls.all)) {
		x := p.pulls.all[image]
		if x.stop == nil && time.Since(x.asked) > forgetPull {
			delete(p.pulls.all, image)
			continue
		}
		v.Busy = true
		for o := range x.owners {
			v.Prints[o] += fmt.Sprintln(x.problem())
		}
	}
}

func (s *pulls) images() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

// forget ends the pull of an image that is there.
func (s *pulls) forget(image string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.all[image]; x != nil && x.stop != nil {
		x.stop()
	}
	delete(s.all, image)
}

// close ends all pulls.
func (s *pulls) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, image := range s.images() {
		s.forget(image)
	}
	s.running.Wait()
}
