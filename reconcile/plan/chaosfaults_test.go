package plan_test

import (
	"slices"

	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// failStart has a machine that is being made never start.
func (c *chaos) failStart() {
	for _, m := range c.machines {
		if m.State == fleet.MachinePending && !m.dead && m.goneAt.IsZero() {
			m.State, m.Message, m.dead = fleet.MachineFailed, "no valid host was found", true
			c.logf("%s does not start", m.Name)
			return
		}
	}
}

// pause has people pause the cluster or a pool, or end that.
func (c *chaos) pause() {
	c.desired = change(c.desired, func(d *fleet.Cluster) {
		switch i := rapid.IntRange(-2, len(d.Workers)-1).Draw(c.t, "paused"); i {
		case -2:
			d.Paused = !d.Paused
		case -1:
			d.ControlPlane.Paused = !d.ControlPlane.Paused
		default:
			d.Workers[i].Paused = !d.Workers[i].Paused
		}
	})
	c.logf("paused, or not")
}

// jamAny has the drain of a machine never end, of those that are ending or go next.
func (c *chaos) jamAny() {
	if len(c.machines) > 0 && c.stuck == "" {
		c.stuck = c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "stuck")].Name
		c.logf("the drain of %s never ends", c.stuck)
	}
}

func (c *chaos) drawFault() {
	switch rapid.IntRange(0, 34).Draw(c.t, "fault") {
	case 0:
		c.crash()
	case 1:
		c.outage = !c.outage
	case 4, 5, 6, 7:
		c.dieJoining()
	case 3:
		if !c.changing(nil) { // what is on its way joins with what was there
			c.kubeadm = nil
			c.logf("kubeadm-config is gone")
		}
	case 2:
		if len(c.machines) > 0 {
			m := c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "victim")]
			if m.Role == fleet.RoleWorker || c.sparesVoter(m) {
				c.kill(m)
				m.Silent = m.Silent || m.goneAt.IsZero() && rapid.Bool().Draw(c.t, "silent")
			}
		}
	case 8:
		c.returnSilent()
	case 9, 10:
		c.mark()
	case 11:
		c.tamper()
	case 12:
		c.mend()
	case 13, 14:
		c.failStart()
	case 15:
		c.pause()
	case 16:
		c.jamAny()
	case 17:
		site := rapid.SampledFrom([]string{yard, yard, ""}).Draw(c.t, "site away")
		c.away[site] = !c.away[site]
		c.logf("site %q away: %t", site, c.away[site])
	}
}

// tamper damages the tags of a machine.
func (c *chaos) tamper() {
	if len(c.machines) == 0 {
		return
	}
	m := c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "tampered")]
	what := rapid.SampledFrom([]string{"role", "role", "pool", "machine", "template", "version", "swap"}).Draw(c.t, "tag")
	if m.tampered() || what == "machine" && c.naming == byName && c.twins[m.Name] {
		return // of the latter nothing at all would be left that tells whose the Node is
	}
	switch {
	case what != "swap":
		m.lost = "fairlead.dev/" + what
	case m.Role == fleet.RoleControlPlane:
		m.changed = "worker"
	default:
		return
	}
	c.logf("%s lost %s%s", m.Name, m.lost, m.changed)
}

// mend has people do what they are asked to: put tags back, and delete the twin that
// is not in use where nothing else tells which it is.
func (c *chaos) mend() {
	kept := map[fleet.MachineName]*simMachine{}
	for _, m := range c.machines {
		m.lost, m.changed = "", ""
		if o := kept[m.Name]; o == nil || !o.joined {
			kept[m.Name] = m
		}
	}
	for _, m := range c.machines {
		if c.naming == byName && kept[m.Name] != m && m.goneAt.IsZero() {
			m.State, m.goneAt = fleet.MachineDeleting, c.now
			c.logf("somebody deleted twin %s", m.ProviderID)
		}
	}
}

// mark has people ask for machines to be remediated, one or all of a pool, though
// they work.
func (c *chaos) mark() {
	pools := c.desired.Pools()
	pool := pools[rapid.IntRange(0, len(pools)-1).Draw(c.t, "marked pool")]
	all := rapid.Bool().Draw(c.t, "mark all")
	for _, m := range c.machines {
		if n := c.nodes[c.nodeName(m)]; n != nil && m.Pool == pool.Name {
			n.Annotations[clusterv1.RemediateMachineAnnotation] = ""
			c.logf("marked %s", m.Name)
			if !all {
				return
			}
		}
	}
}

func (c *chaos) marked(m *simMachine) bool {
	n := c.nodes[c.nodeName(m)]
	if n == nil {
		return false
	}
	_, ok := n.Annotations[clusterv1.RemediateMachineAnnotation]
	return ok
}

// returnSilent has what was asked of silent machines happen.
func (c *chaos) returnSilent() {
	for _, m := range c.machines {
		if m.Silent && m.State == fleet.MachineDeleting {
			m.goneAt = c.now.Add(c.leave)
		}
		m.Silent = false
	}
}

// dieJoining breaks a control-plane machine between two steps of kubeadm join:
// etcd knows of a member that never starts.
func (c *chaos) dieJoining() {
	learner := slices.ContainsFunc(c.members, func(m fleet.Member) bool { return m.Learner })
	for _, m := range c.machines {
		if m.join != fleet.JoinControlPlane || m.joined || m.dead || !m.goneAt.IsZero() || c.now.Sub(m.born) < c.boot/2 || learner || !c.reachable() {
			continue
		}
		c.kill(m)
		c.nextMember++
		c.members = append(c.members, fleet.Member{ID: c.nextMember, Learner: true})
		return
	}
}
