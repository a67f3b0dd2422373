// Package addresses allocates addresses of pools in Git to machines: the kinds InClusterIPPool and
// GlobalInClusterIPPool of Cluster API's in-cluster IPAM provider, whose controllers it replaces. A
// provider whose machines have static addresses (vSphere, Metal3) declares [Kinds], checks
// references with [Resolve], and calls [Ledger.Reserve].
//
// # Where claims are stored
//
// There are no IPAddressClaim and IPAddress objects. The claim is a tag of the machine ([Tag],
// [Format]), from the request that creates the machine until the machine is gone: no address leaks
// or outlives its machine. Taken addresses are those in the tags of all machines of the place, of
// any fleet and cluster, with machines that are being deleted, released or damaged: a machine may
// answer for its address while the infrastructure shows it. The [Ledger] has addresses that were
// requested and are not observed yet.
//
// A pool is identified by kind, namespace and name. Clusters and fleets with a pool of one name
// share it. An address is given once:
//
//   - in a place (a vCenter, an Ironic), for all pools: pools may overlap, and may be renamed;
//   - by a pool, in all places that the process observed ([Ledger.Saw]) or that the last reports
//     of clusters have (fleet.Neighbors);
//   - and never if it is the endpoint of a cluster of the fleet, in Git or recorded.
//
// An address that a guest or a report names is given last ([Known]): a guest may report anything.
// Addresses of other devices are the pool's excludedAddresses, as in Cluster API.
//
// The endpoint of a cluster may be an address of a pool, too ([EndpointTag]). All machines of the
// cluster carry it, so it is taken while one of them exists.
//
// # Which address
//
// [Pool.Allocate] is a pure function of the pool, the name of the claim and the taken addresses.
// The search begins at a hash of the name. So a repeated request gets the same address, two agents
// that search at one time seldom choose the same one, and a released address is seldom the next.
//
// # Conflicts
//
// Two fleets may observe the same address as free at the same time, and choose it.
//
// If the infrastructure refuses a machine whose address another one has, as the in-memory cloud
// does and Neutron for ports, the second request is a Conflict and changes nothing. The next
// observation shows the owner of the address, and the next plan requests another.
//
// Otherwise (a vCenter, an Ironic), a machine is created in two steps: first it is claimed, with its
// address in its tags and its power off; then a later observation has to show the address once. If
// it shows twice, [Holders.Loses] decides, equally for all agents, which machine keeps it: the other
// one is deleted before it runs, and recreated. The planner takes both steps as usual, since the
// second one is Upkeep.
//
// For example:
//
//	pool, err := addresses.Find(r.Cluster, ref)
//	...
//	claim, err := ledger.Reserve(pool, addresses.ClaimName(r.Cluster, r.Name, 0), addresses.Known{Place: place, Taken: holders.Taken()}, now, until)
package addresses
