package openstack_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"fairlead.dev/fleet"
)

// TestAfterReleased: an agent of another version, the program that
// FAIRLEAD_TEST_RELEASED names, makes a cluster. This one takes its place, and
// changes nothing until people do.
func TestAfterReleased(t *testing.T) {
	program := os.Getenv("FAIRLEAD_TEST_RELEASED")
	if program == "" {
		t.Skip("FAIRLEAD_TEST_RELEASED names no program of another version of Fairlead")
	}
	w := newWorld(t)
	h := w.newFleet("released")
	stop := h.startProgram(program)
	c := cluster{Name: "eu-1", CP: 3, Workers: 2, Components: []string{"load-balancer"}}
	h.put("three and two", c)
	h.waitComplete(c)
	stop()
	was, servers := h.report(c), serverIDs(w)
	w.proxy.take()

	h.start()
	t.Cleanup(func() { h.stop() })
	const looks = 5
	h.wait("looks of the new agent", func() (bool, string) {
		calls := w.proxy.peek()
		n := count(calls, func(c call) bool {
			return c.Method == http.MethodGet && c.Service == "compute" && strings.HasSuffix(c.Path, "/servers/detail")
		})
		return n >= looks, summary(calls)
	})
	h.waitFor("known to be at home", c.key(), func(r fleet.Report) bool { return !r.Residence.IsZero() && complete(c)(r) })
	calls := w.proxy.take()
	if n := count(calls, call.changes); n > 0 {
		t.Errorf("the new agent changed something:\n%s", summary(slices.DeleteFunc(calls, func(c call) bool { return !c.changes() })))
	}
	if is := serverIDs(w); !maps.Equal(is, servers) {
		t.Errorf("servers were %v and are %v", servers, is)
	}
	is := h.report(c)
	if is.Digest != was.Digest || is.Endpoint != was.Endpoint || len(is.Actions) > 0 || same(was, is) != c.CP+c.Workers {
		t.Errorf("the cluster was\n%s\nand is, with the actions %q,\n%s", describe(was), is.Actions, describe(is))
	}

	c.Workers = 3
	h.put("one more", c)
	h.waitComplete(c)
	if kept := same(was, h.report(c)); kept != 5 {
		t.Errorf("one more worker kept %d machines, want 5", kept)
	}
	h.delete(c)
	w.wantNothingLeft()
}

// startProgram starts an agent that is a program, and returns what ends it. The API
// servers of clusters answer it on addresses that the loopback device has meanwhile.
func (h *ship) startProgram(program string) (stop func()) {
	h.t.Helper()
	h.w.answer()
	log, err := os.Create(filepath.Join(logDir(h.t), h.t.Name()+"-released.log"))
	check(h.t, err)
	settings := h.s.Providers["openstack"]
	cmd := exec.CommandContext(context.WithoutCancel(h.t.Context()), program, "agent", "--source", h.s.Source, "--name", "test", "--listen", "",
		"--interval", "1s", "--resync", h.resync.String(), "--status-interval", h.s.StatusInterval.String(), "--secrets", h.s.Secrets, "--log-level", "debug",
		"--openstack-tick", settings["tick"], "--openstack-settle", settings["settle"], "--openstack-rate", settings["rate"])
	cmd.Stdout, cmd.Stderr = log, log
	check(h.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := <-ended; err != nil {
			h.t.Errorf("%s ended: %v; its log is %s", program, err, log.Name())
		}
	})
	h.t.Cleanup(stop)
	return stop
}

// answer has the floating IPs of the project, which no network of this machine leads
// to, answer for what the booter boots, until the test ends.
func (w *world) answer() {
	w.t.Helper()
	if os.Geteuid() != 0 {
		w.t.Skip("addresses of the loopback device are for root to add")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var done sync.WaitGroup
	w.t.Cleanup(func() { cancel(); done.Wait() })
	done.Go(func() {
		answers := make(map[string]bool)
		for ctx.Err() == nil {
			for _, ip := range must(floatingips.ExtractFloatingIPs(must(floatingips.List(w.project.Admin.Network, floatingips.ListOpts{ProjectID: w.project.ID}).AllPages(context.WithoutCancel(ctx)))(w.t)))(w.t) {
				if answers[ip.FloatingIP] {
					continue
				}
				answers[ip.FloatingIP] = true
				done.Go(func() { w.answerAt(ctx, ip.FloatingIP) })
			}
			time.Sleep(time.Second)
		}
	})
}

// answerAt answers at one address until ctx ends.
func (w *world) answerAt(ctx context.Context, ip string) {
	link := func(verb string) error {
		out, err := exec.CommandContext(context.WithoutCancel(ctx), "ip", "address", verb, ip+"/32", "dev", "lo").CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip address %s %s: %w: %s", verb, ip, err, out)
		}
		return nil
	}
	if err := link("add"); err != nil {
		w.t.Error(err)
		return
	}
	defer func() {
		if err := link("del"); err != nil {
			w.t.Error(err)
		}
	}()
	address := net.JoinHostPort(ip, "6443")
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = from.Close() }()
			to, err := w.boots.Dial(ctx, "tcp", address)
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			_, _ = io.Copy(from, to)
		}()
	}
}

// serverIDs are the ids of the project's servers by name.
func serverIDs(w *world) map[string]string {
	w.t.Helper()
	out := make(map[string]string)
	for name, s := range w.servers() {
		out[name] = s.ID
	}
	return out
}
