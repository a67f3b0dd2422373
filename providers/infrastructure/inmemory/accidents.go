package inmemory

import (
	"errors"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// Copy makes a copy of the machine with that id, as a restored backup is one: it has the name,
// the tags and the addresses of the machine, an id of its own, and no power. It returns the
// copy's id.
func (c *Cloud) Copy(id string) (string, error) {
	c.lock()
	defer c.unlock()
	v, err := c.alive("copy server", id)
	if err != nil {
		return "", err
	}
	out := *v
	out.ID = c.newID()
	out.Provider = fleet.ProviderID("inmemory://" + c.id + "/" + out.ID)
	out.Tags, out.Addresses, out.Created = maps.Clone(v.Tags), slices.Clone(v.Addresses), time.Now()
	out.State, out.stopped, out.node, out.member = fleet.MachineRunning, true, "", 0
	out.nodeReady, out.apiReady = false, false
	out.boot = noBoot{errors.New("this is a copy: its kubelet and the one of its original have one name")}
	c.vms[out.ID], v.network.vms[out.ID] = &out, &out
	c.owned.vms.put(out.Tags, out.ID, &out)
	c.showed(ownerOf(out.Tags))
	return out.ID, nil
}

// Move has the machine with that id run in another failure domain from now on, as a migration
// between hosts does.
func (c *Cloud) Move(id, domain string) error {
	c.lock()
	defer c.unlock()
	v, err := c.alive("move server", id)
	if err != nil {
		return err
	}
	v.FailureDomain = domain
	c.changed(ownerOf(v.Tags))
	return nil
}

// RenameMember gives the etcd member of the machine with that id another name, as a restart of
// etcd with other flags does.
func (c *Cloud) RenameMember(id, name string) error {
	c.lock()
	defer c.unlock()
	v, err := c.alive("rename the etcd member of server", id)
	if err != nil {
		return err
	}
	if v.network.cluster != nil {
		if m := v.network.cluster.member(v.member); m != nil {
			m.Name = name
			return nil
		}
	}
	return fleet.Errorf(fleet.NotFound, "rename the etcd member of server "+id, "it has none")
}

// alive returns the machine with that id, which is not deleted.
func (c *Cloud) alive(what, id string) (*vm, error) {
	v, ok := c.vms[id]
	if !ok || !v.deleted.IsZero() || v.Refused != "" {
		return nil, &fleet.Error{Kind: fleet.NotFound, Op: what + " " + id, Err: errNoSuch}
	}
	return v, nil
}
