package plan

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
)

// noteHosts says which hosts of the inventory stay unchanged until people do something,
// and what is waited for at others. What other clusters have is theirs to wait for.
func (d *draft) noteHosts() {
	for i := range d.Observed.Infrastructure.Hosts {
		h := &d.Observed.Infrastructure.Hosts[i]
		own := h.Consumer.Fleet == "" && h.Consumer.Cluster == d.Desired.Key
		switch {
		case h.Refused && own:
			d.refuse("host %s: %s", h.Key(), h.Held)
		case h.Held != "":
			d.note("host %s: %s", h.Key(), h.Held)
		case h.Waits != "" && (own || h.Consumer == (fleet.HostConsumer{})):
			d.wait("host %s: %s", h.Key(), h.Waits)
		}
	}
}

// spare returns how many hosts of the inventory machines of g may have, now or when what is under
// way at them has ended; false where its machines come from no inventory, or are on hosts that the
// pool may not have any more: none of these would be for a replacement.
func (f *facts) spare(g *group) (n int, inventory bool) {
	provider := cmp.Or(g.pool.Provider, f.Desired.Provider)
	own := make(map[fleet.MachineName]bool)
	for _, m := range g.all {
		own[m.Name] = true
	}
	for i := range f.Observed.Infrastructure.Hosts {
		h := &f.Observed.Infrastructure.Hosts[i]
		switch {
		case h.Provider != provider || !slices.Contains(h.Fits, g.name):
		case h.Free(), h.Comes():
			n++
		case h.Consumer.Fleet == "" && h.Consumer.Cluster == f.Desired.Key && own[h.Consumer.Machine]:
			inventory = true
		}
	}
	return n, inventory
}

// hostsCondition tells how many hosts machines may have, and what is wrong with others. It
// is there where the infrastructure keeps an inventory.
func (d *draft) hostsCondition(l *ledger) {
	hosts := d.Observed.Infrastructure.Hosts
	if hosts == nil {
		return
	}
	var wrong, held []string
	free := 0
	for i := range hosts {
		h := &hosts[i]
		switch {
		case h.Trouble != "":
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s", h.Key(), h.TroubleIn, h.Trouble))
		case h.Held != "":
			held = append(held, h.Key().String()+": "+h.Held)
		case h.Free():
			free++
		}
	}
	message := fmt.Sprintf("%d of %s free", free, hostCount(len(hosts)))
	switch {
	case len(wrong) > 0:
		l.set(HostsReady, false, "", "HostsInTrouble", message+"; "+text.Some(wrong))
	case len(held) > 0:
		l.set(HostsReady, false, "", "HostsHeld", message+"; "+text.Some(held))
	default:
		l.set(HostsReady, true, "HostsReady", "", message)
	}
}

// HostsReady is the condition of a cluster whose machines come from an inventory of hosts.
const HostsReady = "HostsReady"

func hostCount(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}
