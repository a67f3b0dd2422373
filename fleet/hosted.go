package fleet

// A HostedControlPlane is a control plane that is no machine of its cluster: pods or
// processes elsewhere, or what somebody else keeps. All machines of the cluster are
// workers then.
type HostedControlPlane struct {
	// Object says what serves the API; its kind chooses who sees to it.
	Object Object
	// Version is the version of Kubernetes that Git names; empty where it names none.
	Version string `json:",omitempty"`
	// Endpoint is the one that Object names; zero where it names none.
	Endpoint Endpoint `json:",omitzero"`
}

// HostedState is how a hosted control plane is.
type HostedState struct {
	// External says that somebody else keeps it: it is neither made nor deleted here.
	External bool
	Exists   bool     // something of it is there that is deleted with the cluster
	Ready    bool     // it serves, and its kubeconfig is known
	Version  string   // of Kubernetes that it serves; empty: not known
	Endpoint Endpoint // for machines; zero: not known yet
	Message  string   // why it is not ready, or what is wrong with it though it is, for people
	Drift    []string // what is to be changed of what serves, for people, sorted
	// Stale says that what the secret store has of it, its kubeconfig and its authority, is
	// not what it gives now.
	Stale bool
}

// Version returns the version of Kubernetes that Git asks for of the control plane; empty
// where a hosted one has none in Git.
func (c *Cluster) Version() string {
	if c.Hosted != nil {
		return c.Hosted.Version
	}
	return c.ControlPlane.Version
}

// ControlPlaneKind returns the kind of the object that the control plane comes from.
func (c *Cluster) ControlPlaneKind() string {
	if c.Hosted != nil {
		return c.Hosted.Object.GVK.Kind
	}
	return ObjectKind(RoleControlPlane, c.ControlPlane.Kind)
}

// ControlPlaneName returns the name of that object.
func (c *Cluster) ControlPlaneName() string {
	if c.Hosted != nil {
		return c.Hosted.Object.Name
	}
	return string(c.ControlPlane.Name)
}

// ServedAt returns c as providers are to see it: with the endpoint at which its hosted
// control plane serves, as if Git named it; c where it has none.
func (c *Cluster) ServedAt(e Endpoint) *Cluster {
	if c.Hosted == nil || e.IsZero() || c.Endpoint == e {
		return c
	}
	out := *c
	out.Endpoint = e
	return &out
}
