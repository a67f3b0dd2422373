package host_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

const (
	ours   = "00000000-0000-0000-0000-000000000001"
	theirs = "00000000-0000-0000-0000-000000000002"
)

func machine(change ...func(*host.Machine)) *host.Machine {
	m := &host.Machine{Instance: ours, Name: "md-0-x7k"}
	for _, c := range change {
		c(m)
	}
	return m
}

func running(m *host.Machine) { m.Running = true }
func leaving(m *host.Machine) { m.Release = true }

// TestNext: each state of a node, and what is done to it.
func TestNext(t *testing.T) {
	inspected := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	off, on := ironic.PowerOff, ironic.PowerOn
	for name, test := range map[string]struct {
		reason string
		h      host.Declared
		n      *ironic.Node
		phase  host.Phase
		step   host.Step
		held   string
		err    fleet.ErrorKind
	}{
		// Enrolment.
		"new":                  {"Ironic does not know it", host.Declared{}, nil, host.Absent, host.Create, "", ""},
		"never was":            {"neither Git nor Ironic has it", host.Declared{Gone: true}, nil, host.Absent, host.None, "", ""},
		"paused":               {"people keep Fairlead from it", host.Declared{Paused: true}, nil, host.Absent, host.None, "it is paused", ""},
		"enrolled":             {"its BMC is asked", host.Declared{}, &ironic.Node{State: ironic.Enroll}, host.Registering, host.Manage, "", ""},
		"verifying":            {"it is under way", host.Declared{}, &ironic.Node{State: ironic.Verifying}, host.Registering, host.None, "", ""},
		"password":             {"the kind says how soon again", host.Declared{}, &ironic.Node{State: ironic.Enroll, LastError: "HTTP GET http://bmc/redfish/v1 returned code 401."}, host.Registering, host.Manage, "", fleet.Unauthorized},
		"silent BMC":           {"the kind says how soon again", host.Declared{}, &ironic.Node{State: ironic.Enroll, LastError: "Unable to connect to http://bmc"}, host.Registering, host.Manage, "", fleet.Unavailable},
		"locked":               {"something is under way", host.Declared{}, &ironic.Node{State: ironic.Enroll, Locked: true}, host.Registering, host.None, "", ""},
		"left Git":             {"it is deprovisioned by wish alone", host.Declared{Gone: true}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.None, "Git no longer has it: it stays in Ironic (put it back, or remove it from Ironic)", ""},
		"manageable":           {"it is off and nobody's", host.Declared{Inspect: true}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Inspect, "", ""},
		"inspected":            {"once is enough", host.Declared{Inspect: true}, &ironic.Node{State: ironic.Manageable, Power: off, Inspected: inspected}, host.Registering, host.Provide, "", ""},
		"inspected long ago":   {"people want to know anew", host.Declared{Inspect: true, InspectAgain: true}, &ironic.Node{State: ironic.Manageable, Power: off, Inspected: inspected}, host.Registering, host.Inspect, "", ""},
		"free, long ago":       {"it is nobody's", host.Declared{Inspect: true, InspectAgain: true}, &ironic.Node{State: ironic.Available, Power: off, Inspected: inspected}, host.Ready, host.Manage, "", ""},
		"free, not inspected":  {"others made it available", host.Declared{Inspect: true}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.None, "", ""},
		"used, long ago":       {"it would be restarted", host.Declared{Online: true, Inspect: true, InspectAgain: true, Machine: machine()}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours, Inspected: inspected}, host.Provisioned, host.None, "", ""},
		"no inspection":        {"Git wants none", host.Declared{}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Provide, "", ""},
		"power not known":      {"whether it is on decides", host.Declared{}, &ironic.Node{State: ironic.Manageable}, host.Registering, host.None, "", ""},
		"was on":               {"somebody may work with it", host.Declared{Inspect: true}, &ironic.Node{State: ironic.Manageable, Power: on}, host.Registering, host.None, "it is switched on, and something may run on it (adopt it, switch it off, or set the annotation fairlead.dev/erase to the present time)", ""},
		"was on, erase":        {"people said so", host.Declared{Erase: true}, &ironic.Node{State: ironic.Manageable, Power: on}, host.Registering, host.Provide, "", ""},
		"named by a Node":      {"Ironic lost its database: a machine runs", host.Declared{Erase: true, Node: "eu/one/n1"}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.None, "Node eu/one/n1 runs on it (adopt it, or delete the Node)", ""},
		"tags":                 {"a machine may be there", host.Declared{Erase: true, Tags: host.Unsettled}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.None, "its extra has the tags of a machine that is not known to be gone (remove them when it is)", ""},
		"past tags":            {"the machine is gone", host.Declared{Tags: host.Past}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Provide, "", ""},
		"another's":            {"it is claimed", host.Declared{Erase: true}, &ironic.Node{State: ironic.Manageable, Power: off, Instance: theirs}, host.Claimed, host.None, "it is claimed as " + theirs + ", which is no machine of this cluster (release it there)", ""},
		"inspecting":           {"it is under way", host.Declared{Inspect: true}, &ironic.Node{State: ironic.Inspecting, Power: on}, host.Inspecting, host.None, "", ""},
		"inspect wait":         {"it is under way", host.Declared{Inspect: true}, &ironic.Node{State: ironic.InspectWait, Power: on}, host.Inspecting, host.None, "", ""},
		"inspection failed":    {"again, with a reason", host.Declared{Inspect: true}, &ironic.Node{State: ironic.InspectFailed, Power: off, LastError: "oops"}, host.Inspecting, host.Inspect, "", fleet.Unknown},
		"not inspected then":   {"Git wants none any more", host.Declared{}, &ironic.Node{State: ironic.InspectFailed, Power: off, LastError: "oops"}, host.Inspecting, host.Manage, "", fleet.Unknown},
		"inspection, on":       {"it may have been on before", host.Declared{Inspect: true}, &ironic.Node{State: ironic.InspectFailed, Power: on, LastError: "oops"}, host.Inspecting, host.None, "it is switched on, and something may run on it (adopt it, switch it off, or set the annotation fairlead.dev/erase to the present time)", fleet.Unknown},
		"inspection, external": {"it is adopted next", host.Declared{External: true, Inspect: true}, &ironic.Node{State: ironic.InspectFailed, Power: on, LastError: "oops"}, host.Inspecting, host.Manage, "", fleet.Unknown},
		"inspection, running":  {"it is adopted next", host.Declared{Inspect: true, Machine: machine(running)}, &ironic.Node{State: ironic.InspectFailed, Power: on, LastError: "oops"}, host.Inspecting, host.Manage, "", fleet.Unknown},
		"people's":             {"maintenance is people's", host.Declared{}, &ironic.Node{State: ironic.Manageable, Power: off, Maintenance: true, MaintenanceReason: "a new disk"}, host.Registering, host.None, "it is in maintenance: a new disk", ""},
		"people's, no reason":  {"maintenance is people's", host.Declared{}, &ironic.Node{State: ironic.Available, Power: off, Maintenance: true}, host.Ready, host.None, "it is in maintenance", ""},
		"unknown state":        {"nothing is guessed", host.Declared{}, &ironic.Node{State: "rescue"}, host.Unknown, host.None, "its state is rescue, which Fairlead does not know: finish in Ironic what was begun there", ""},

		// Cleaning.
		"cleaning":            {"it is under way", host.Declared{}, &ironic.Node{State: ironic.Cleaning, Power: on}, host.Preparing, host.None, "", ""},
		"clean wait":          {"it is under way", host.Declared{}, &ironic.Node{State: ironic.CleanWait, Power: on}, host.Preparing, host.None, "", ""},
		"clean hold":          {"people said so", host.Declared{}, &ironic.Node{State: ironic.CleanHold, Power: on}, host.Preparing, host.None, "Ironic was told to hold there (unhold it in Ironic)", ""},
		"clean failed":        {"first out of maintenance", host.Declared{}, &ironic.Node{State: ironic.CleanFailed, Power: on, Maintenance: true, Fault: ironic.CleanFault, LastError: "oops"}, host.Preparing, host.UnsetMaintenance, "", fleet.Unknown},
		"clean failed, on":    {"the ramdisk is switched off", host.Declared{}, &ironic.Node{State: ironic.CleanFailed, Power: on, LastError: "oops"}, host.Preparing, host.PowerOff, "", fleet.Unknown},
		"clean failed, off":   {"then manage, provide", host.Declared{Tags: host.Past}, &ironic.Node{State: ironic.CleanFailed, Power: off, LastError: "oops"}, host.Preparing, host.Manage, "", fleet.Unknown},
		"clean failed, power": {"its power changes", host.Declared{}, &ironic.Node{State: ironic.CleanFailed, Power: on, PowerTarget: "power off"}, host.Preparing, host.None, "", ""},
		"clean failed, used":  {"a Node says that it runs", host.Declared{Node: "n1"}, &ironic.Node{State: ironic.CleanFailed, Power: on}, host.Preparing, host.None, "Node n1 runs on it (adopt it, or delete the Node)", ""},
		"clean failed, kept":  {"people put it there", host.Declared{}, &ironic.Node{State: ironic.CleanFailed, Maintenance: true, MaintenanceReason: "mine"}, host.Preparing, host.None, "it is in maintenance: mine", ""},

		// Claim and deployment.
		"available":              {"nobody wants it", host.Declared{}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.None, "", ""},
		"new, kept off":          {"it may be in service", host.Declared{New: true, KeptOff: true}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.None, "Git keeps it off, and something may be on its disk (set online: true, or set the annotation fairlead.dev/erase to the present time)", ""},
		"new, kept off, erase":   {"people say so", host.Declared{New: true, KeptOff: true, Erase: true}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Provide, "", ""},
		"free, on":               {"somebody may work with it", host.Declared{}, &ironic.Node{State: ironic.Available, Power: on}, host.Ready, host.None, "it is switched on, and something may run on it (adopt it, switch it off, or set the annotation fairlead.dev/erase to the present time)", ""},
		"free, on, erase":        {"people say so", host.Declared{Machine: machine(), Erase: true}, &ironic.Node{State: ironic.Available, Power: on}, host.Ready, host.Claim, "", ""},
		"free, silent":           {"whether it is on is not known", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Available}, host.Ready, host.None, "its power state is not known, and something may run on it (wait until its BMC answers)", ""},
		"claimed, on":            {"somebody switched it on", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Available, Power: on, Instance: ours}, host.Claimed, host.None, "it was switched on before machine md-0-x7k was deployed, and something may run on it (delete the machine, or switch it off)", ""},
		"moved":                  {"it is another computer", host.Declared{Moved: "it moved"}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.None, "it moved", ""},
		"moved, silent":          {"its BMC may have moved", host.Declared{Moved: "it moved", Machine: machine()}, &ironic.Node{State: ironic.Active, Instance: ours, Maintenance: true, Fault: ironic.PowerFault, LastError: "no answer"}, host.Provisioned, host.None, "it moved", fleet.Unavailable},
		"moved, unproven":        {"a typo is corrected", host.Declared{Moved: "it moved", Unproven: true}, &ironic.Node{State: ironic.Enroll}, host.Registering, host.Renew, "", ""},
		"moved, used":            {"its power is as Git says, on the computer that Ironic has", host.Declared{Moved: "it moved", Online: true, Machine: machine()}, &ironic.Node{State: ironic.Active, Power: off, Instance: ours}, host.Provisioned, host.PowerOn, "", ""},
		"moved, leaving":         {"it is released on the computer that Ironic has", host.Declared{Moved: "it moved", Machine: machine(leaving)}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Deprovisioning, host.Undeploy, "", ""},
		"shared, new":            {"its computer is another host's", host.Declared{Shared: "it is shared"}, nil, host.Absent, host.None, "it is shared", ""},
		"shared, leaving":        {"its computer is another machine's", host.Declared{Shared: "it is shared", Machine: machine(leaving)}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Provisioned, host.None, "it is shared", ""},
		"wanted":                 {"it is free", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.Claim, "", ""},
		"wanted, retired":        {"people retired it", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Available, Power: off, Retired: true}, host.Ready, host.None, "it is retired in Ironic", ""},
		"wanted, lost":           {"another was quicker", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Available, Power: off, Instance: theirs}, host.Claimed, host.None, "it is claimed as " + theirs + ", which is no machine of this cluster (release it there)", ""},
		"wanted, Node":           {"its disk may be kept where nothing cleans", host.Declared{Machine: machine(), Node: "n1"}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.None, "Node n1 runs on it (adopt it, or delete the Node)", ""},
		"wanted, preparing":      {"only available hosts are claimed", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Provide, "", ""},
		"claimed":                {"it is ours", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Available, Power: off, Instance: ours}, host.Claimed, host.Deploy, "", ""},
		"claimed, Node":          {"the Node of the machine before", host.Declared{Machine: machine(), Node: "n1"}, &ironic.Node{State: ironic.Available, Power: off, Instance: ours}, host.Claimed, host.None, "Node n1 runs on it (delete the Node)", ""},
		"claimed, power":         {"a deployment could not reach it", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Available, Instance: ours, Maintenance: true, Fault: ironic.PowerFault, LastError: "no answer"}, host.Claimed, host.None, "", fleet.Unavailable},
		"not available":          {"provide would erase a claimed host", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Manageable, Power: off, Instance: ours}, host.Claimed, host.None, "it is claimed for machine md-0-x7k, and is not available: provide would erase it (make it available in Ironic, or delete the machine)", ""},
		"deploying":              {"it is under way", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Deploying, Instance: ours}, host.Provisioning, host.None, "", ""},
		"deploy wait":            {"it is under way", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.DeployWait, Instance: ours}, host.Provisioning, host.None, "", ""},
		"deploy hold":            {"people said so", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.DeployHold, Instance: ours}, host.Provisioning, host.None, "Ironic was told to hold there (unhold it in Ironic)", ""},
		"deploy failed":          {"the host or the image is to blame", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.DeployFailed, Instance: ours, LastError: "Input/output error"}, host.Failed, host.None, "", fleet.Unknown},
		"crashed":                {"Ironic was restarted", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.DeployFailed, Instance: ours, LastError: "The deploying state can't be resumed by conductor lab."}, host.Provisioning, host.Deploy, "", fleet.Unavailable},
		"deploy failed, foreign": {"it is another's", host.Declared{}, &ironic.Node{State: ironic.DeployFailed, Instance: theirs, LastError: "oops"}, host.Failed, host.None, "it is deploy failed as " + theirs + ", which is no machine of this cluster (release it there)", ""},

		// Machines.
		"active":           {"as Git says", host.Declared{Online: true, Machine: machine()}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Provisioned, host.None, "", ""},
		"active, off":      {"Git wants it on", host.Declared{Online: true, Machine: machine()}, &ironic.Node{State: ironic.Active, Power: off, Instance: ours}, host.Provisioned, host.PowerOn, "", ""},
		"active, offline":  {"Git wants it off", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Provisioned, host.PowerOff, "", ""},
		"active, is off":   {"as Git says", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Active, Power: off, Instance: ours}, host.Provisioned, host.None, "", ""},
		"active, changing": {"its power changes", host.Declared{Machine: machine()}, &ironic.Node{State: ironic.Active, Power: on, PowerTarget: "power off", Instance: ours}, host.Provisioned, host.None, "", ""},
		"active, silent":   {"Ironic heals that", host.Declared{Online: true, Machine: machine()}, &ironic.Node{State: ironic.Active, Instance: ours, Maintenance: true, Fault: ironic.PowerFault, MaintenanceReason: "no answer"}, host.Provisioned, host.None, "", fleet.Unavailable},
		"active, foreign":  {"it is another's", host.Declared{Online: true}, &ironic.Node{State: ironic.Active, Power: off, Instance: theirs}, host.Provisioned, host.None, "it is active as " + theirs + ", which is no machine of this cluster (release it there)", ""},
		"active, nobody's": {"somebody removed the claim", host.Declared{Online: true}, &ironic.Node{State: ironic.Active, Power: on}, host.Provisioned, host.None, "it is active and no machine's (release it in Ironic)", ""},
		"active, left Git": {"machines outlive manifests of hosts", host.Declared{Gone: true, Machine: machine()}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Provisioned, host.None, "Git no longer has it: it stays in Ironic (put it back, or remove it from Ironic)", ""},

		// What came from elsewhere, and what runs already.
		"external":             {"it is adopted as it is", host.Declared{External: true, Online: true}, &ironic.Node{State: ironic.Manageable, Power: on}, host.Registering, host.Adopt, "", ""},
		"external, active":     {"as Git says", host.Declared{External: true, Online: true}, &ironic.Node{State: ironic.Active, Power: on}, host.External, host.None, "", ""},
		"external, off":        {"Git wants it on", host.Declared{External: true, Online: true}, &ironic.Node{State: ironic.Active, Power: off}, host.External, host.PowerOn, "", ""},
		"external, available":  {"nobody gets it", host.Declared{External: true, Machine: machine()}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.None, "it is externally provisioned, and Ironic calls it available: what was on it is lost (correct externallyProvisioned)", ""},
		"lost database":        {"the machine runs on", host.Declared{Node: "n1", Machine: machine(running)}, &ironic.Node{State: ironic.Manageable, Power: on}, host.Registering, host.Claim, "", ""},
		"lost, foreign tags":   {"whose it is is not clear", host.Declared{Tags: host.Unsettled, Machine: machine(running)}, &ironic.Node{State: ironic.Manageable, Power: on}, host.Registering, host.None, "its extra has the tags of a machine that is not known to be gone (remove them when it is)", ""},
		"lost database, ours":  {"as it is", host.Declared{Node: "n1", Machine: machine(running)}, &ironic.Node{State: ironic.Manageable, Power: on, Instance: ours}, host.Claimed, host.Adopt, "", ""},
		"lost, was provided":   {"nothing is written over", host.Declared{Machine: machine(running)}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.None, "machine md-0-x7k ran on it", ""},
		"lost, provided, ours": {"nothing is written over", host.Declared{Machine: machine(running)}, &ironic.Node{State: ironic.Available, Power: off, Instance: ours}, host.Claimed, host.None, "machine md-0-x7k ran on it, and Ironic made it available since: what was on it is lost (delete the machine)", ""},
		"adopting":             {"it is under way", host.Declared{Machine: machine(running)}, &ironic.Node{State: ironic.Adopting, Instance: ours}, host.Provisioning, host.None, "", ""},
		"adopt failed":         {"again, with a reason", host.Declared{Machine: machine(running)}, &ironic.Node{State: ironic.AdoptFailed, Power: on, Instance: ours, LastError: "oops"}, host.Provisioning, host.Adopt, "", fleet.Unknown},
		"adopt failed, theirs": {"it is another's", host.Declared{}, &ironic.Node{State: ironic.AdoptFailed, Power: on, Instance: theirs, LastError: "oops"}, host.Provisioning, host.None, "it is adopt failed as " + theirs + ", which is no machine of this cluster (release it there)", ""},

		// Preparation.
		"to be prepared":           {"before machines have it", host.Declared{Preparation: host.Unprepared}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Prepare, "", ""},
		"to be prepared, inspect":  {"what it is made of comes first", host.Declared{Inspect: true, Preparation: host.Unprepared}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Inspect, "", ""},
		"to be prepared, on":       {"somebody may work with it", host.Declared{Preparation: host.Unprepared}, &ironic.Node{State: ironic.Manageable, Power: on}, host.Registering, host.None, "it is switched on, and something may run on it (adopt it, switch it off, or set the annotation fairlead.dev/erase to the present time)", ""},
		"not begun":                {"who asked may have ended", host.Declared{Preparation: host.PreparationAsked}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.Prepare, "", ""},
		"carried out":              {"so that it is not done again", host.Declared{Preparation: host.PreparationEnded}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.NotePrepared, "", ""},
		"dropped":                  {"Git wants no more", host.Declared{Preparation: host.PreparationDropped}, &ironic.Node{State: ironic.Manageable, Power: off}, host.Registering, host.NoteUnprepared, "", ""},
		"failed":                   {"what was asked for was not done", host.Declared{Preparation: host.PreparationEnded}, &ironic.Node{State: ironic.CleanFailed, Power: on, Maintenance: true, Fault: ironic.CleanFault, LastError: "oops"}, host.Preparing, host.NoteUnprepared, "", fleet.Unknown},
		"failed, noted":            {"first out of maintenance", host.Declared{Preparation: host.Unprepared}, &ironic.Node{State: ironic.CleanFailed, Power: on, Maintenance: true, Fault: ironic.CleanFault, LastError: "oops"}, host.Preparing, host.UnsetMaintenance, "", fleet.Unknown},
		"free, other settings":     {"it is nobody's", host.Declared{Preparation: host.Unprepared}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.Manage, "", ""},
		"free, not noted":          {"somebody provided it meanwhile", host.Declared{Preparation: host.PreparationEnded}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.Manage, "", ""},
		"free, Git wants no more":  {"it is as it is", host.Declared{Preparation: host.PreparationDropped}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.None, "", ""},
		"retired, other settings":  {"nobody gets it any more", host.Declared{Preparation: host.Unprepared}, &ironic.Node{State: ironic.Available, Power: off, Retired: true}, host.Ready, host.None, "", ""},
		"used, other settings":     {"people decide when", host.Declared{Online: true, Machine: machine(), Preparation: host.Unprepared, Outstanding: "firmware"}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Provisioned, host.None, "Git says other firmware, and machine md-0-x7k runs on it (replace the machine, or keep it off with online: false)", ""},
		"used, other volumes":      {"they would erase it", host.Declared{Online: true, Machine: machine(), Outstanding: "volumes of disks"}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Provisioned, host.None, "Git says other volumes of disks, and machine md-0-x7k runs on it (replace the machine)", ""},
		"kept off, still on":       {"it is switched off first", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.Unprepared, Outstanding: "firmware"}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Provisioned, host.PowerOff, "", ""},
		"kept off":                 {"that is the time", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.Unprepared, Outstanding: "firmware"}, &ironic.Node{State: ironic.Active, Power: off, Instance: ours}, host.Provisioned, host.Service, "", ""},
		"off for a reboot":         {"it is on again soon", host.Declared{Machine: machine(), Preparation: host.Unprepared, Outstanding: "firmware"}, &ironic.Node{State: ironic.Active, Power: off, Instance: ours}, host.Provisioned, host.None, "Git says other firmware, and machine md-0-x7k runs on it (replace the machine, or keep it off with online: false)", ""},
		"serviced":                 {"so that it is not done again", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.PreparationEnded, Outstanding: "firmware"}, &ironic.Node{State: ironic.Active, Power: off, Instance: ours}, host.Provisioned, host.NotePrepared, "", ""},
		"servicing":                {"it is under way", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.PreparationEnded}, &ironic.Node{State: ironic.ServiceWait, Power: on, Instance: ours}, host.Provisioned, host.None, "", ""},
		"service hold":             {"people said so", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.PreparationEnded}, &ironic.Node{State: ironic.ServiceHold, Power: on, Instance: ours}, host.Provisioned, host.None, "Ironic was told to hold there (unhold it in Ironic)", ""},
		"service failed":           {"first out of maintenance", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.PreparationEnded}, &ironic.Node{State: ironic.ServiceFailed, Power: on, Instance: ours, Maintenance: true, Fault: ironic.ServiceFault, LastError: "oops"}, host.Provisioned, host.UnsetMaintenance, "", fleet.Unknown},
		"service failed, out":      {"what was asked for was not done", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.PreparationEnded}, &ironic.Node{State: ironic.ServiceFailed, Power: on, Instance: ours, LastError: "oops"}, host.Provisioned, host.NoteUnprepared, "", fleet.Unknown},
		"service failed, noted":    {"people keep it off still", host.Declared{Machine: machine(), KeptOff: true, Preparation: host.Unprepared}, &ironic.Node{State: ironic.ServiceFailed, Power: on, Instance: ours, LastError: "oops"}, host.Provisioned, host.Service, "", fleet.Unknown},
		"service failed, given up": {"people switch it on", host.Declared{Online: true, Machine: machine(), Preparation: host.Unprepared}, &ironic.Node{State: ironic.ServiceFailed, Power: on, Instance: ours, LastError: "oops"}, host.Provisioned, host.Abort, "", fleet.Unknown},
		"service failed, theirs":   {"it is another's", host.Declared{}, &ironic.Node{State: ironic.ServiceFailed, Power: on, Instance: theirs}, host.Provisioned, host.None, "it is service failed as " + theirs + ", which is no machine of this cluster (release it there)", ""},
		"service failed, leaving":  {"its machine goes", host.Declared{Machine: machine(leaving), Preparation: host.Unprepared}, &ironic.Node{State: ironic.ServiceFailed, Power: on, Instance: ours, LastError: "oops"}, host.Deprovisioning, host.Undeploy, "", fleet.Unknown},

		// Release.
		"release":                {"by wish", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Deprovisioning, host.Undeploy, "", ""},
		"release, left Git":      {"a machine goes although its host left", host.Declared{Gone: true, Machine: machine(leaving)}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours}, host.Deprovisioning, host.Undeploy, "", ""},
		"release, protected":     {"people protect it", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Active, Power: on, Instance: ours, Protected: true}, host.Provisioned, host.None, "it is protected (unset protected of the node in Ironic)", ""},
		"release, silent":        {"Ironic would forget whose it is", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Active, Instance: ours, Maintenance: true, Fault: ironic.PowerFault, LastError: "no answer"}, host.Provisioned, host.None, "", fleet.Unavailable},
		"release, waiting":       {"a deployment is given up", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.DeployWait, Power: on, Instance: ours}, host.Deprovisioning, host.Undeploy, "", ""},
		"release, deploying":     {"Ironic takes it later", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Deploying, Power: on, Instance: ours}, host.Provisioning, host.None, "", ""},
		"release, failed":        {"a deployment is given up", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.DeployFailed, Power: on, Instance: ours, LastError: "oops"}, host.Deprovisioning, host.Undeploy, "", fleet.Unknown},
		"release, not begun":     {"it was not deployed", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Available, Power: off, Instance: ours}, host.Claimed, host.Unclaim, "", ""},
		"release, not adopted":   {"it was not deployed", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Manageable, Power: off, Instance: ours}, host.Claimed, host.Unclaim, "", ""},
		"release, lost":          {"what runs is adopted first", host.Declared{Node: "n1", Machine: machine(running, leaving)}, &ironic.Node{State: ironic.Manageable, Power: on}, host.Registering, host.Claim, "", ""},
		"release, claimed":       {"what runs is adopted first", host.Declared{Node: "n1", Machine: machine(running, leaving)}, &ironic.Node{State: ironic.Manageable, Power: on, Instance: ours}, host.Claimed, host.Adopt, "", ""},
		"release, unadopted":     {"what runs is adopted first", host.Declared{Machine: machine(running, leaving)}, &ironic.Node{State: ironic.AdoptFailed, Power: on, Instance: ours, LastError: "oops"}, host.Provisioning, host.Adopt, "", fleet.Unknown},
		"release, theirs":        {"it is another's now", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Active, Power: on, Instance: theirs}, host.Provisioned, host.None, "it is active as " + theirs + ", which is no machine of this cluster (release it there)", ""},
		"releasing":              {"it is under way", host.Declared{Machine: machine(leaving)}, &ironic.Node{State: ironic.Deleting, Power: on, Instance: ours}, host.Deprovisioning, host.None, "", ""},
		"released, cleaning":     {"the machine is gone", host.Declared{Tags: host.Own, Machine: machine(leaving)}, &ironic.Node{State: ironic.CleanWait, Power: on}, host.Preparing, host.None, "", ""},
		"released, failed":       {"the host goes on", host.Declared{Tags: host.Own, Machine: machine(leaving)}, &ironic.Node{State: ironic.CleanFailed, Power: off, LastError: "oops"}, host.Preparing, host.Manage, "", fleet.Unknown},
		"released":               {"it is not claimed again for who goes", host.Declared{Tags: host.Own, Machine: machine(leaving)}, &ironic.Node{State: ironic.Available, Power: off}, host.Ready, host.None, "", ""},
		"release failed":         {"extra alone knows whose it is: again", host.Declared{Tags: host.Own, Machine: machine(leaving)}, &ironic.Node{State: ironic.Error, Power: on, LastError: "Unable to connect to http://bmc"}, host.Deprovisioning, host.Undeploy, "", fleet.Unavailable},
		"release failed, silent": {"again when its BMC answers", host.Declared{Tags: host.Own, Machine: machine(leaving)}, &ironic.Node{State: ironic.Error, Maintenance: true, Fault: ironic.PowerFault, LastError: "no answer"}, host.Deprovisioning, host.None, "", fleet.Unavailable},
		"error":                  {"its machine is not to go, as far as is known", host.Declared{Tags: host.Unsettled}, &ironic.Node{State: ironic.Error, Power: on, LastError: "oops"}, host.Deprovisioning, host.None, "its release failed, and the machine of its tags may run on (delete that machine, or release the host in Ironic)", fleet.Unknown},
	} {
		got := host.Next(test.h, test.n)
		kind := fleet.ErrorKind("")
		if got.Err != nil {
			kind = fleet.KindOf(got.Err)
		}
		if got.Phase != test.phase || got.Step != test.step || got.Held != test.held || kind != test.err {
			t.Errorf("%s: %s: %s, step %q, held %q, error %q (%v), want %s, step %q, held %q, error %q", name, test.reason,
				got.Phase, got.Step, got.Held, kind, got.Err, test.phase, test.step, test.held, test.err)
		}
	}
}
