package inmemory

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// DeleteVM implements API.
func (c *Cloud) DeleteVM(ctx context.Context, id string) error {
	op := "delete server " + id
	return c.change(ctx, op, func() error {
		v, ok := c.vms[id]
		if !ok || !v.deleted.IsZero() || v.Refused != "" {
			return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
		}
		v.deleted, v.held = time.Now(), c.silent(v)
		c.powerChanged(v)
		if v.held {
			c.showed(ownerOf(v.Tags))
			return nil
		}
		c.release(v)
		return nil
	})
}

// release has the deleted machine vanish, after its host was cleaned where that takes
// time.
func (c *Cloud) release(v *vm) {
	delete(v.network.vms, v.ID)
	o := ownerOf(v.Tags)
	if c.faults.SlowDelete > 0 {
		c.showed(o)
	}
	clean := c.faults.SlowRelease
	c.after(c.faults.Lag+c.faults.SlowDelete, func() {
		if clean == 0 {
			c.drop(v)
			return
		}
		v.State = fleet.MachineReleased
		c.changed(o)
		c.after(clean, func() { c.drop(v) })
	})
}

// drop forgets a machine.
func (c *Cloud) drop(v *vm) {
	delete(c.vms, v.ID)
	c.owned.vms.drop(v.Tags, v.ID)
	c.changed(ownerOf(v.Tags))
}

// silent reports whether the machine cannot be reached, not even by the cloud.
func (c *Cloud) silent(v *vm) bool {
	return v.held || v.stopped && c.faults.SilentWithoutPower
}

// StopVM implements Control.
func (c *Cloud) StopVM(_ context.Context, id string) error {
	return c.power("stop server "+id, id, true)
}

// StartVM implements Control. A machine whose deletion waits for its power does
// not boot: it goes.
func (c *Cloud) StartVM(_ context.Context, id string) error {
	return c.power("start server "+id, id, false)
}

func (c *Cloud) power(op, id string, stopped bool) error {
	c.lock()
	defer c.unlock()
	v, ok := c.vms[id]
	if !ok || !v.deleted.IsZero() && !v.held {
		return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
	}
	if v.stopped == stopped {
		return nil
	}
	o := ownerOf(v.Tags)
	v.stopped, v.switched = stopped, time.Now()
	c.powerChanged(v)
	c.changed(o)
	if c.faults.SlowPower > 0 {
		c.after(c.faults.SlowPower, func() { c.changed(o) })
	}
	if v.held {
		v.held = false
		c.release(v)
	}
	return nil
}
