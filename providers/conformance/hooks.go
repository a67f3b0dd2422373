package conformance

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Hooks reach behind the back of a provider: they see what it did, and have its
// infrastructure misbehave.
type Hooks struct {
	// Changes tells what p has had its infrastructure change so far: one line for
	// each request that might change something, or whatever else is another text as
	// soon as anything was changed.
	Changes func(t testing.TB, p providers.Infrastructure) string

	// Contents lists everything that is on the infrastructure of p, whosesoever it
	// is: one line for each thing, with its kind and id.
	Contents func(t testing.TB, p providers.Infrastructure) []string

	// LoseAnswer has the nth change that p asks for from now, counted from 1, be
	// made, and the answer be lost. What it returns ends that, and reports whether
	// it came to it.
	LoseAnswer func(t testing.TB, p providers.Infrastructure, nth int) (end func() bool)

	// Interrupt has what p begins from now on break off where a crash or a restart
	// would have it, until end is called. Nil: a lost answer does it.
	Interrupt func(t testing.TB, p providers.Infrastructure) (end func())

	// Retag changes the tags of the machine with that id, behind the back of p.
	Retag func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(tags map[string]string))

	// TakeOver has another cluster get what the machine with that id runs on, with tags of its own: once,
	// after p listed machines next and before p asks for anything else. What it returns reports whether
	// it came to that, and whether what the other cluster got is there.
	TakeOver func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) (after func() (taken, there bool))

	// FailBoot has the next machines of p not start, and their infrastructure say so.
	FailBoot func(t testing.TB, p providers.Infrastructure)

	// FailCreate has requests for machines of p fail after they were taken, until end is
	// called.
	FailCreate func(t testing.TB, p providers.Infrastructure) (end func())

	// SlowRelease has the hosts of machines of p be busy for many settle windows after
	// the machines went.
	SlowRelease func(t testing.TB, p providers.Infrastructure)

	// Elsewhere returns c with its workers in another place of p's infrastructure than
	// what machines share, and with all that leads there.
	Elsewhere func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster

	// OtherName returns c with its workers where they are, in a place of p's infrastructure that
	// Git names in another way. Nil: a place has one name.
	OtherName func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster

	// Served returns the machines that the endpoint of c leads to.
	Served func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) []fleet.MachineName

	// Jam has the endpoints of p go on leading where they lead, and take no change any
	// more. Nil: they cannot come to that.
	Jam func(t testing.TB, p providers.Infrastructure)

	// Pooled returns c with an address for each of its workers of the pool called name, which
	// has those from 10.9.0.10 to last and is all that Git has.
	Pooled func(t testing.TB, c *fleet.Cluster, name, last string) *fleet.Cluster

	// Mistaken returns clusters that are c but for one mistake in Git each: a name that the
	// infrastructure of p does not have, or a change that cannot be made.
	Mistaken func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster

	// FailureDomain is one that the provider can put machines of Cluster in.
	FailureDomain string

	// UserDataLimit is how many bytes of user data are too many, whatever they are.
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
