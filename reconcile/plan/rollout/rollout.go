package rollout

import (
	"time"

	"fairlead.dev/fleet"
)

// A Pool is what is asked for of one pool, and what is there.
type Pool struct {
	Replicas int
	MaxSurge int // machines above Replicas in a rollout
	// Inventory says that machines are on hosts of an inventory, and Spare how many of these
	// are free for the pool, or on their way to be.
	Inventory bool
	Spare     int

	// The next are of workers alone.
	MaxUnavailable  int // machines below Replicas in a rollout
	MaxRemediations int // machines that are replaced at once because they are unhealthy; negative: no bound
	OnDelete        bool
	Order           fleet.DeletionOrder
	Held            int  // machines that may be of the pool, and which must not be touched
	Pending         int  // machines that were asked for and are not there yet
	PendingCurrent  int  // how many of these will be up to date
	NoCreate        bool // no machine may be made now
	NoRoll          bool // no machine may be replaced now

	// Learners are of a control plane alone: the members of etcd that do not vote yet, each
	// as the index of its machine; -1: it has none.
	Learners []int

	Machines []Machine
}

// A Machine is what counts of one.
type Machine struct {
	Name      fleet.MachineName // decides where nothing else does
	Made      time.Time
	Domain    string // failure domain
	Current   bool   // it is up to date
	Leaving   bool   // its removal has begun
	Busy      bool   // pods are being moved away from it
	Available bool   // a worker that is, which is neither leaving nor unhealthy
	Well      bool   // of a control plane: it can be counted on
	Marked    bool   // people want it to go first
	Broken    bool   // it does not work
	Unhealthy bool   // a health check says so, or people do
	Condemned bool   // it is to be replaced because it is unhealthy
}

// A Kind says what a Step is.
type Kind string

// What is done now.
const (
	Create     Kind = "create"      // a machine is missing; Has says how many are there
	CreateFor  Kind = "create for"  // it will take the place of Machine
	Remediate  Kind = "remediate"   // Machine goes because it is unhealthy
	RemoveMore Kind = "remove more" // Machine goes because there are too many
	Replace    Kind = "replace"     // Machine goes because it is outdated, or people marked it
	// ReplaceFirst is Replace before there is a machine more, which MaxSurge allows: no host is
	// free for that.
	ReplaceFirst Kind = "replace first"
)

// What is waited for.
const (
	AwaitRemediation Kind = "await remediation" // Machine is unhealthy and stays until others are replaced
	AwaitOthers      Kind = "await others"      // Machine goes after others that are being removed
	AwaitSpare       Kind = "await spare"       // Machine is too many and stays until others are available
	AwaitAvailable   Kind = "await available"   // Machine is outdated and stays until others are available
	AwaitCreate      Kind = "await create"      // Pool.NoCreate
	AwaitRoll        Kind = "await roll"        // Pool.NoRoll
	AwaitWell        Kind = "await well"        // Machine is not well
	AwaitMember      Kind = "await member"      // a member of etcd does not vote yet
)

// A Step is one thing to do now, or one that is waited for.
type Step struct {
	Kind    Kind
	Machine int // its index in Pool.Machines; -1: none
	Has     int // of Create
}

// surge returns how many machines above Replicas there may be in a rollout, of total ones that are
// there. What is missing gets the hosts that are free before. scaleIn: there is no room for one
// more, and something has to go first.
func (p *Pool) surge(total int) (n int, scaleIn bool) {
	if !p.Inventory || p.MaxSurge == 0 {
		return p.MaxSurge, false
	}
	room := max(p.Spare-max(p.Replicas-total, 0), 0)
	n = min(p.MaxSurge, max(total-p.Replicas, 0)+room)
	return n, n == 0
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
