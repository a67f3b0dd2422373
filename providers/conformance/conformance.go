// Package conformance is the test suite that every infrastructure provider
// passes. A provider's own test is one call of [Run]:
//
//	conformance.Run(t, conformance.Options{
//		New:     func(t testing.TB) providers.Infrastructure { … },
//		Cluster: func() fleet.Cluster { … },
//	})
//
// It holds what the planner relies on: absence is proof, what is repeated
// adopts, what belongs to others is never touched.
//
// A distribution has a suite of its own, see [RunDistribution]: its clusters grow, lose
// servers, are upgraded and come back on machines that boot.
package conformance

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Options say how to reach the provider under test.
type Options struct {
	// New returns a provider of an infrastructure that is empty and that
	// nothing else uses. Each test calls it once.
	New func(t testing.TB) providers.Infrastructure

	// Cluster returns a cluster that the provider takes, with a control plane
	// and one worker pool. The suite sets Fleet and Key.
	Cluster func() fleet.Cluster

	// UserData is what machines boot with. They need not come up.
	UserData providers.UserData

	// Foreign puts a machine called name onto the infrastructure of p that
	// carries no tags, and returns how to look whether it is still there.
	Foreign func(t testing.TB, p providers.Infrastructure, name string) (exists func() bool)

	// FailListing makes one listing fail that p makes of its infrastructure:
	// the nth from now, counted from 1.
	FailListing func(t testing.TB, p providers.Infrastructure, nth int)

	// The other hooks are in hooks.go. A check that needs one that is nil fails,
	// unless deviations.go says why the provider has none.
	Hooks

	// Provider is the name of the provider. What one that is built in leaves out is said
	// in deviations.go, by this name.
	Provider string

	// Deviations are the checks that a provider of somebody else does not pass or that
	// cannot be made of it, by name, each with the reason. A built-in one has none here.
	Deviations map[string]string

	// Around runs each test, in a testing/synctest bubble perhaps; nil means
	// that it is just called.
	Around func(t *testing.T, test func(t *testing.T))
}

// A Check is one test of the suite.
type Check struct {
	Name string
	Run  func(t testing.TB, o Options)
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, o Options) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) { o.run(t, c) })
	}
}

// RunParallel runs the suite as parallel subtests of t, each with options of its own. It is
// for infrastructures that checks wait for.
func RunParallel(t *testing.T, options func() Options) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			options().run(t, c)
		})
	}
}

func (o Options) run(t *testing.T, c Check) {
	t.Helper()
	if why := o.leftOut(t)[c.Name]; why != "" {
		t.Skip(why)
	}
	if o.Around == nil {
		c.Run(t, o)
		return
	}
	o.Around(t, func(t *testing.T) { c.Run(t, o) })
}

// leftOut returns the reasons for the checks that are not made.
func (o Options) leftOut(t testing.TB) map[string]string {
	t.Helper()
	built, ok := Deviations()[o.Provider]
	if !ok {
		return o.Deviations
	}
	if len(o.Deviations) > 0 {
		t.Errorf("%s is built in: what it leaves out is said in deviations.go alone", o.Provider)
	}
	return built
}

