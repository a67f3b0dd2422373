package metal3test

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Hardware is what runs on hosts that are switched on with something on their disks. Calls
// for one host come one after the other, in the order of what happened.
type Hardware interface {
	// PowerOn has the host run what is on its disk. A disk with another ID than before is a
	// new one: nothing is left of what was on the host. A live image is a new one with each start.
	PowerOn(ctx context.Context, host string, d Disk) error
	// PowerOff ends it. Its disk stays.
	PowerOff(ctx context.Context, host string) error
}

// A Disk is what a deployment left on a host, or in its virtual drives.
type Disk struct {
	ID    string // another one with each deployment, and with each start of a live image
	Image string // where the image came from
	// Drive is the config drive: what the files of its folder openstack/latest contain, by
	// their names: "user_data", "meta_data.json", "network_data.json".
	Drive map[string]string
}

// A Running is what a host does.
type Running string

// What hosts do.
const (
	Nothing   Running = "nothing" // it is off, or waits for something to boot from
	OnRamdisk Running = "ramdisk"
	OnDisk    Running = "disk"
	OnMedia   Running = "media" // a live image
)

// A State is what a host really does, whatever its BMC says.
type State struct {
	On      bool
	Running Running
	Boots   int   // how many times it was switched on
	Disk    *Disk // nil: it is empty
	Live    *Disk // the live image that runs; nil: none does
	// Settings are those of its firmware, and Volumes are what its disks are put together as, by RAID
	// level.
	Settings map[string]any
	Volumes  []string
}

// An At is where something goes wrong with a host.
type At string

// Where something goes wrong.
const (
	AtRequest    At = "request"    // any request of Redfish
	AtPower      At = "power"      // a reset
	AtBoot       At = "boot"       // the start of the ramdisk
	AtClean      At = "clean"      // a step of cleaning
	AtWrite      At = "write"      // while the image is written to the disk
	AtBootloader At = "bootloader" // what boots it
)

// A HostFault says what goes wrong with hosts; doc.go has a table.
type HostFault struct {
	Host  string // pattern for names; empty: all
	At    At
	Skip  int // so many go well first
	Times int // so many go wrong then; 0: all

	Status  int           // AtRequest: this is answered; 0: nothing is, unless there is a delay
	Delay   time.Duration // AtRequest: it takes so much longer, at most until the fault is taken back, and goes well unless there is a Status
	Lie     bool          // AtPower: the BMC says that it happened
	Hold    bool          // AtClean, AtWrite, AtBootloader: it goes well when the fault is taken back
	Message string        // AtClean, AtWrite, AtBootloader: what the agent says
}

// hostFault is one that is in force.
type hostFault struct {
	HostFault
	seen, done int
	ended      chan struct{}
}

// FailHosts puts a fault of hosts in force. The first that matches applies.
func (i *Ironic) FailHosts(f HostFault) *Injected {
	matches(f.Host, "")
	if !slices.Contains([]At{AtRequest, AtPower, AtBoot, AtClean, AtWrite, AtBootloader}, f.At) {
		panic(fmt.Sprintf("metal3test: a fault at %q: nothing is there", f.At))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	in := &hostFault{HostFault: f, ended: make(chan struct{})}
	i.hostFaults = append(i.hostFaults, in)
	return &Injected{mu: &i.mu, done: &in.done, end: func() {
		if !in.over() {
			close(in.ended)
		}
	}}
}

func (f *hostFault) over() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// wait waits for the delay, at most until the fault is taken back. It reports false where ctx or that of Ironic ended before. A request
// must not be slow for longer: Ironic waits for a BMC without limit, and has no look at the power of any other host meanwhile.
func (f *hostFault) wait(ctx, ofIronic context.Context) bool {
	t := time.NewTimer(f.Delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.ended:
	case <-ctx.Done():
		return false
	case <-ofIronic.Done():
		return false
	}
	return true
}

// hostFault returns what goes wrong there; nil: nothing does.
func (i *Ironic) hostFault(host string, at At) *hostFault {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, f := range i.hostFaults {
		if f.At != at || f.over() || !matches(f.Host, host) {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			f.done++
			return f
		}
	}
	return nil
}

// AddHost adds a host, which is off. Names are those of paths.
func (i *Ironic) AddHost(name string) *Host {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.hosts[name] != nil {
		panic("metal3test: there is a host " + name)
	}
	n := len(i.hosts) + 1
	h := &Host{
		i: i, name: name, mac: fmt.Sprintf("52:54:00:%02x:%02x:%02x", n>>16&0xff, n>>8&0xff, n&0xff),
		settings: map[string]any{"BootMode": "Uefi", "ProcVirtualization": "Disabled", "Threads": 2.0}, running: Nothing, password: name + "-pw", target: "None", events: make(chan func(context.Context), 1000),
	}
	i.hosts[name] = h
	i.done.Go(h.tell)
	return h
}

// Host returns the host of a name; nil where there is none.
func (i *Ironic) Host(name string) *Host {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hosts[name]
}
