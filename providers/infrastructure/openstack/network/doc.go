// Package network creates and deletes the shared infrastructure of a cluster on OpenStack: network,
// subnets, router, security groups, and the endpoint of the API server, which is a load balancer, a
// floating IP or a fixed address.
//
// One pure decision serves observation and change: from a snapshot of the project and from Git follows
// what exists, what is missing, what differs and what is impossible. Observe reports it, Ensure takes
// those of its steps that are possible now, and neither waits:
//
//	st := network.Observe(snapshot, cluster, spec)
//	if !st.Ready || len(st.Drift) > 0 {
//		err = network.Ensure(ctx, project, snapshot, cluster, spec)
//	}
//
// # Identity
//
// Networks, subnets, routers, security groups, floating IPs, ports, load balancers, listeners and pools
// carry the mark of their cluster in their description, set in the call that creates them. The text
// before the mark is their purpose. Names are for people. Members of a pool have no description: their
// mark is a tag. Monitors and rules belong to the resource that they are part of, and interfaces of a
// router to their subnet, from any creator.
//
// Resources without the mark of the cluster are used if Git names them, and are never changed or
// deleted, with two exceptions: a named floating IP is attached to the endpoint if it is attached to
// nothing, and a named router gets an interface in the cluster's subnets, which is removed with them.
//
// # Repetition
//
// A repeated call may have created something twice. The older one stays, unless only the younger one is
// in use; the other one is deleted once nothing uses it.
package network
