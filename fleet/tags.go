package fleet

// The ownership tags. Everything that Fairlead creates carries those that apply
// to it; nothing that lacks TagFleet and TagCluster is ever changed or deleted.
const (
	TagFleet     = "fairlead.dev/fleet"
	TagCluster   = "fairlead.dev/cluster" // "namespace/name"
	TagMachine   = "fairlead.dev/machine"
	TagRole      = "fairlead.dev/role"
	TagPool      = "fairlead.dev/pool"
	TagTemplate  = "fairlead.dev/template"
	TagVersion   = "fairlead.dev/version"
	TagOperation = "fairlead.dev/operation"
)

// The tags of a machine's Origin. A machine that lacks them is as good.
const (
	TagMade        = "fairlead.dev/made"
	TagRemediation = "fairlead.dev/remediation"
	TagTrust       = "fairlead.dev/trust"
)

// Tags returns the ownership tags of what the machines of c share.
func (c *Cluster) Tags() map[string]string {
	return map[string]string{TagFleet: string(c.Fleet), TagCluster: c.Key.String()}
}

// MachineTags returns the ownership tags of a machine of pool p, made by op.
func (c *Cluster) MachineTags(p Pool, name MachineName, op OperationID) map[string]string {
	t := c.Tags()
	t[TagMachine] = string(name)
	t[TagRole] = string(p.Role)
	t[TagPool] = string(p.Name)
	t[TagTemplate] = string(p.Template)
	t[TagVersion] = p.Version
	t[TagOperation] = string(op)
	return t
}

// Owns reports whether tags say that a thing belongs to c.
func (c *Cluster) Owns(tags map[string]string) bool {
	return tags[TagFleet] == string(c.Fleet) && tags[TagCluster] == c.Key.String()
}
