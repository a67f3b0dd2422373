package machine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/endpoint"
)

// A VM is one that was seen.
type VM struct {
	Ref          types.ManagedObjectReference
	Name         string
	Configured   bool   // its configuration is known, which it is not while it is being cloned
	UUID         string // of its BIOS
	InstanceUUID string
	Tags         string            // the value of TagsKey; empty: there is none
	Read         map[string]string // the content of Tags; nil: not read yet, or empty
	Template     bool
	Power        types.VirtualMachinePowerState
	Connection   types.VirtualMachineConnectionState
	Created      time.Time
	Booted       time.Time // when it was powered on; zero if it is off
	NICs         []NIC     // as the tools in the guest say
	ToolsRunning bool
	Busy         string // the task that runs on it, in vCenter's words; empty: none does
	Going        bool   // its deletion was asked for while vCenter did not reach it
	Refusal      string // why it could not be powered on, in vCenter's words; empty: it was not tried
}

// A NIC is a network interface of a guest.
type NIC struct {
	MAC       string
	Card      bool // it is a card of the VM, and not one that software in the guest made
	Addresses []string
}

// An Owned is a VM that is a machine of a cluster.
type Owned struct {
	VM      VM
	Tags    map[string]string // nil if they cannot be read
	Machine fleet.Machine
	Held    string // why it must not be powered on; empty: it may be
}

// Deleting reports whether its deletion began, or was asked for.
func (o *Owned) Deleting() bool { return o.VM.Going || !deletingSince(o.Tags).IsZero() }

// MachinesOf returns the machines of c among all VMs of a vCenter, or those that an Index has for it, in the
// order of these. A copy of a
// machine is none while the machine is there. What has tags of c and is nowhere what they
// were made for, or is that and has other tags, is shown as damaged, and so are two of which
// none is known to be the machine.
func MachinesOf(all []VM, c *fleet.Cluster) []Owned {
	machines := originals(all, c)
	made := madeFor(c)
	var out []Owned
	for i := range all {
		v := &all[i]
		tags, err := v.tags()
		owned := err == nil && c.Owns(tags)
		if !owned {
			if made(v.UUID) || made(v.InstanceUUID) {
				out = append(out, v.owned(tags, v.whyDamaged(tags, err, c), c))
			}
			continue
		}
		id := uuidsOf(tags)
		doubt := ""
		switch is := machines[id]; {
		case v.hasUUID(id) && len(is) > 1:
			doubt = fmt.Sprintf("%d VMs have its tags and its UUID %s (remove the copies, or take %s off them)", len(is), id.Instance, TagsKey)
		case slices.Contains(is, i):
		case v.hasUUID(id): // a copy with one of its UUIDs
			continue
		case made(v.UUID) || made(v.InstanceUUID):
			doubt = v.whyDamaged(tags, nil, c)
		case len(is) > 0, v.Template:
			continue // a copy
		default:
			doubt = fmt.Sprintf("its instance UUID is %s, and its tags are those of %s: it is a copy of a machine that is gone, or somebody changed its UUIDs (take %s off a copy)", v.InstanceUUID, id.Instance, TagsKey)
		}
		out = append(out, v.owned(tags, doubt, c))
	}
	return out
}

// tags returns what the tags of v say.
func (v *VM) tags() (map[string]string, error) {
	switch {
	case v.Read != nil:
		return v.Read, nil
	case v.Tags == "":
		return nil, fmt.Errorf("%s is missing", TagsKey)
	}
	return DecodeTags(v.Tags)
}

// Untagged returns v, which is of c by what a Node of c says and not by its tags, as a damaged
// machine.
func Untagged(v VM, c *fleet.Cluster) fleet.Machine {
	tags, err := v.tags()
	return v.owned(tags, v.whyDamaged(tags, err, c), c).Machine
}

// UntaggedByName returns v, of which nothing but its name and its folder says that it is a machine of pool,
// as a damaged one. path is where it is, for people.
func UntaggedByName(v VM, path string, pool *fleet.Pool, c *fleet.Cluster) fleet.Machine {
	m := Untagged(v, c)
	m.Pool = pool.Name
	m.Damaged += fmt.Sprintf("; it is called like a machine of pool %s, in a folder of these (rename %s if it is none)", pool.Name, path)
	return m
}

// originals returns which of all are what their tags were made for, by the UUIDs that follow
// from these or stand in them: of several those with both UUIDs, as a VM that was restored beside itself has
// the one of its BIOS alone. Those whose UUIDs cannot be a machine's of c are left out.
func originals(all []VM, c *fleet.Cluster) map[UUIDs][]int {
	out := make(map[UUIDs][]int)
	whole := make(map[UUIDs][]int)
	for i := range all {
		v := &all[i]
		tags, err := v.tags()
		if err != nil || !c.Owns(tags) && !Adopted(tags) {
			continue
		}
		id := uuidsOf(tags)
		if !v.hasUUID(id) {
			continue
		}
		out[id] = append(out[id], i)
		if strings.EqualFold(v.UUID, id.BIOS) && strings.EqualFold(v.InstanceUUID, id.Instance) {
			whole[id] = append(whole[id], i)
		}
	}
	for id, list := range whole {
		out[id] = list
	}
	return out
}

