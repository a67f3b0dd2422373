package metal3

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// macKey is the key of driver_info that tells which network card a host was enrolled with: a listing
// of nodes shows no ports.
const macKey = "fairlead_boot_mac"

// enrolledKey is the key of driver_info that tells when a host was enrolled.
const enrolledKey = "fairlead_enrolled"

// computers are nodes by the computer that they manage.
type computers struct {
	of    map[string]string // computers, by UUID
	by    map[string][]*ironic.Node
	parts map[string][]*ironic.Node // those of a system, by their BMC
}

// computersOf indexes nodes.
func computersOf(nodes []ironic.Node) computers {
	out := computers{of: make(map[string]string), by: make(map[string][]*ironic.Node), parts: make(map[string][]*ironic.Node)}
	for i := range nodes {
		computer := api.Computer(nodes[i].DriverInfo)
		if computer == "" {
			continue
		}
		out.of[nodes[i].UUID] = computer
		out.by[computer] = append(out.by[computer], &nodes[i])
		if bmc, _, part := strings.Cut(computer, "/"); part {
			out.parts[bmc] = append(out.parts[bmc], &nodes[i])
		}
	}
	return out
}

// others returns the nodes that manage a computer, but the one with that UUID.
func (c computers) others(computer, but string) []*ironic.Node {
	var out []*ironic.Node
	bmc, _, part := strings.Cut(computer, "/")
	beside := c.parts[computer]
	if part {
		beside = c.by[bmc]
	}
	for _, o := range slices.Concat(c.by[computer], beside) {
		if o.UUID != but {
			out = append(out, o)
		}
	}
	return out
}

// mayBeUsed reports whether something runs on the host of n, or may.
func mayBeUsed(n *ironic.Node) bool {
	return n.Instance != "" || n.State == ironic.Active || n.State == ironic.Adopting || n.State == ironic.AdoptFailed || n.State == ironic.Deleting || n.State == ironic.Error
}

// sharer returns another node that manages the computer of n, where nothing may be done through n for
// that: a node that is in use stays usable while the others are not. Nil: there is none.
func (c computers) sharer(n *ironic.Node) *ironic.Node {
	for _, other := range c.others(c.of[n.UUID], n.UUID) {
		if !mayBeUsed(n) || mayBeUsed(other) {
			return other
		}
	}
	return nil
}

func sharedWith(what string) string {
	return "its BMC is that of " + what + ", too (correct bmc.address in Git; remove the wrong node from Ironic if it has one)"
}

// shared says which other host has the computer of h; empty: none has, as far as is known.
func (o *observation) shared(h *observedHost) string {
	if h.node != nil {
		if other := o.listing.computers.sharer(h.node); other != nil {
			return sharedWith("node " + nameOf(other) + " of Ironic")
		}
		return ""
	}
	if others := o.listing.computers.others(h.bmc.Computer(), ""); len(others) > 0 {
		return sharedWith("node " + nameOf(others[0]) + " of Ironic")
	}
	if others := o.unenrolled.others(h.bmc.Computer(), h.String()); len(others) > 0 {
		return sharedWith("BareMetalHost " + others[0].Name)
	}
	return ""
}

// unenrolledOf returns the computers of hosts that Ironic does not have, as Git says.
func unenrolledOf(hosts []observedHost) computers {
	var nodes []ironic.Node
	for i := range hosts {
		if h := &hosts[i]; h.node == nil {
			nodes = append(nodes, ironic.Node{UUID: h.String(), Name: h.String(), DriverInfo: h.bmc.DriverInfo("", "")})
		}
	}
	return computersOf(nodes)
}

func nameOf(n *ironic.Node) string { return cmp.Or(n.Name, n.UUID) }

// moved says in what Git has another computer than Ironic for h; empty: in nothing. moves reports
// whether people say that the BMC of the computer has the address of Git now.
func (o *observation) moved(h *observedHost) (why string, moves bool) {
	n := h.node
	if n == nil || h.object == nil {
		return "", false
	}
	have, want := o.computerOf(n), h.bmc.Computer()
	if have != "" && want != "" && !fleet.SameIdentity(have, want) {
		if !fleet.SameIdentity(api.MovedFrom(h.object.Annotations), have) {
			return fmt.Sprintf("Git says that its BMC is %s, and Ironic has %s (correct bmc.address; if the BMC of this computer has another address now, write the annotation %s: %s; a host without a machine can also be removed from Ironic, and is enrolled again)",
				want, have, api.MovedAnnotation, have), false
		}
		if others := o.listing.computers.others(want, n.UUID); len(others) > 0 {
			return sharedWith("node " + nameOf(others[0]) + " of Ironic"), false
		}
		moves = true
	}
	if o.isForeign(h) { // Ironic was told of it otherwise
		return "", moves
	}
	mac, _ := n.DriverInfo[macKey].(string)
	for _, is := range []struct{ what, git, ironic string }{
		{"the driver", h.bmc.Driver, n.Driver},
		{"the boot interface", h.bmc.Interfaces["boot"], n.Boot},
		{"bootMACAddress", strings.ToLower(h.spec.BootMACAddress), mac},
	} {
		if is.git != "" && is.ironic != "" && is.git != is.ironic {
			return fmt.Sprintf("Git says that %s is %s, and Ironic enrolled it with %s (undo that; or, when no machine has it, remove its node from Ironic, and it is enrolled again)", is.what, is.git, is.ironic), false
		}
	}
	return "", moves
}

// computerOf returns the computer that a node manages.
func (o *observation) computerOf(n *ironic.Node) string {
	if o.listing.byID[n.UUID] == n {
		return o.listing.computers.of[n.UUID]
	}
	return api.Computer(n.DriverInfo) // a second look at the node may show another
}

// unproven reports whether the BMC of a host never answered, so that only this fleet's own entry in
// Ironic is known. The host is enrolled again if Git differs.
func (o *observation) unproven(h *observedHost) bool {
	return h.node != nil && h.node.State == ironic.Enroll && h.node.Instance == "" && h.record.isZero() && !o.isForeign(h)
}
