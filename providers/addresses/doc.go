// Package addresses gives machines addresses of pools that people keep in Git: the kinds
// InClusterIPPool and GlobalInClusterIPPool of Cluster API's in-cluster IPAM provider, whose
// controllers it replaces. A provider whose machines take static addresses (vSphere, Metal3)
// declares [Kinds], has [Resolve] check references, and asks [Ledger.Reserve].
//
// # Who keeps what
//
// There are no IPAddressClaim and IPAddress objects. The claim is a tag of the machine
// ([Tag], [Format]): it is there from the call on that makes the machine, and gone when the
// machine is gone, so that no address leaks and none outlives its machine. What is taken is
// what the provider sees: the tags of all machines of the place, whatever fleet or cluster
// they are of, those on their way out, released and damaged ones included. A machine may
// still answer for its address as long as the infrastructure shows it. An address that only
// was asked for and does not show yet is in the [Ledger].
//
// A pool is known by its kind, namespace and name. Clusters of one fleet, and fleets, that
// have a pool of one name share it. An address is given once:
//
//   - in a place (a vCenter, an Ironic), whichever pools have it: pools may overlap, and may be
//     renamed;
//   - by a pool, in whatever places its machines are, as far as the process has looked at them
//     ([Ledger.Saw]) or the last reports of clusters tell of machines (fleet.Neighbors);
//   - and never where a cluster of the fleet has its endpoint, by Git or as it is remembered.
//
// What the guest of a machine says to have, and what reports tell, is given last ([Known]): a
// guest may say anything. Addresses that something else has are the pool's excludedAddresses, as in
// Cluster API.
//
// The endpoint of a cluster may have an address of a pool too ([EndpointTag]). All machines of the
// cluster hold it as one, so it is taken as long as one of them is there.
//
// # Which one
//
// [Pool.Allocate] is a pure function of the pool, the name of the claim and what is taken.
// The search begins where a hash of the name says. So a request that is repeated after a
// lost answer asks for the same address; two agents that search at one time seldom meet; and
// an address that was just let go is seldom the next that is given, though nobody keeps a
// record of it.
//
// # Two that want one
//
// Two fleets may look at the same time, see the same address free, and choose it.
//
// Where the infrastructure compares and swaps, because it refuses a machine whose address
// another one has, the request of the second is a Conflict: it changed nothing, the next
// look shows whose the address is, and the next plan asks again. The in-memory cloud does
// so, and Neutron does with ports.
//
// Where it does not (a vCenter, an Ironic), a machine is made in two steps: first it is
// claimed, with its address in its tags and its power off; then a look that began later has
// to show the address once. [Holders.Loses] says, the same to everybody who looks, which
// one keeps it where it shows twice: the other is removed before it ever ran, and made
// again. Both steps are the planner's ordinary ones, since the second is Upkeep.
//
// For example:
//
//	pool, err := addresses.Find(r.Cluster, ref)
//	...
//	claim, err := ledger.Reserve(pool, addresses.ClaimName(r.Cluster, r.Name, 0), addresses.Known{Place: place, Taken: holders.Taken()}, now, until)
package addresses
