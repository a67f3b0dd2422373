package metal3

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// hostOf tells of h.
func (p *Provider) hostOf(o *observation, h *observedHost) fleet.Host {
	out := fleet.Host{
		Namespace: h.Namespace, Name: h.Name, Provider: api.ProviderName, State: hostState(h), Online: h.spec.Online, Gone: h.object == nil,
		Consumer: o.consumerOf(h), Held: h.next.Held, BMC: h.spec.BMC.Address, BootMAC: h.spec.BootMACAddress,
	}
	if h.object != nil {
		out.Labels, out.Fits = h.object.Labels, o.fits(h)
	}
	if n := h.node; n != nil {
		out.ID, out.Since, out.Hardware = n.UUID, n.Updated, hardwareOf(n)
		switch n.Power {
		case ironic.PowerOn:
			out.Power = fleet.HostOn
		case ironic.PowerOff:
			out.Power = fleet.HostOff
		}
		if err := n.Failure(); err != nil {
			out.Trouble, out.TroubleIn = err.Error(), troubleIn(n)
		}
	}
	if _, err := p.lastTry(o.nodeID(h), h, time.Time{}); err != nil && out.Trouble == "" {
		out.Trouble, out.TroubleIn = err.Error(), fleet.HostRegistrationError
		if h.node != nil {
			out.TroubleIn = troubleIn(h.node)
		}
	}
	out.Refused = out.Held != "" && (out.Held == h.declared.Moved || out.Held == h.declared.Shared)
	switch {
	case out.Held != "":
	case h.outdated != "":
		out.Next = fleet.HostStep{Do: h.outdated, Why: "Git says something else than when it was enrolled"}
	case h.next.Step != host.None:
		out.Next = fleet.HostStep{Do: string(h.next.Step), Why: whyOf(h)}
	case h.declared.TooNew && h.next.Phase == host.Registering:
		out.Waits = "a cluster that remembers a machine on it, which Ironic does not know yet"
	case h.node != nil && underWay(h.node):
		out.Waits = string(h.node.State)
		if h.node.State == ironic.DeployWait || h.node.State == ironic.CleanWait || h.node.State == ironic.InspectWait || h.node.State == ironic.ServiceWait {
			out.Waits += ": the ramdisk to call"
		}
	}
	return out
}

// fits returns the pools of the cluster whose machines may have h, whether it is free or not. A
// template that cannot be read is reported where a machine is made of it.
func (o *observation) fits(h *observedHost) []fleet.PoolName {
	if h.spec.ExternallyProvisioned || h.node != nil && h.node.Retired {
		return nil
	}
	var out []fleet.PoolName
	for _, p := range o.cluster.Pools() {
		spec, err := api.ReadMachine(p.Infrastructure)
		if err != nil { // it is of another provider, too
			continue
		}
		why, err := o.unsuited(spec, p.Name, h)
		if err == nil && why == "" && (p.FailureDomain == "" || h.object.Labels[api.FailureDomainLabel] == p.FailureDomain) {
			out = append(out, p.Name)
		}
	}
	return out
}

// unsuited says why machines of a pool may not have h, whether it is free or not and whatever their
// failure domain is; empty: they may.
func (o *observation) unsuited(spec *api.MachineSpec, pool fleet.PoolName, h *observedHost) (string, error) {
	selected, err := spec.HostSelector.Selects(h.labels())
	switch {
	case !h.mayHave(o.cluster.Key.Name, pool):
		return "is reserved for " + h.object.Annotations[api.ReservedAnnotation], nil
	case err != nil:
		return "", fleet.Errorf(fleet.Invalid, "select hosts", "%w", err)
	case !selected:
		return "is not selected", nil
	}
	return machine.Fits(spec, h.spec), nil
}

// mayHave reports whether h is for machines of a pool: people may have reserved it.
func (h *observedHost) mayHave(cluster string, pool fleet.PoolName) bool {
	who, reserved := h.object.Annotations[api.ReservedAnnotation]
	return !reserved || who == cluster || who == cluster+"/"+string(pool)
}

// labels returns those of h that selectors go by: of its manifest, and of what inspection found.
func (h *observedHost) labels() map[string]string {
	out := maps.Clone(h.object.Labels)
	if out == nil {
		out = make(map[string]string)
	}
	if h.node == nil {
		return out
	}
	hw := hardwareOf(h.node)
	if hw == nil {
		return out
	}
	out[api.CPUsLabel], out[api.MemoryLabel] = strconv.Itoa(hw.CPUs), strconv.Itoa(hw.MemoryMiB)
	if len(hw.Disks) > 0 {
		out[api.DiskLabel] = strconv.FormatInt(hw.Disks[0].Bytes>>30, 10)
	}
	for name, value := range map[string]string{api.ArchitectureLabel: hw.Architecture, api.ManufacturerLabel: hw.Manufacturer} {
		if value != "" {
			out[name] = strings.ReplaceAll(value, " ", "-")
		}
	}
	return out
}