// Checks returns the tests of the suite.
func Checks() []Check {
	return []Check{
		{"ObserveEmpty", observeEmpty},
		{"ObserveWithoutContext", observeWithoutContext},
		{"ObservePartOfIt", observePartOfIt},
		{"InfrastructureGetsReady", infrastructureGetsReady},
		{"EnsureInfrastructureTwice", ensureTwice},
		{"DeleteInfrastructureTwice", deleteInfrastructureTwice},
		{"DeleteInfrastructureWithMachines", deleteInfrastructureWithMachines},
		{"CreateMachineKeepsIdentity", createKeepsIdentity},
		{"CreateMachineTwiceAdopts", createTwiceAdopts},
		{"CreateMachineOfAnotherTemplate", createOfAnotherTemplate},
		{"CreateMachineOfAFormerName", createOfAFormerName},
		{"NextMachineOfAName", nextOfAName},
		{"CreateMachinesAtOnce", createAtOnce},
		{"IDComesOnce", idComesOnce},
		{"EnsureInfrastructureKeepsMachines", ensureKeepsMachines},
		{"MistakesChangeNothing", mistakesChangeNothing},
		{"RefusalsAreTold", refusalsAreTold},
		{"DepartedPoolIsKept", departedPool},
		{"DeleteMachineTwice", deleteTwice},
		{"DeleteMachineThatIsNotThere", deleteNothing},
		{"DeleteMachineByID", deleteByID},
		{"SecondLookPrecedesAChange", secondLook},
		{"OtherClusterIsUntouched", otherCluster},
		{"OtherFleetIsUntouched", otherFleet},
		{"ForeignMachineIsUntouched", foreignMachine},
		{"ClustersAreListed", clustersAreListed},
		{"ChangesAreTold", changesAreTold},
		{"LookingChangesNothing", lookingChangesNothing},
		{"PlaceIsShared", placeIsShared},
		{"ControlPlaneMachines", controlPlaneMachines},
		{"EndpointStays", endpointStays},
		{"EndpointServes", endpointServes},
		{"KnownEndpointServes", knownEndpointServes},
		{"FailureDomainIsKept", failureDomainIsKept},
		{"LostAnswerOfCreate", lostAnswerOfCreate},
		{"LostAnswerOfDelete", lostAnswerOfDelete},
		{"LostAnswerOfInfrastructure", lostAnswerOfInfrastructure},
		{"SettleIsKept", settleIsKept},
		{"NothingIsLeft", nothingIsLeft},
		{"DeletionIsInterrupted", deletionIsInterrupted},
		{"LostTagsAreNotDeath", lostTags},
		{"RememberedPlace", rememberedPlace},
		{"DamagedTagsAreShown", damagedTags},
		{"LostRecordsProveNothing", lostRecords},
		{"OneComputerIsOneHost", oneComputer},
		{"FailedMachine", failedMachine},
		{"FailedRequest", failedRequest},
		{"ReleasedMachine", releasedMachine},
		{"RebootedMachine", rebootedMachine},
		{"UserDataOfAnotherFormat", userDataOfAnotherFormat},
		{"UserDataTooLarge", userDataTooLarge},
		{"OrphansAreSwept", orphansAreSwept},
		{"OrphansLeaveNothing", orphansLeaveNothing},
		{"AddressIsGivenOnce", addressIsGivenOnce},
		{"EndpointIsNoMachines", endpointIsFree},
		{"PoolIsKept", poolIsKept},
		{"PoolChanges", poolChanges},
		{"PoolGoes", poolGoes},
		{"LostAnswerOfPool", lostAnswerOfPool},
	}
}

// A bench is one provider with a cluster on it.
type bench struct {
	t testing.TB
	o Options
	p providers.Infrastructure
	c *fleet.Cluster
}

// The fleet and the cluster of most tests.
const testFleet = fleet.ID("conformance")

func testKey() fleet.Key { return fleet.Key{Namespace: "prod", Name: "eu-1"} }

func newBench(t testing.TB, o Options) *bench {
	t.Helper()
	if o.UserData.Format == "" {
		o.UserData = providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))}
	}
	b := &bench{t: t, o: o, p: o.New(t)}
	b.c = b.cluster(testFleet, testKey())
	return b
}

// cluster returns a cluster of the provider's kind.
func (b *bench) cluster(id fleet.ID, k fleet.Key) *fleet.Cluster {
	c := b.o.Cluster()
	c.Fleet, c.Key = id, k
	return &c
}

// settle waits until what was changed shows.
func (b *bench) settle() {
	b.t.Helper()
	timer := time.NewTimer(b.p.Settle())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.t.Context().Done():
		b.t.Fatal(b.t.Context().Err())
	}
}

