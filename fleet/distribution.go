package fleet

import "time"

// A Distribution is what a plan has to know of how control planes of the cluster's kind
// work, and how far what is kept in the cluster beside its Nodes is behind Git.
type Distribution struct {
	Traits Traits
	Needs  []SecretNeed
	// Steps are those that are due, by the version of the control plane that they are
	// for: those of a cluster of a class may be for another version than Git's.
	Steps map[string][]Step
	// Unmade are the ways in which no machine can be made.
	Unmade []Unmade `json:",omitempty"`
}

// An Unmade says why no machine of a pool can be made that joins in one way: its manifests give
// no user data. The decoder refuses such manifests; the content of a Secret may be known later.
type Unmade struct {
	Pool    PoolName
	Version string // of the pool
	Join    Join
	Why     string // "files[0] (/etc/motd): contentFrom.secret: …"
}

// WhyUnmade returns why no machine of p can be made that joins as join says; empty: it can.
func (d *Distribution) WhyUnmade(p *Pool, join Join) string {
	for _, u := range d.Unmade {
		if u.Pool == p.Name && u.Version == p.Version && u.Join == join {
			return u.Why
		}
	}
	return ""
}

// Traits say how control planes of a kind work. The zero value is a stacked etcd whose
// members leave it while the remover waits for them, as with kubeadm.
type Traits struct {
	Membership Membership
	// LeaveIsAsked says that RemoveMember only asks: a member is out when it is not
	// listed any more, and its machine is deleted no sooner. K3s, RKE2 and k0s are so.
	LeaveIsAsked bool `json:",omitempty"`
	// NodeIsMember says that to delete the Node of a server is to remove its member, so
	// that it takes the quorum that RemoveMember takes. K3s and RKE2 are so.
	NodeIsMember bool `json:",omitempty"`
}

// A Membership says where a control plane keeps its data; empty: not known.
type Membership string

// The memberships.
const (
	MembershipPerMachine Membership = "PerMachine" // each machine has a member of etcd
	MembershipElsewhere  Membership = "Elsewhere"  // people keep it, and machines come and go without it
)

// External reports whether no machine has a member of etcd.
func (t Traits) External() bool { return t.Membership == MembershipElsewhere }

// A SecretNeed is a secret that a cluster cannot do without, beside its kubeconfig.
type SecretNeed struct {
	Name SecretName
	// Given says that people give it, in Git or where the agent keeps secrets, since
	// no one else can. The others are made once, before the first machine.
	Given bool `json:",omitempty"`
	// Workers says that a worker cannot be made without it. Machines of the control
	// plane are given all.
	Workers bool `json:",omitempty"`
	// Inside says that it is needed to look into the cluster: at its members.
	Inside bool `json:",omitempty"`
	// Hosted says that a hosted control plane provides it, and Fairlead does not make it.
	Hosted bool `json:",omitempty"`
}

// NeedsTo returns the names of those of d's needs for which is holds.
func (d *Distribution) NeedsTo(is func(SecretNeed) bool) []SecretName {
	var out []SecretName
	for _, n := range d.Needs {
		if is(n) {
			out = append(out, n.Name)
		}
	}
	return out
}

// A Step is something of the distribution's own that is not as Git says, in a cluster
// that runs. Bringing it in line may be repeated.
type Step struct {
	Name string // what actions call it: "SyncKubeadmConfig"
	When StepTime
	// Rollout says that it is due where machines of the control plane are to be replaced,
	// and not as long as all are as Git says.
	Rollout bool   `json:",omitempty"`
	Node    string `json:",omitempty"` // of the server that it is about; empty: it is about all
	Reason  string // for people
}

// A StepTime says when a step is taken.
type StepTime string

// The times.
const (
	BeforeJoin        StepTime = "BeforeJoin"        // before a machine of the control plane joins: none does otherwise
	UnlessLeaving     StepTime = "UnlessLeaving"     // when nothing that is planned takes out the server on its Node
	Never             StepTime = "Never"             // it cannot be taken: the cluster keeps what it was made with
	AfterControlPlane StepTime = "AfterControlPlane" // when every machine of the control plane is as Git says
)

// A Server is one part of a control plane, on a machine.
type Server struct {
	Node  string // its Node
	Ready bool   // its API server, and what belongs to that, works
	// CertificatesNotAfter is when the certificate expires that its API server serves
	// with, as the others on the machine do; zero where that is not known.
	CertificatesNotAfter time.Time
}

// Applied is what a distribution keeps in a cluster for machines that join, as it was
// brought in line last.
type Applied struct {
	Version string            // of Kubernetes; empty: it cannot be read
	Marks   map[string]string // of steps, by name: what each was done for last
}

// Made is what a cluster was made with and cannot change later. A field is empty where
// it is not known.
type Made struct {
	Networking Networking
	Membership Membership
	// Flags are those that servers have to agree on, of distributions whose servers keep what
	// the first one was told: machines are made with these. Nil: there are none.
	Flags map[string]string
}

// Networking are the ranges and the domain of a cluster.
type Networking struct {
	ServiceSubnet string `json:"serviceSubnet"` // ranges, with commas
	PodSubnet     string `json:"podSubnet"`
	DNSDomain     string `json:"dnsDomain"`
}
