// Package driver has what all infrastructure providers do alike. A provider keeps what it alone knows:
// its requests, what they mean, and the next step of a machine.
//
// What it guarantees to a provider that uses it:
//
//   - One thing is requested of a machine at a time ([Machines]), by an observation that saw all changes
//     of it.
//   - A machine that is damaged, that is being deleted, or that is made from another template is not
//     adopted ([IsThere]), and infrastructure is not deleted below machines.
//   - Parts that are made before a machine, or outlast it, are [Seen] as such: a create goes on with them,
//     a deletion removes them, and they keep no infrastructure.
//   - A step is taken only where a second look by id decides the same ([Step]).
//   - A place that does not answer hides nothing of another ([Search], [Clusters], [Check]).
//   - Adopted machines are apart, keep their addresses, and are released only as they were adopted
//     ([Adoptions], [MayRelease]).
//
// For example:
//
//	type Provider struct {
//		*driver.Machines[*observation, *server] // CreateMachine, DeleteMachine, DeleteInfrastructure
//		ready driver.Memory[snapshot.Owner, bool]
//	}
//
//	p := &Provider{}
//	p.Machines = driver.New(machines{p}) // machines has the methods of Driver
//
// The packages below it have what some providers share: addresses of pools, claims, endpoints,
// listings, steps, requests.
package driver
