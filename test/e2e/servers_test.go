package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/test/lab/kubernetes/lab"
	oslab "fairlead.dev/test/lab/openstack/lab"
)

// A hypervisor boots the servers that Nova says are there: each is the machine of the lab
// that has the address which Neutron gave to the server, with a new disk and the user data
// that Nova has.
type hypervisor struct {
	w        *world
	project  *oslab.Project
	machines []*lab.Machine
	routes   *oslab.Routes
	log      *os.File

	mu     sync.Mutex
	booted map[string]*lab.Machine // by the id of the server
	behind []string                // the servers that the endpoint last led to
}

// newHypervisor boots the servers of a project until the test ends.
func (w *world) newHypervisor(p *oslab.Project, machines []*lab.Machine) *hypervisor {
	w.t.Helper()
	log, err := os.Create(filepath.Join(w.logs, "hypervisor.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	h := &hypervisor{w: w, project: p, machines: machines, routes: oslab.NewRoutes(p), log: log, booted: make(map[string]*lab.Machine)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var done sync.WaitGroup
	w.t.Cleanup(func() {
		cancel()
		done.Wait()
		_ = log.Close() // what is in it has been written
	})
	done.Go(func() {
		for ctx.Err() == nil {
			if err := h.look(ctx); err != nil {
				h.say("look: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	return h
}

func (h *hypervisor) say(format string, args ...any) {
	_, _ = fmt.Fprintf(h.log, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...) // a log
}

// look brings machines in line with Nova's servers.
func (h *hypervisor) look(ctx context.Context) error {
	pages, err := servers.List(h.project.Admin.Compute, servers.ListOpts{AllTenants: true, TenantID: h.project.ID}).AllPages(ctx)
	if err != nil {
		return err
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return err
	}
	for id, m := range h.on() {
		if !slices.ContainsFunc(list, func(s servers.Server) bool { return s.ID == id }) {
			h.say("%s is gone: %s is off", id, m.Name)
			h.set(id, nil)
			err = errors.Join(err, m.Wipe())
		}
	}
	for _, s := range list {
		if h.on()[s.ID] == nil && s.Status == "ACTIVE" {
			err = errors.Join(err, h.boot(ctx, s))
		}
	}
	return err
}

// boot switches on the machine that a server is.
func (h *hypervisor) boot(ctx context.Context, s servers.Server) error {
	if s.Userdata == nil {
		return fmt.Errorf("server %s has no user data", s.Name)
	}
	data, err := base64.StdEncoding.DecodeString(*s.Userdata)
	if err != nil {
		return err
	}
	at := fixed(s)
	i := slices.IndexFunc(h.machines, func(m *lab.Machine) bool { return m.Address == at })
	if i < 0 {
		return fmt.Errorf("no machine has the address %q of the server %s", at, s.Name)
	}
	m := h.machines[i]
	h.say("%s (%s) boots on %s", s.Name, s.ID, m.Name)
	if err := errors.Join(m.Wipe(), m.Seed(s.ID, s.Name, data), m.Start(ctx)); err != nil {
		return err
	}
	h.set(s.ID, m)
	return nil
}

func (h *hypervisor) on() map[string]*lab.Machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]*lab.Machine, len(h.booted))
	for id, m := range h.booted {
		out[id] = m
	}
	return out
}

// set remembers the machine of a server, or, without one, forgets the server.
func (h *hypervisor) set(id string, m *lab.Machine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m == nil {
		delete(h.booted, id)
		return
	}
	h.booted[id] = m
}

// dial connects to a server behind an address of the project as packets would go. Where
// nobody can ask for the way, it is the one that was last known.
func (h *hypervisor) dial(ctx context.Context, address string) (net.Conn, error) {
	ids, err := h.routes.Servers(ctx, address)
	h.mu.Lock()
	if err == nil {
		h.behind = ids
	}
	ids = h.behind
	h.mu.Unlock()
	on := h.on()
	for _, id := range ids {
		if m := on[id]; m != nil {
			conn, dialErr := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(m.Address, "6443"))
			if dialErr == nil {
				return conn, nil
			}
			err = errors.Join(err, dialErr)
		}
	}
	return nil, errors.Join(err, fmt.Errorf("%s leads to the servers %v, of which none answers", address, ids))
}

// fixed returns the address of a server in its own network.
func fixed(s servers.Server) string {
	for _, network := range s.Addresses {
		list, _ := network.([]any)
		for _, a := range list {
			if m, ok := a.(map[string]any); ok && m["OS-EXT-IPS:type"] == "fixed" {
				return fmt.Sprint(m["addr"])
			}
		}
	}
	return ""
}
