package inmemory

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
)

// vm is a VM with what is in it.
type vm struct {
	VM
	version  string // of its kubelet and kubeadm
	control  string // of its static pods
	timing   DevMachineInMemory
	network  *network
	boot     boot // what its user data has it do
	deleted  time.Time
	stopped  bool
	switched time.Time // when its power was last switched
	held     bool      // its deletion waits for its power

	node      string    // its Node, once it has registered
	kubelet   kubelet   // what the kubelet trusts, and what trusts it
	nodeReady bool      // the kubelet has reported ready
	apiReady  bool      // the static pods of a control plane are up
	member    uint64    // of etcd
	tombstone bool      // its member was removed, and the next start of its K3s joins again
	ended     bool      // its K3s ended, and its kubelet with it
	expires   time.Time // the first certificate of its K3s
	booted    bool      // cloud-init has run kubeadm in vain, and runs once
	giveUp    time.Time // when kubeadm stops waiting

	powerCycles int    // counts cuts of power and returns
	shown       string // what its Node and pods were last told
	seen        struct {
		raw      []byte // the Node of the last facts
		cordoned bool
	}
}

// alive reports whether the machine is powered on.
func (v *vm) alive() bool {
	return v.State == fleet.MachineRunning && v.deleted.IsZero() && !v.stopped
}

