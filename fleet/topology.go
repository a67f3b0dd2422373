package fleet

// A Topology says how a Cluster that is made from a ClusterClass gets to its
// version of Kubernetes. The version itself, and what the pools are then, is in
// the Cluster; what is asked for on the way depends on what is there, so
// the planner decides it.
// Source: Cluster API, "Chained and efficient upgrades".
type Topology struct {
	Class Key
	// Version is that of the topology, beside a hosted control plane, whose keeper decides about
	// patches; empty: the control plane has it.
	Version string `json:",omitempty"`
	// Listed says that the class lists versions, so that an upgrade may go
	// through several minors, one by one.
	Listed bool `json:",omitempty"`
	// Older is what the class makes of the cluster at those of its versions that
	// are older than the cluster's, oldest first.
	Older []ClassVersion `json:",omitempty"`
	// Order names the worker pools in the order in which they are upgraded,
	// Concurrency says how many of them at once: at least one.
	Order       []PoolName `json:",omitempty"`
	Concurrency int
	// Deferred holds the pools whose upgrade people put off, and by which
	// annotation.
	Deferred map[PoolName]string `json:",omitempty"`
}

// A ClassVersion is what a class makes of the pools of a cluster, and of its hosted control plane if it has one, at
// a version.
type ClassVersion struct {
	Version string
	Pools   map[PoolName]Blueprint
	Hosted  *HostedControlPlane `json:",omitempty"`
}

// A Blueprint is what of a pool a class may make differently at each version:
// what its machines are made of.
type Blueprint struct {
	Template       TemplateHash
	Former         []TemplateHash `json:",omitempty"`
	Bootstrap      Bootstrap
	Infrastructure Object
	NamePattern    string `json:",omitempty"`
}

// Blueprint returns what machines of p are made of.
func (p *Pool) Blueprint() Blueprint {
	return Blueprint{Template: p.Template, Former: p.Former, Bootstrap: p.Bootstrap, Infrastructure: p.Infrastructure, NamePattern: p.NamePattern}
}

// At returns p with machines of another version, which are made of b.
func (p Pool) At(version string, b Blueprint) Pool {
	p.Version, p.Template, p.Former = version, b.Template, b.Former
	p.Bootstrap, p.Infrastructure, p.NamePattern = b.Bootstrap, b.Infrastructure, b.NamePattern
	return p
}

// At returns what the class makes of the pools at version, which is older than
// the cluster's.
func (t *Topology) At(version string) (ClassVersion, bool) {
	for _, v := range t.Older {
		if v.Version == version {
			return v, true
		}
	}
	return ClassVersion{}, false
}
