package fleet

import (
	"cmp"
	"slices"
	"time"
)

// A Host is one computer of an inventory that Git holds, as its provider has it: a
// BareMetalHost. Clusters that share an inventory see the same hosts.
type Host struct {
	Namespace string
	Name      string
	Provider  string // whose inventory it is in
	State     HostState
	// ID is what the provider calls it; empty: the provider does not have it.
	ID     string
	Power  HostPower
	Online bool // what Git says: it is to be on while a machine has it
	// Gone says that Git no longer has it, and the provider still has it.
	Gone bool
	// Consumer is who has it; zero: free.
	Consumer HostConsumer
	// Trouble is what went wrong last, in the provider's own words, and TroubleIn what that
	// was done for; both empty while nothing is wrong.
	Trouble   string
	TroubleIn HostTrouble
	// Held says why nothing is done to it until people do something, and what they can do;
	// empty: it goes on by itself.
	Held string
	// Refused says that it is held for what Git has of it, which cannot be.
	Refused bool
	// Next is what is to be done to it, and why; zero: nothing. Of a host that is held it is
	// zero.
	Next HostStep
	// Waits says what is waited for while nothing is done, as "clean wait: the ramdisk to
	// call"; empty: nothing.
	Waits string
	// Fits are the pools of the cluster that was looked at whose machines may have it, by their
	// selectors and failure domains, whether it is free or not. They are in no file.
	Fits     []PoolName
	Labels   map[string]string // of the manifest: selectors go by them
	BMC      string            // address of what it is managed by, as Git has it, without credentials
	BootMAC  string
	Hardware *HostHardware // what inspection found; nil: it was not inspected
	Enrolled time.Time     // when the provider got to know it; zero: not known
	Since    time.Time     // when its state began, by the provider's clock; zero: not known
}

// A HostState is where a host is in its life, in the words of BareMetalHost.
// Source: baremetal-operator, apis/metal3.io/v1alpha1, ProvisioningState.
type HostState string

// The states of a host.
const (
	HostUnmanaged             HostState = "unmanaged" // the provider does not have it
	HostRegistering           HostState = "registering"
	HostInspecting            HostState = "inspecting"
	HostPreparing             HostState = "preparing" // it is cleaned, or its disks and firmware are set up
	HostAvailable             HostState = "available"
	HostProvisioning          HostState = "provisioning"
	HostProvisioned           HostState = "provisioned"
	HostExternallyProvisioned HostState = "externally provisioned"
	HostDeprovisioning        HostState = "deprovisioning"
	HostPoweringOff           HostState = "powering off before delete"
	HostDeleting              HostState = "deleting"
)

// A HostPower is what a host's management controller says of its power.
type HostPower string

// The powers of a host.
const (
	HostPowerUnknown HostPower = "" // it does not answer, or was not asked yet
	HostOn           HostPower = "on"
	HostOff          HostPower = "off"
)

// A HostTrouble is what was done to a host when it went wrong, in the words of BareMetalHost.
// Source: baremetal-operator, apis/metal3.io/v1alpha1, ErrorType.
type HostTrouble string

// The troubles of a host.
const (
	HostRegistrationError         HostTrouble = "registration error"
	HostInspectionError           HostTrouble = "inspection error"
	HostPreparationError          HostTrouble = "preparation error"
	HostProvisioningError         HostTrouble = "provisioning error"
	HostDeprovisioningError       HostTrouble = "deprovisioning error" // BareMetalHost calls it a provisioning error
	HostPowerError                HostTrouble = "power management error"
	HostProvisionedAdoptionFailed HostTrouble = "provisioned registration error" // a running machine could not be adopted
)

// A HostConsumer is a machine that has a host.
type HostConsumer struct {
	Fleet   ID  // empty: this one
	Cluster Key // zero: not known
	Machine MachineName
	// Instance is what the provider calls a consumer that is no machine of a fleet; empty:
	// it is one.
	Instance string
}

// String names c for people; empty: no consumer.
func (c HostConsumer) String() string {
	switch {
	case c == (HostConsumer{}):
		return ""
	case c.Machine == "":
		return cmp.Or(c.Instance, "another fleet")
	case c.Fleet != "":
		return "fleet " + string(c.Fleet) + ": " + c.Cluster.String() + " " + string(c.Machine)
	}
	return c.Cluster.String() + " " + string(c.Machine)
}

// A HostStep is one thing that is done to a host.
type HostStep struct {
	Do  string // as "inspect it": enrol, verify, inspect, make available, adopt, switch on …
	Why string
}

// Key returns "namespace/name", which identifies a host of the fleet.
func (h *Host) Key() Key { return Key{Namespace: h.Namespace, Name: h.Name} }

// OperationalStatus returns the headline of BareMetalHost: OK, error, delayed (nothing is
// wrong, and people are to do something), or discovered (not managed yet).
func (h *Host) OperationalStatus() string {
	switch {
	case h.Trouble != "" || h.Held != "" && h.Gone:
		return "error"
	case h.Held != "":
		return "delayed"
	case h.ID == "":
		return "discovered"
	}
	return "OK"
}

// Free reports whether a machine may get h now.
func (h *Host) Free() bool {
	return h.State == HostAvailable && h.Consumer == (HostConsumer{}) && !h.Gone && h.Held == "" && h.Trouble == ""
}

// Comes reports whether h is on its way to be free, by itself.
func (h *Host) Comes() bool {
	if h.Consumer != (HostConsumer{}) || h.Gone || h.Held != "" || h.Trouble != "" {
		return false
	}
	switch h.State {
	case HostRegistering, HostInspecting, HostPreparing, HostDeprovisioning:
		return true
	}
	return false
}

// SortHosts sorts hosts by namespace and name.
func SortHosts(list []Host) {
	slices.SortStableFunc(list, func(a, b Host) int { return a.Key().Compare(b.Key()) })
}
