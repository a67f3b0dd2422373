package metal3test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A Host is one of the hosts.
type Host struct {
	i         *Ironic
	name, mac string
	events    chan func(context.Context) // what Hardware is to be told

	mu       sync.Mutex
	password string
	on       bool
	shown    bool   // what the BMC says of power
	target   string // the next boot device
	always   bool   // target is meant for every start
	media    string // the image in its virtual CD drive
	stick    string // the image in its virtual USB stick
	drive    map[string]string
	running  Running
	live     *Disk // what runs from media
	settings map[string]any
	pending  map[string]any // settings from the next start on
	volumes  []string
	boots    int
	written  int // how many times a disk was written
	disk     *Disk
	stop     context.CancelFunc // of the agent that runs
	agent    *agent
}

// BMCUser is the user of every BMC.
const BMCUser = "root"

// Name is its name.
func (h *Host) Name() string { return h.name }

// MAC is the address of its network card.
func (h *Host) MAC() string { return h.mac }

// BMC is the address of its BMC, as spec.bmc.address of a BareMetalHost has it.
func (h *Host) BMC() string {
	return "redfish-virtualmedia+" + h.i.bmcs.URL + h.path()
}

// Password is that of BMCUser.
func (h *Host) Password() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.password
}

// SetPassword changes that of BMCUser.
func (h *Host) SetPassword(p string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.password = p
}

// DriverInfo is Ironic's driver_info of it.
func (h *Host) DriverInfo() map[string]any {
	return map[string]any{
		"redfish_address": h.i.bmcs.URL, "redfish_system_id": h.path(), "redfish_username": BMCUser, "redfish_password": h.Password(),
		"deploy_iso": h.i.RamdiskURL(),
	}
}

func (h *Host) path() string { return systems + "/" + h.name }

// State returns its current state.
func (h *Host) State() State {
	h.mu.Lock()
	defer h.mu.Unlock()
	return State{On: h.on, Running: h.running, Boots: h.boots, Disk: h.disk, Live: h.live, Settings: maps.Clone(h.settings), Volumes: slices.Clone(h.volumes)}
}

// Install puts something on its disk and switches it on, as somebody did who had the host
// before.
func (h *Host) Install(d Disk) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disk, h.target, h.always = &d, "None", false
	h.power(true)
	h.shown = true
}

// Press switches it on or off, like a person at its power button.
func (h *Host) Press(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.power(on)
	h.shown = on
}

// reset does what the BMC is asked for.
func (h *Host) reset(on, restart bool) {
	if f := h.i.hostFault(h.name, AtPower); f != nil {
		if f.Lie {
			h.shown = on
		}
		return
	}
	if restart {
		h.power(false)
	}
	h.power(on)
	h.shown = on
}

// power switches it on or off. The lock is held.
func (h *Host) power(on bool) {
	if on == h.on {
		return
	}
	h.i.say("%s: power on: %t, from %s", h.name, on, h.target)
	was, cd := h.running, h.target == targetCD && h.media != ""
	h.on, h.running, h.live = on, Nothing, nil
	if h.stop != nil {
		h.stop()
		h.stop, h.agent = nil, nil
	}
	if !on {
		if was == OnDisk || was == OnMedia {
			h.tellLater(func(ctx context.Context, w Hardware) error { return w.PowerOff(ctx, h.name) })
		}
		return
	}
	h.boots++
	maps.Copy(h.settings, h.pending)
	h.pending = nil
	if !h.always {
		h.target = "None"
	}
	switch {
	case cd && h.media != h.i.RamdiskURL():
		h.running = OnMedia
		d := Disk{ID: fmt.Sprintf("%s-live-%d", h.name, h.boots), Image: h.media, Drive: h.drive}
		h.live = &d
		h.tellLater(func(ctx context.Context, w Hardware) error { return w.PowerOn(ctx, h.name, d) })
	case cd && h.i.hostFault(h.name, AtBoot) == nil:
		h.running = OnRamdisk
		ctx, stop := context.WithCancel(h.i.ends)
		a := &agent{host: h, ctx: ctx}
		h.stop, h.agent = stop, a
		h.i.done.Go(a.run)
	case !cd && h.disk != nil:
		h.running = OnDisk
		d := *h.disk
		h.tellLater(func(ctx context.Context, w Hardware) error { return w.PowerOn(ctx, h.name, d) })
	}
}

// tellLater has Hardware told of something.
func (h *Host) tellLater(what func(context.Context, Hardware) error) {
	if h.i.opts.Hardware == nil {
		return
	}
	h.events <- func(ctx context.Context) {
		if err := what(ctx, h.i.opts.Hardware); err != nil {
			h.i.say("%s: %v", h.name, err)
		}
	}
}

// tell tells Hardware what happens, in order.
func (h *Host) tell() {
	for {
		select {
		case <-h.i.ends.Done():
			return
		case event := <-h.events:
			event(h.i.ends)
		}
	}
}