func (b *bench) observe(c *fleet.Cluster) fleet.Infrastructure {
	b.t.Helper()
	got, err := b.p.Observe(b.t.Context(), c)
	if err != nil {
		b.t.Fatalf("Observe(%s) = %v, want no error", c.Key, err)
	}
	b.wantIDsOnce(c, got)
	return got
}

// rounds is how many settle windows infrastructure may take to get ready.
const rounds = 60

// ensure makes the shared infrastructure of c, asking again until it is ready:
// each call does the steps that are possible by then.
func (b *bench) ensure(c *fleet.Cluster) fleet.Infrastructure {
	b.t.Helper()
	var got fleet.Infrastructure
	for range rounds {
		if err := b.p.EnsureInfrastructure(b.t.Context(), "op-infra", c); err != nil {
			b.t.Fatalf("EnsureInfrastructure(%s) = %v, want no error", c.Key, err)
		}
		b.settle()
		if got = b.observe(c); got.Ready {
			return got
		}
	}
	b.t.Fatalf("infrastructure of %s is not ready after %d settle windows: %s", c.Key, rounds, got.Message)
	return got
}

// dismantle removes the shared infrastructure of c, asking again until nothing
// is there. It returns how often it asked.
func (b *bench) dismantle(c *fleet.Cluster) int {
	b.t.Helper()
	var got fleet.Infrastructure
	for n := range rounds {
		if err := b.p.DeleteInfrastructure(b.t.Context(), "op-delete", c); err != nil {
			b.t.Fatalf("DeleteInfrastructure(%s) = %v, want no error", c.Key, err)
		}
		b.settle()
		if got = b.observe(c); !got.Exists {
			return n + 1
		}
	}
	b.t.Fatalf("infrastructure of %s is there after %d settle windows: %+v", c.Key, rounds, got)
	return rounds
}

// request is for a machine of c's workers.
func (b *bench) request(c *fleet.Cluster, name fleet.MachineName) providers.MachineRequest {
	return providers.MachineRequest{Cluster: c, Pool: c.Workers[0], Name: name, UserData: b.o.UserData, Origin: origin()}
}

// origin is what a machine carries of how it came to be.
func origin() fleet.Origin {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return fleet.Origin{
		Made: at, Trust: fleet.NewTrust(map[string]string{"ca": "1f0c2b9a", "certificates": "93b0e4d7"}),
		Remediation: fleet.Remediation{Machine: "m-old", At: at.Add(-time.Hour), Retry: 2},
	}
}

// create makes a machine of c's workers.
func (b *bench) create(c *fleet.Cluster, name fleet.MachineName) {
	b.t.Helper()
	if err := b.p.CreateMachine(b.t.Context(), operation(name), b.request(c, name)); err != nil {
		b.t.Fatalf("CreateMachine(%s of %s) = %v, want no error", name, c.Key, err)
	}
}

func operation(name fleet.MachineName) fleet.OperationID { return fleet.OperationID("op-" + name) }

// machines returns the names and ids of those that are not on their way out.
func (b *bench) machines(c *fleet.Cluster) (names []fleet.MachineName, ids []fleet.ProviderID) {
	b.t.Helper()
	for _, m := range b.observe(c).Machines {
		if m.State != fleet.MachineDeleting && m.State != fleet.MachineReleased {
			names, ids = append(names, m.Name), append(ids, m.ProviderID)
		}
	}
	return names, ids
}

// wantMachines fails unless c has exactly the machines called names, sorted.
func (b *bench) wantMachines(c *fleet.Cluster, reason string, names ...fleet.MachineName) {
	b.t.Helper()
	if got, _ := b.machines(c); !equal(got, names) {
		b.t.Errorf("machines of %s %s = %q, want %q", c.Key, c.Fleet, got, names)
		b.t.Log(reason)
	}
}
