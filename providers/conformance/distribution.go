package conformance

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// DistributionOptions say how to reach the distribution under test.
type DistributionOptions struct {
	// New returns a world that is empty and that nothing else uses. Each check calls it
	// once.
	New func(t testing.TB) World

	// Cluster returns a cluster of the distribution that the infrastructure of New's
	// worlds takes, with a control plane and one pool of workers. The suite sets Fleet,
	// Key and the versions of the pools.
	Cluster func() fleet.Cluster

	// Older and Newer are versions that the distribution has, a minor apart.
	Older, Newer string

	// Around runs each check, in a testing/synctest bubble perhaps; nil means that it is
	// just called.
	Around func(t *testing.T, test func(t *testing.T))
}

// A World is where clusters of a distribution live: its machines boot.
type World struct {
	Infrastructure providers.Infrastructure
	Distribution   providers.Distribution
	Workload       providers.Workload

	// Power cuts the power of a machine, or gives it back.
	Power func(t testing.TB, id fleet.ProviderID, on bool)
}

// A DistributionCheck is one test of the suite of distributions.
type DistributionCheck struct {
	Name string
	Run  func(t testing.TB, o DistributionOptions)
}

// RunDistribution runs the suite of distributions as subtests of t. It does with a
// distribution what a plan would, in the order that a plan would, and holds what a plan
// relies on:
//
//	conformance.RunDistribution(t, conformance.DistributionOptions{
//		New:     func(t testing.TB) conformance.World { … },
//		Cluster: func() fleet.Cluster { … },
//		Older:   "v1.33.5", Newer: "v1.34.1",
//		Around:  synctest.Test,
//	})
func RunDistribution(t *testing.T, o DistributionOptions) {
	for _, c := range DistributionChecks() {
		t.Run(c.Name, func(t *testing.T) {
			if o.Around == nil {
				c.Run(t, o)
				return
			}
			o.Around(t, func(t *testing.T) { c.Run(t, o) })
		})
	}
}

// DistributionChecks returns the tests of the suite of distributions.
func DistributionChecks() []DistributionCheck {
	return []DistributionCheck{
		{"UserDataIsRepeatable", userDataIsRepeatable},
		{"WorkersAreGivenWhatWorkersNeed", workersAreGivenLittle},
		{"ClusterGrows", clusterGrows},
		{"NobodyJoinsUnasked", nobodyJoinsUnasked},
		{"ServerLeaves", serverLeaves},
		{"NameIsUsedAgain", nameIsUsedAgain},
		{"DeadServerIsReplaced", deadServerIsReplaced},
		{"MemberWithoutMachine", memberWithoutMachine},
		{"LastMemberStays", lastMemberStays},
		{"LostQuorumIsNoAnswer", lostQuorum},
		{"ServersComeBack", serversComeBack},
		{"Upgrade", upgrade},
		{"OtherClusterIsNotReached", otherClusterIsNotReached},
		{"ExpiryIsSeen", expiryIsSeen},
		{"KeepsWhatItWasMadeWith", keepsWhatItWasMadeWith},
	}
}

const (
	// step is between two looks, and patience for how long something may take that is
	// under way.
	step     = 5 * time.Second
	patience = 15 * time.Minute
)

// wait waits for d.
func wait(t testing.TB, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}
