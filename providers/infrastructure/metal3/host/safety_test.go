package host_test

import (
	"slices"
	"testing"

	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// every calls look with all combinations of what decides.
func every(look func(h host.Declared, n ironic.Node)) {
	bools := []bool{false, true}
	maintenances := []ironic.Node{
		{},
		{Maintenance: true},
		{Maintenance: true, Fault: ironic.PowerFault, LastError: "x"},
		{Maintenance: true, Fault: ironic.CleanFault, LastError: "x"},
		{Maintenance: true, Fault: ironic.ServiceFault, LastError: "x"},
		{Locked: true},
		{Protected: true},
		{LastError: "can't be resumed by conductor"},
	}
	preparations := []host.Declared{
		{Preparation: host.Unprepared, Outstanding: "x"},
		{Preparation: host.Unprepared, Outstanding: "x", KeptOff: true},
		{Preparation: host.PreparationAsked, Outstanding: "x", KeptOff: true},
		{Preparation: host.PreparationEnded, Outstanding: "x"},
		{Preparation: host.PreparationDropped},
		{TooNew: true},
		{RememberedBy: "x"},
	}
	computers := []host.Declared{{Shared: "x"}, {Moved: "x"}, {Moved: "x", Unproven: true}, {New: true, KeptOff: true}}
	machines := []*host.Machine{nil, machine(), machine(running), machine(leaving), machine(running, leaving)}
	for _, state := range []ironic.State{
		ironic.Enroll, ironic.Verifying, ironic.Manageable, ironic.Available, ironic.Inspecting, ironic.InspectWait, ironic.InspectFailed,
		ironic.Deploying, ironic.DeployWait, ironic.DeployHold, ironic.DeployFailed, ironic.Active, ironic.Adopting, ironic.AdoptFailed,
		ironic.Deleting, ironic.Error, ironic.Cleaning, ironic.CleanWait, ironic.CleanHold, ironic.CleanFailed,
		ironic.Servicing, ironic.ServiceWait, ironic.ServiceHold, ironic.ServiceFailed, "rescued",
	} {
		for _, n := range maintenances {
			n.State = state
			for _, n.Power = range []ironic.Power{ironic.PowerUnknown, ironic.PowerOn, ironic.PowerOff} {
				for _, n.Instance = range []string{"", ours, theirs} {
					for _, tags := range []host.Tags{host.NoTags, host.Own, host.Past, host.Unsettled} {
						for _, node := range []string{"", "n1"} {
							for _, m := range machines {
								for flags := range 32 {
									h := host.Declared{Tags: tags, Node: node, Machine: m, Erase: bools[flags&1], External: bools[flags>>1&1], Gone: bools[flags>>2&1], Paused: bools[flags>>3&1], Online: bools[flags>>4&1], Inspect: bools[flags>>4&1]}
									look(h, n)
									if n.Locked || n.Protected || h.Paused {
										continue
									}
									for _, p := range preparations {
										h.Preparation, h.KeptOff, h.Outstanding = p.Preparation, p.KeptOff, p.Outstanding
										h.TooNew, h.RememberedBy = p.TooNew, p.RememberedBy
										look(h, n)
									}
									if h.Erase || h.External || h.Gone {
										continue
									}
									h = host.Declared{Tags: tags, Node: node, Machine: m, Online: h.Online, Inspect: h.Inspect}
									for _, c := range computers {
										h.Shared, h.Moved, h.Unproven, h.New, h.KeptOff = c.Shared, c.Moved, c.Unproven, c.New, c.KeptOff
										look(h, n)
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestSafety: the promises of doc.go, in every combination of what decides.
func TestSafety(t *testing.T) {
	seen := make(map[host.Step]int)
	every(func(h host.Declared, n ironic.Node) {
		d := host.Next(h, &n)
		seen[d.Step]++
		m := host.Machine{}
		if h.Machine != nil {
			m = *h.Machine
		}
		mine := h.Machine != nil && n.Instance == ours
		free := n.Instance == "" && h.RememberedBy == "" && h.Node == "" && h.Tags != host.Unsettled
		kept := n.Maintenance && !(n.State == ironic.CleanFailed && n.Fault == ironic.CleanFault || n.State == ironic.ServiceFailed && n.Fault == ironic.ServiceFault)
		at := func(s ...ironic.State) bool { return slices.Contains(s, n.State) }
		ok := false
		switch d.Step {
		case host.None:
			return
		case host.Inspect, host.Provide, host.Prepare:
			if h.TooNew || h.RememberedBy != "" || h.New && h.KeptOff && !h.Erase {
				break
			}
			prepares := h.Preparation == host.Unprepared || h.Preparation == host.PreparationAsked
			ok = (d.Step == host.Inspect || at(ironic.Manageable) && (d.Step == host.Prepare) == prepares) && free && !m.Running && !h.External && (n.Power == ironic.PowerOff || n.Power == ironic.PowerOn && h.Erase) && at(ironic.Manageable, ironic.InspectFailed)
		case host.Deploy:
			ok = mine && !m.Running && !m.Release && (at(ironic.Available) && h.Node == "" && (n.Power != ironic.PowerOn || h.Erase) || at(ironic.DeployFailed))
		case host.Claim:
			ok = n.Instance == "" && h.Machine != nil && h.Tags != host.Unsettled && (m.Running && at(ironic.Manageable) || free && !m.Running && !m.Release && !h.External && at(ironic.Available) && (n.Power == ironic.PowerOff || n.Power == ironic.PowerOn && h.Erase))
		case host.Undeploy:
			ok = m.Release && !n.Protected && (mine && at(ironic.Active, ironic.DeployWait, ironic.DeployFailed, ironic.Error, ironic.ServiceFailed) || at(ironic.Error) && n.Instance == "" && h.Tags == host.Own)
		case host.Unclaim:
			ok = m.Release && mine && at(ironic.Available, ironic.Manageable) && !(m.Running && at(ironic.Manageable))
		case host.Adopt:
			ok = (mine && m.Running || h.External && n.Instance == "") && at(ironic.Manageable, ironic.AdoptFailed)
		case host.PowerOff:
			ok = at(ironic.Active) && !h.Online && (mine || h.External && n.Instance == "") || at(ironic.CleanFailed) && free && (!m.Running || m.Release)
		case host.PowerOn:
			ok = at(ironic.Active) && h.Online && (mine || h.External && n.Instance == "")
		case host.Renew:
			ok = h.Moved != "" && h.Unproven
		case host.Manage:
			ok = at(ironic.Enroll, ironic.InspectFailed) || at(ironic.CleanFailed) && free && n.Power == ironic.PowerOff || // on: in use, from then on
				at(ironic.Available) && free && (!m.Running || m.Release) && (h.Preparation == host.Unprepared || h.Preparation == host.PreparationAsked || h.Preparation == host.PreparationEnded) && !h.External
		case host.UnsetMaintenance:
			ok = at(ironic.CleanFailed) && n.Fault == ironic.CleanFault && free || at(ironic.ServiceFailed) && n.Fault == ironic.ServiceFault && mine
		case host.NotePrepared:
			ok = h.Preparation == host.PreparationEnded && (at(ironic.Manageable) && free || at(ironic.Active) && mine)
		case host.NoteUnprepared:
			ok = (h.Preparation == host.PreparationDropped || h.Preparation == host.PreparationEnded && at(ironic.CleanFailed, ironic.ServiceFailed)) &&
				(at(ironic.Manageable, ironic.CleanFailed) && free || at(ironic.Active, ironic.ServiceFailed) && mine)
		case host.Service:
			ok = mine && h.KeptOff && (at(ironic.Active) && n.Power == ironic.PowerOff && !h.Online || at(ironic.ServiceFailed)) && (h.Preparation == host.Unprepared || h.Preparation == host.PreparationAsked)
		case host.Abort:
			ok = mine && at(ironic.ServiceFailed)
		}
		byWish := d.Step == host.Undeploy || d.Step == host.Unclaim // on the computer that Ironic has
		power := (d.Step == host.PowerOn || d.Step == host.PowerOff) && at(ironic.Active)
		service := n.Serviced() && mine // what was begun there is ended
		if h.Shared != "" || h.Moved != "" && d.Step != host.Renew && !byWish && !power && !service {
			ok = false
		}
		if !ok || kept || n.Locked || h.Paused || h.Gone && !m.Release || d.Held != "" {
			t.Fatalf("%s: declared %+v, machine %+v, node %+v", d.Step, h, m, n)
		}
	})
	for _, s := range []host.Step{
		host.Manage, host.Inspect, host.Provide, host.Claim, host.Unclaim, host.Deploy, host.Adopt, host.Undeploy, host.PowerOn, host.PowerOff, host.UnsetMaintenance,
		host.Prepare, host.NotePrepared, host.NoteUnprepared, host.Service, host.Abort, host.Renew,
	} {
		if seen[s] == 0 {
			t.Errorf("no host has the step %q", s)
		}
	}
}