// Copies returns the VMs that have the tags of a machine, of whatever cluster, and are copies of it:
// another VM has more of the UUIDs that these tags were written for, or they are templates. What the
// tags name, as addresses, is the machine's alone.
func Copies(all []VM) map[types.ManagedObjectReference]bool {
	like := make(map[string][]*VM)
	for i := range all {
		v := &all[i]
		if tags, err := v.tags(); err == nil {
			key := fmt.Sprint(tags[fleet.TagFleet], " ", tags[fleet.TagCluster], " ", tags[fleet.TagMachine], " ", tags[fleet.TagOperation], " ", tags[fleet.TagMade])
			like[key] = append(like[key], v)
		}
	}
	out := make(map[types.ManagedObjectReference]bool)
	for _, list := range like {
		if len(list) == 1 && !list[0].Template {
			continue
		}
		most := 0
		for _, v := range list {
			most = max(most, v.fits())
		}
		for _, v := range list {
			if n := v.fits(); n < most || n == 0 && v.Template {
				out[v.Ref] = true
			}
		}
	}
	return out
}

// fits returns how many of the two UUIDs v has that its tags were written for.
func (v *VM) fits() int {
	tags, _ := v.tags()
	n, id := 0, uuidsOf(tags)
	for _, same := range []bool{strings.EqualFold(v.UUID, id.BIOS), strings.EqualFold(v.InstanceUUID, id.Instance)} {
		if same {
			n++
		}
	}
	return n
}

// hasUUID reports whether v has one of the UUIDs id, with which it was created or adopted: vCenter changes
// a UUID that another VM has, too.
func (v *VM) hasUUID(id UUIDs) bool {
	return strings.EqualFold(v.UUID, id.BIOS) || strings.EqualFold(v.InstanceUUID, id.Instance)
}

// whyDamaged returns the defect of the tags of v, which belongs to c by its UUID.
func (v *VM) whyDamaged(tags map[string]string, err error, c *fleet.Cluster) string {
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, t := range []struct{ tag, want string }{{fleet.TagFleet, string(c.Fleet)}, {fleet.TagCluster, c.Key.String()}} {
		if have, ok := tags[t.tag]; !ok {
			out = append(out, t.tag+" is missing")
		} else if have != t.want {
			out = append(out, fmt.Sprintf("%s is %q", t.tag, have))
		}
	}
	out = append(out, fmt.Sprintf("its instance UUID is %s, which these tags do not make", v.InstanceUUID))
	return strings.Join(out, "; ")
}

// owned returns v as a machine of c. doubt says what makes it uncertain; empty: nothing does.
func (v *VM) owned(tags map[string]string, doubt string, c *fleet.Cluster) Owned {
	m := fleet.MachineFromTags(tags)
	if doubt != "" {
		m.Damaged = strings.TrimPrefix(m.Damaged+"; "+doubt, "; ")
	}
	if m.Damaged != "" {
		if m.Name == "" {
			m.Name = fleet.MachineName(v.Name)
		}
		if m.Pool == "" {
			if pool := PoolOf(c, m.Name); pool != nil {
				m.Pool = pool.Name
			}
		}
	}
	m.ProviderID = v.ProviderID()
	m.FailureDomain = tags[TagFailureDomain]
	m.Created = v.Created
	if m.Created.IsZero() {
		m.Created = m.Origin.Made
	}
	m.State, m.Message, m.Silent = v.state()
	if m.State == fleet.MachineRunning {
		m.Addresses = v.addresses(c, tags)
	}
	o := Owned{VM: *v, Tags: tags, Machine: m}
	if o.Deleting() && m.Damaged == "" {
		o.Machine.State = fleet.MachineDeleting
	}
	return o
}

// ProviderID returns the id that the Node of v registers with; empty if it is not known.
func (v *VM) ProviderID() fleet.ProviderID {
	if v.UUID == "" {
		return ""
	}
	return fleet.ProviderID(IDPrefix + strings.ToLower(v.UUID))
}

// state says what vCenter's states mean.
func (v *VM) state() (s fleet.MachineState, message string, silent bool) {
	s = fleet.MachinePending
	if v.Power != types.VirtualMachinePowerStatePoweredOff && v.Power != "" {
		s = fleet.MachineRunning
	}
	switch {
	case v.Connection != types.VirtualMachineConnectionStateConnected && v.Connection != "":
		return s, fmt.Sprintf("vCenter says that the VM is %s: its host or its datastore cannot be reached", v.Connection), true
	case !v.Configured:
		return fleet.MachinePending, "the VM is being cloned", false
	case v.Template:
		return fleet.MachineFailed, "the VM was made a template (make it a VM again, or delete the machine)", false
	case v.Power == types.VirtualMachinePowerStateSuspended:
		return s, "the VM is suspended (resume it)", false
	case s == fleet.MachineRunning:
		return s, "", false
	case v.Refusal != "":
		return fleet.MachineFailed, v.Refusal, false
	case v.Busy != "":
		return s, v.Busy + " is under way", false
	}
	return s, "the VM is powered off", false
}

// addresses returns those of the cards of v in the order of these, IPv4 first, without what
// others cannot reach it at, and without the endpoint of c, which servers have by turns.
func (v *VM) addresses(c *fleet.Cluster, tags map[string]string) []string {
	wanted, _ := netip.ParseAddr(endpoint.Wanted(c).Host)
	drawn, _ := addresses.EndpointOf(tags)
	var four, six []string
	for _, n := range v.NICs {
		for _, text := range n.Addresses {
			a, err := netip.ParseAddr(text)
			switch {
			case err != nil, !n.Card, a.IsLinkLocalUnicast(), a.IsLoopback(), a.IsMulticast(), a.IsUnspecified(), a == wanted, a == drawn.Address:
			case a.Is4():
				four = append(four, a.String())
			default:
				six = append(six, a.String())
			}
		}
	}
	return append(four, six...)
}