// whyOf says why the next step of h is taken.
func whyOf(h *observedHost) string {
	switch {
	case h.next.Err != nil:
		return "it failed before"
	case h.next.Step == host.Prepare, h.next.Step == host.Service, h.next.Step == host.Manage && host.ToBePrepared(h.declared, h.node):
		if h.declared.Outstanding == "" {
			return "its inspection is older than Git wants"
		}
		return "Git says other " + h.declared.Outstanding
	case h.tags != nil:
		return "machine " + h.tags[fleet.TagMachine] + " has it"
	case h.node == nil:
		return "Git has it, and Ironic does not"
	}
	return "Git has it, and it is " + string(h.node.State)
}

// consumerOf returns the consumer of h.
func (o *observation) consumerOf(h *observedHost) fleet.HostConsumer {
	if h.tags != nil {
		k, _ := fleet.ParseKey(h.tags[fleet.TagCluster])
		return fleet.HostConsumer{Cluster: k, Machine: fleet.MachineName(h.tags[fleet.TagMachine])}
	}
	if h.node == nil || !h.record.occupied(h.node) {
		return fleet.HostConsumer{}
	}
	tags := h.record.ownerTags(h.node)
	if tags == nil {
		return fleet.HostConsumer{Instance: h.node.Instance}
	}
	k, _ := fleet.ParseKey(tags[fleet.TagCluster])
	out := fleet.HostConsumer{Cluster: k, Machine: fleet.MachineName(tags[fleet.TagMachine])}
	if id := fleet.ID(tags[fleet.TagFleet]); id != o.cluster.Fleet {
		out.Fleet = id
	}
	return out
}

// hostState says how far h is, in the words of BareMetalHost.
func hostState(h *observedHost) fleet.HostState {
	switch h.next.Phase {
	case host.Absent:
		return fleet.HostUnmanaged
	case host.Registering:
		return fleet.HostRegistering
	case host.Inspecting:
		return fleet.HostInspecting
	case host.Preparing:
		if h.record.extra != nil && h.node.Target != ironic.Manageable {
			return fleet.HostDeprovisioning
		}
		return fleet.HostPreparing
	case host.Ready:
		if host.ToBePrepared(h.declared, h.node) {
			return fleet.HostPreparing
		}
		return fleet.HostAvailable
	case host.Claimed, host.Provisioning, host.Failed:
		return fleet.HostProvisioning
	case host.Provisioned:
		return fleet.HostProvisioned
	case host.External:
		return fleet.HostExternallyProvisioned
	case host.Deprovisioning:
		return fleet.HostDeprovisioning
	}
	return fleet.HostUnmanaged
}

// troubleIn says what was done to n when it went wrong.
func troubleIn(n *ironic.Node) fleet.HostTrouble {
	if n.Fault == ironic.PowerFault {
		return fleet.HostPowerError
	}
	switch n.State {
	case ironic.Enroll, ironic.Verifying:
		return fleet.HostRegistrationError
	case ironic.InspectFailed, ironic.Inspecting, ironic.InspectWait:
		return fleet.HostInspectionError
	case ironic.DeployFailed, ironic.Deploying, ironic.DeployWait:
		return fleet.HostProvisioningError
	case ironic.AdoptFailed, ironic.Adopting:
		return fleet.HostProvisionedAdoptionFailed
	case ironic.Error, ironic.Deleting:
		return fleet.HostDeprovisioningError
	case ironic.CleanFailed, ironic.Cleaning, ironic.CleanWait, ironic.Manageable:
		return fleet.HostPreparationError
	}
	return fleet.HostPowerError
}

// hardwareOf returns what inspection found; nil: there was none.
// Source: Ironic, drivers/modules/inspect_utils.py, the properties that inspection writes.
func hardwareOf(n *ironic.Node) *fleet.HostHardware {
	if n.Inspected.IsZero() {
		return nil
	}
	number := func(key string) int {
		switch v := n.Properties[key].(type) {
		case float64:
			return int(v)
		case string:
			i, _ := strconv.Atoi(v)
			return i
		}
		return 0
	}
	word := func(key string) string { s, _ := n.Properties[key].(string); return s }
	out := &fleet.HostHardware{Manufacturer: word("vendor"), Architecture: word("cpu_arch"), CPUs: number("cpus"), MemoryMiB: number("memory_mb")}
	if gb := number("local_gb"); gb > 0 { // Ironic tells one less than there is
		out.Disks = []fleet.HostDisk{{Bytes: int64(gb+1) << 30}}
	}
	return out
}
