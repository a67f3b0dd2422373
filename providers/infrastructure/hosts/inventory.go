package hosts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/remote"
)

// A machineHost is a host as Git describes it.
type machineHost struct {
	Pool, Name string
	Labels     map[string]string
	api.HostDetails

	stays   bool    // it is not restarted when a machine is released
	ssh     api.SSH // that of the pool with what differs for the host
	secrets map[fleet.Key]fleet.SecretData
	ns      string
}

// restarts reports whether the host restarts when a machine on it is released: what a
// machine did to the kernel, and what runs unseen, ends with that alone.
func (h *machineHost) restarts() bool { return !h.stays }

func (h *machineHost) String() string { return h.Pool + "/" + h.Name }

// inventory returns the hosts of the cluster's namespace that Git holds, in the
// order of their pools' names; in a pool, those of its list come first.
func inventory(c *fleet.Cluster) ([]*machineHost, error) {
	type pool struct {
		spec    *api.HostPoolSpec
		secrets map[fleet.Key]fleet.SecretData
	}
	pools := make(map[string]pool)
	var out []*machineHost
	seen := make(map[string]bool)
	add := func(p pool, o fleet.Object, poolName, name string, labels map[string]string, d api.HostDetails) error {
		h := &machineHost{Pool: poolName, Name: name, Labels: labels, HostDetails: d, ns: cmp.Or(o.Namespace, c.Key.Namespace)}
		if seen[h.String()] {
			return fleet.Errorf(fleet.Invalid, "read "+o.GVK.Kind+" "+o.Name, "HostPool %s has two hosts called %s (rename or remove one of them)", poolName, name)
		}
		seen[h.String()] = true
		h.ssh = merge(p.spec.SSH, d.SSH)
		h.stays = p.spec.RebootOnRelease != nil && !*p.spec.RebootOnRelease
		h.secrets = make(map[fleet.Key]fleet.SecretData)
		for _, from := range []map[fleet.Key]fleet.SecretData{p.secrets, o.Secrets} {
			for k, v := range from {
				h.secrets[k] = v
			}
		}
		out = append(out, h)
		return nil
	}
	for _, o := range c.Companions { // sorted: Host objects come before HostPools
		if o.GVK.Kind != "HostPool" {
			continue
		}
		spec, err := api.ReadPool(o)
		if err != nil {
			return nil, err
		}
		p := pool{spec, o.Secrets}
		pools[o.Name] = p
		for _, h := range spec.Hosts {
			if err := add(p, o, o.Name, h.Name, h.Labels, h.HostDetails); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range c.Companions {
		if o.GVK.Kind != "Host" {
			continue
		}
		spec, err := api.ReadHost(o)
		if err != nil {
			return nil, err
		}
		p, ok := pools[spec.PoolName]
		if !ok {
			return nil, fleet.Errorf(fleet.Invalid, "read Host "+o.Name, "the overlay holds no HostPool %s in its namespace (add it, or correct poolName)", spec.PoolName)
		}
		if err := add(p, o, spec.PoolName, o.Name, o.Labels, spec.HostDetails); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, "find hosts for "+c.Key.String(), "the overlay holds no HostPool with hosts in namespace %s (add it)", c.Key.Namespace)
	}
	slices.SortStableFunc(out, func(a, b *machineHost) int { return cmp.Compare(a.Pool, b.Pool) })
	return out, nil
}

// merge returns what a host says over what its pool says. Known hosts add up, and an
// identity of the host stands alone.
func merge(pool api.SSH, own *api.SSH) api.SSH {
	out := pool
	if own == nil {
		return out
	}
	if own.User != "" {
		out.User, out.Sudo = own.User, nil
	}
	out.Port = cmp.Or(own.Port, out.Port)
	if own.Sudo != nil {
		out.Sudo = own.Sudo
	}
	if own.IdentityRef != nil || own.Agent {
		out.IdentityRef, out.Agent = own.IdentityRef, own.Agent
	}
	if own.KnownHosts != "" {
		out.KnownHosts = pool.KnownHosts + "\n" + own.KnownHosts
	}
	if own.Bastion != nil {
		out.Bastion = own.Bastion
	}
	return out
}

// endpoint returns how h is reached, with its credentials.
func (r *reader) endpoint(ctx context.Context, h *machineHost) (*remote.Endpoint, error) {
	e := &remote.Endpoint{
		Title: "host " + h.String(), Address: h.Address, Port: h.ssh.Port, User: h.ssh.User, Sudo: h.ssh.User != "root",
		KnownHosts: []byte(h.ssh.KnownHosts),
	}
	if h.ssh.Sudo != nil {
		e.Sudo = *h.ssh.Sudo
	}
	if err := r.identify(ctx, h, e, h.ssh.IdentityRef, h.ssh.Agent); err != nil {
		return nil, err
	}
	b := h.ssh.Bastion
	if b == nil {
		return e, nil
	}
	via := &remote.Endpoint{
		Title: "the bastion of " + e.Title, Address: b.Address, Port: b.Port, User: cmp.Or(b.User, e.User),
		KnownHosts: []byte(h.ssh.KnownHosts + "\n" + b.KnownHosts),
	}
	ref, agent := b.IdentityRef, b.Agent
	if ref == nil && !agent {
		ref, agent = h.ssh.IdentityRef, h.ssh.Agent
	}
	if err := r.identify(ctx, h, via, ref, agent); err != nil {
		return nil, err
	}
	e.Via = via
	return e, nil
}

// identify adds the credentials of ref to e.
func (r *reader) identify(ctx context.Context, h *machineHost, e *remote.Endpoint, ref *api.IdentityReference, agent bool) error {
	e.Agent = agent
	defer func() { e.KnownHosts = bytes.TrimSpace(e.KnownHosts) }()
	if ref == nil {
		return nil
	}
	k := fleet.Key{Namespace: h.ns, Name: ref.Name}
	data, err := r.secrets.Find(ctx, k, h.secrets)
	if err != nil {
		return err
	}
	e.Key, e.Passphrase, e.Password = data["ssh-privatekey"], data["passphrase"], data["password"]
	if e.Key.IsZero() && e.Password.IsZero() {
		return fleet.Errorf(fleet.Unauthorized, "use Secret "+k.String(), "it has neither the key ssh-privatekey nor password")
	}
	e.KnownHosts = fmt.Appendf(e.KnownHosts, "\n%s", data["known_hosts"].Reveal())
	return nil
}
