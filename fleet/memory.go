package fleet

// A Memory is what one pass over a cluster tells the next and nothing else tells:
// neither Git, nor the infrastructure, nor the cluster itself. It is part of the
// report, so it is kept on the status branch. A zero field is not known.
type Memory struct {
	// Remediation is the attempt to replace an unhealthy control-plane machine that
	// is under way; zero: none is, or the machine that came of it tells.
	Remediation Remediation `json:",omitzero"`
	// Fingerprint is the Fingerprint of the infrastructure when it last was in
	// the desired state; empty: it never was.
	Fingerprint string `json:"Order,omitempty"` // replicas of older versions read this name
	// ObservedConditions are the conditions of machines that health checks wait out, in the order
	// of machines.
	ObservedConditions []ObservedCondition `json:"Spells,omitempty"` // replicas of older versions read this name
	Reboots            []Reboot            `json:",omitempty"`       // of unhealthy machines, in the order of machines
	Milestones         Milestones          `json:",omitzero"`        // when the cluster came how far
	Residence          Residence           `json:",omitzero"`        // where the cluster lives
	Clock              Clock               `json:",omitzero"`        // how agents' clock compares with that of the cluster's API server
	Removals           []PoolRemoval       `json:",omitempty"`       // how machines of worker pools are removed, in the order of pools
	Retries            []PoolRetry         `json:",omitempty"`       // of pools whose machines fail to start, in the order of pools
}