// VMs implements API.
func (c *Cloud) VMs(ctx context.Context, tags map[string]string) ([]VM, error) {
	var out []VM
	err := c.list(ctx, "list servers", func() {
		for _, v := range c.owned.vms.among(c.vms, tags) {
			if _, kept := v.boot.(*poolBoot); kept || !carries(v.Tags, tags) || matches(c.faults.Hide, v.Name) {
				continue
			}
			shown := v.VM
			if !v.deleted.IsZero() && v.State != fleet.MachineReleased && time.Since(v.deleted) >= c.faults.Lag {
				shown.State = fleet.MachineDeleting
			}
			shown.Stopped, shown.Switching = v.stopped, time.Since(v.switched) < c.faults.SlowPower
			if c.silent(v) {
				shown.Silent, shown.Message = true, "its host does not answer"
			}
			if time.Since(v.Created) < c.faults.Lag {
				continue
			}
			out = append(out, shown)
			if matches(c.faults.ListTwice, v.Name) {
				out = append(out, shown)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b VM) int {
		if d := strings.Compare(a.Name, b.Name); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// CreateVM implements API.
func (c *Cloud) CreateVM(ctx context.Context, s VMSpec) (VM, error) {
	op := "create server " + s.Name
	c.mu.Lock()
	id := cmp.Or(s.ID, c.newID())
	c.mu.Unlock()
	boot := readBoot(s, id) // without the lock: it is the costly part
	var out VM
	err := c.change(ctx, op, func() error {
		n, ok := c.networks[s.Network]
		if !ok || !n.deleted.IsZero() {
			return fleet.Errorf(fleet.Conflict, op, "400 Bad Request: no network %s", s.Network)
		}
		if _, ok := c.vms[id]; ok {
			return fleet.Errorf(fleet.Conflict, op, "409 Conflict: there is a server with id %s", id)
		}
		switch has, err := c.addressHolder(s.Tags[addresses.Tag]); {
		case err != nil:
			return err
		case has != nil && has.isOf(s.Tags):
			out = has.VM
			return nil
		case has != nil:
			return fleet.Errorf(fleet.Conflict, op, "409 Conflict: server %s has the address", has.Name)
		}
		if err := c.quotaExceeded(op); err != nil {
			return err
		}
		v := &vm{
			VM: VM{
				ID: id, Name: s.Name, Network: s.Network, FailureDomain: s.FailureDomain,
				Tags: maps.Clone(s.Tags), State: fleet.MachinePending, Created: time.Now(),
				Provider: cmp.Or(s.Provider, c.providerID(id)), Addresses: slices.Clone(s.Addresses),
			},
			version: s.Version, control: s.Version, timing: s.Timing, network: n, boot: boot,
		}
		c.vms[v.ID], n.vms[v.ID] = v, v
		o := ownerOf(v.Tags)
		c.dropRefused(o, v.Name)
		c.owned.vms.put(v.Tags, v.ID, v)
		fails := matches(c.faults.FailCreate, v.Name)
		c.after(v.takes("vm", v.timing.VM), func() {
			if fails {
				c.refuse(v)
				return
			}
			c.powerOn(v)
		})
		c.showed(o)
		out = v.VM
		return nil
	})
	return out, err
}

// addressHolder returns the server that has an address which value, a tag of another one,
// claims, whichever pool gave it; nil: none has. Of two that want one address at one time one is refused
// here.
func (c *Cloud) addressHolder(value string) (*vm, error) {
	want, err := addresses.Parse(value)
	if err != nil || len(want) == 0 {
		return nil, err
	}
	for _, v := range c.vms {
		if v.Refused != "" {
			continue
		}
		has, _ := addresses.Parse(v.Tags[addresses.Tag]) // one that somebody damaged says nothing
		for _, claim := range has {
			if slices.ContainsFunc(want, func(w addresses.Claim) bool { return w.Address == claim.Address }) {
				return v, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // the contract: none has
}

// isOf reports whether v is what a repeated request with tags is for.
func (v *vm) isOf(tags map[string]string) bool {
	return v.deleted.IsZero() && !slices.ContainsFunc([]string{fleet.TagFleet, fleet.TagCluster, fleet.TagMachine, fleet.TagTemplate, fleet.TagOperation},
		func(tag string) bool { return v.Tags[tag] != tags[tag] })
}

// tellRefused is how long a request that failed is reported.
const tellRefused = 10 * time.Minute

// refuse has the request for the machine fail: there is none.
func (c *Cloud) refuse(v *vm) {
	if !v.deleted.IsZero() {
		return
	}
	v.Refused, v.Created = "The operation failed: insufficient disk space on datastore.", time.Now()
	delete(v.network.vms, v.ID)
	c.changed(ownerOf(v.Tags))
	c.after(tellRefused, func() { c.drop(v) })
}

// dropRefused forgets the requests for a machine of o that failed: it is asked for again.
func (c *Cloud) dropRefused(o Owner, name string) {
	for _, v := range c.owned.vms[o] {
		if v.Refused != "" && v.Name == name {
			c.drop(v)
		}
	}
}

// takes returns how long a part of the machine takes to start. The jitter
// depends on the machine's id and the part alone.
func (v *vm) takes(part string, p *Component) time.Duration {
	if p == nil || p.Provisioning == nil {
		return 0
	}
	d, err := time.ParseDuration(p.Provisioning.StartupDuration)
	if err != nil {
		return 0 // the decoder refused it
	}
	jitter, err := strconv.ParseFloat(p.Provisioning.StartupJitter, 64)
	if err != nil {
		return d
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(v.ID + part))
	share := float64(h.Sum64()>>11) / (1 << 53)
	return d + time.Duration(share*jitter*float64(d))
}

// powerOn ends the provisioning of the machine and starts its boot.
func (c *Cloud) powerOn(v *vm) {
	if !v.deleted.IsZero() {
		return
	}
	defer c.changed(ownerOf(v.Tags))
	if matches(c.faults.FailBoot, v.Name) {
		v.State = fleet.MachineFailed
		v.Message = "No valid host was found. There are not enough hosts available."
		return
	}
	v.State = fleet.MachineRunning
	if len(v.Addresses) == 0 {
		c.sequence++
		v.Addresses = []string{fmt.Sprintf("10.%d.%d.%d", byte(c.sequence>>16), byte(c.sequence>>8), byte(c.sequence))}
	}
	c.startBoot(v)
}

// providerID returns the provider id of a new server. The lock is held.
func (c *Cloud) providerID(id string) fleet.ProviderID {
	if !c.hosts {
		return fleet.ProviderID("inmemory://" + c.id + "/" + id)
	}
	used := make(map[fleet.ProviderID]bool, len(c.vms))
	for _, v := range c.vms {
		used[v.Provider] = true
	}
	for n := 0; ; n++ {
		if out := fleet.ProviderID(fmt.Sprintf("inmemory://%s/host-%d", c.id, n)); !used[out] {
			return out
		}
	}
}
