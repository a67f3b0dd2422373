package wiring

import (
	"context"
	"fmt"
	"net/url"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// openHome opens a home as a process has it.
func (p *process) openHome(o install.Options) (pivot.Home, error) {
	config, err := clientcmd.Load(o.Kubeconfig.Reveal())
	if err != nil {
		return nil, err
	}
	for _, k := range allKeys() {
		if c, ok := config.Clusters[k.Name]; ok {
			u, err := url.Parse(c.Server)
			return &memoryHome{p: p, key: k, host: u.Host, o: o}, err
		}
	}
	return nil, fmt.Errorf("this kubeconfig leads to no cluster of the fleet")
}

// A memoryHome is a cluster that an agent can live in.
type memoryHome struct {
	p    *process
	key  fleet.Key
	host string
	o    install.Options
}

// CheckReady implements pivot.Home.
func (h *memoryHome) CheckReady(ctx context.Context) error {
	c, err := h.p.w.net.DialContext(ctx, "tcp", h.host)
	if err != nil {
		return fleet.Errorf(fleet.Unavailable, "reach the API server of the home", "%w", err)
	}
	return c.Close()
}

// Addons implements pivot.Home.
func (h *memoryHome) Addons(context.Context) ([]string, error) {
	h.p.w.mu.Lock()
	defer h.p.w.mu.Unlock()
	if h.p.w.addons[h.key] {
		return nil, nil
	}
	return []string{"DaemonSet kube-system/cni"}, nil
}

// ApplyAddons implements pivot.Home.
func (h *memoryHome) ApplyAddons(context.Context) error {
	return h.p.do("applies addons in "+h.key.String(), func() error {
		h.p.w.mu.Lock()
		defer h.p.w.mu.Unlock()
		h.p.w.addons[h.key] = true
		return nil
	})
}

// Installed implements pivot.Home.
func (h *memoryHome) Installed(context.Context) (bool, error) {
	want, err := h.o.Release.Digest()
	h.p.w.mu.Lock()
	defer h.p.w.mu.Unlock()
	is := h.p.w.installed[h.key]
	return is == want || is != "" && len(h.o.Release.Chart) == 0, err
}

// Install implements pivot.Home.
func (h *memoryHome) Install(context.Context) error {
	digest, err := h.o.Release.Digest()
	if err != nil {
		return err
	}
	return h.p.do("installs the agent in "+h.key.String(), func() error {
		h.p.w.mu.Lock()
		defer h.p.w.mu.Unlock()
		h.p.w.installed[h.key] = digest
		return nil
	})
}

// Uninstall implements pivot.Home.
func (h *memoryHome) Uninstall(context.Context) error {
	return h.p.do("removes the agent from "+h.key.String(), func() error {
		h.p.w.mu.Lock()
		defer h.p.w.mu.Unlock()
		delete(h.p.w.installed, h.key)
		return nil
	})
}

// Secrets implements pivot.Home.
func (h *memoryHome) Secrets() secrets.Store { return h.p.w.storeFor(h.p, ownership.AgentOf(h.key)) }
