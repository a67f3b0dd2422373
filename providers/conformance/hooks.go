package conformance

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Hooks reach behind the back of a provider: they see what it did, and have its
// infrastructure misbehave.
type Hooks struct {
	// Changes returns the changes that p requested so far: one line for each request that may
	// change something, or another text that differs after each change. Observation changes
	// nothing.
	Changes func(t testing.TB, p providers.Infrastructure) string

	// Contents lists everything on the infrastructure of p, of any owner: one line for each thing,
	// with its kind and id. Nothing is left of a deleted machine or cluster.
	Contents func(t testing.TB, p providers.Infrastructure) []string

	// LoseAnswer carries out the nth change that p requests from now, counted from 1, and loses
	// its answer. The returned function ends this, and reports whether an answer was lost. A
	// timeout is not a no.
	LoseAnswer func(t testing.TB, p providers.Infrastructure, nth int) (end func() bool)

	// Interrupt interrupts each change that p begins from now on where a crash or a restart could,
	// until end is called. Nil: LoseAnswer is used instead.
	Interrupt func(t testing.TB, p providers.Infrastructure) (end func())

	// Retag changes the tags of the machine with that id, without p. Damaged tags are reported.
	Retag func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(tags map[string]string))

	// LoseRecords has the infrastructure of p lose what it recorded of the machine with that id, which runs on,
	// or puts it out of reach of the account. The returned function reports whether what the machine runs on is
	// unchanged.
	LoseRecords func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) (running func() bool)

	// Twin returns c with a second name in Git for what the machine with that id runs on, and with nothing else
	// that another machine could get.
	Twin func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster, id fleet.ProviderID) *fleet.Cluster

	// TakeOver gives what the machine with that id runs on to another cluster, with tags of its own: once,
	// after the next listing of machines by p and before the next request of p. The returned function
	// reports whether that happened, and whether what the other cluster got still exists. A deletion
	// requests the machine again by id.
	TakeOver func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) (after func() (taken, there bool))

	// FailBoot makes the next machines of p fail to start, as their infrastructure reports: their
	// state is Failed, with a reason.
	FailBoot func(t testing.TB, p providers.Infrastructure)

	// FailCreate makes requests for machines of p fail after they were accepted, until end is
	// called. They are Infrastructure.Failures.
	FailCreate func(t testing.TB, p providers.Infrastructure) (end func())

	// SlowRelease keeps the hosts of machines of p busy for many settle windows after the
	// machines were deleted: their state is Released.
	SlowRelease func(t testing.TB, p providers.Infrastructure)

	// Elsewhere returns c with its workers in another place of p's infrastructure than its shared
	// infrastructure, and with the credentials for that place.
	Elsewhere func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster

	// OtherName returns c with its workers in the same place of p's infrastructure, under another
	// name in Git. Nil: a place has one name.
	OtherName func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster

	// KeptPool returns c with one pool that p's cloud keeps, of one machine or more, and with the control plane
	// that its machines join; and a newer version of Kubernetes that it may be upgraded to. Without it the
	// checks of pools fail for a provider with the ability PoolKeeper, and pass for others.
	KeptPool func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (with *fleet.Cluster, newer string)

	// Served returns the machines behind the endpoint of c. After a removal each remaining one is
	// behind it.
	Served func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) []fleet.MachineName

	// Jam makes the endpoints of p refuse every change, while they still serve their machines.
	// Nil: this cannot happen.
	Jam func(t testing.TB, p providers.Infrastructure)

	// Pooled returns c with an address for each of its workers, from the only pool in Git: it is
	// called name, and has the addresses from 10.9.0.10 to last.
	Pooled func(t testing.TB, c *fleet.Cluster, name, last string) *fleet.Cluster

	// EndpointAt returns c with its endpoint at an address that its servers share: where another cluster's
	// machines are, in p's infrastructure.
	EndpointAt func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster, address string) *fleet.Cluster

	// Mistaken returns copies of c with one mistake in Git each: a name that does not exist on the
	// infrastructure of p, or a change that is impossible.
	Mistaken func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster

	// Renamed returns copies of c, a cluster that runs, with another endpoint in Git each: another address,
	// name or load balancer. Served is what the endpoint that machines of c know leads to.
	Renamed func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster

	// FailureDomain is a failure domain for machines of Cluster.
	FailureDomain string

	// UserDataLimit is a size of user data in bytes that the infrastructure does not accept,
	// whatever its content.
	UserDataLimit int
}

// interrupt has what is begun from now on break off, where that can be done.
func (b *bench) interrupt() (end func()) {
	b.t.Helper()
	switch {
	case b.o.Interrupt != nil:
		return b.o.Interrupt(b.t, b.p)
	case b.o.LoseAnswer != nil:
		lost := b.o.LoseAnswer(b.t, b.p, 1)
		return func() { lost() }
	}
	return func() {}
}

// has reports whether a hook is there. A check that cannot be made fails.
func (b *bench) has(hook string, there bool) bool {
	b.t.Helper()
	if !there {
		b.t.Errorf("the hook %s is nil: give it, or say in Deviations why %q has none", hook, b.o.Provider)
	}
	return there
}

// can reports whether the provider has an ability. A check that cannot be made fails.
func (b *bench) can(ability string, there bool) bool {
	b.t.Helper()
	if !there {
		b.t.Errorf("it is no %s: say in Deviations why %q is none", ability, b.o.Provider)
	}
	return there
}
