// Package network makes and removes what the machines of a cluster share on
// OpenStack: network, subnets, router, security groups, and the endpoint of the
// API server, which is a load balancer, a floating IP or a fixed address.
//
// One pure decision serves looking and doing: from a snapshot of the project and
// from Git it follows what is there, what is missing, what differs and what can
// not be. Observe tells it, Ensure does those of its steps that are possible at
// this moment, and neither waits:
//
//	st := network.Observe(snapshot, cluster, spec)
//	if !st.Ready || len(st.Drift) > 0 {
//		err = network.Ensure(ctx, project, snapshot, cluster, spec)
//	}
//
// # Identity
//
// Networks, subnets, routers, security groups, floating IPs, ports, load balancers,
// listeners and pools carry the mark of their cluster in their description, which
// is set in the call that makes them. What they are for is the text before the
// mark. Names are for people. Members of a pool have no description: their mark is
// a tag. Monitors and rules belong to what they are part of, whoever made them,
// and interfaces of a router to the subnet that they are in.
//
// What has no mark of the cluster is used where Git names it and is never
// changed or removed, but for two things that Git asks for by naming them: a
// floating IP is attached to the endpoint if it is attached to nothing, and a
// router gets an interface in the cluster's subnets, which is removed with them.
//
// # Repetition
//
// A call that was repeated may have made a thing twice. The older one stays,
// unless only the younger is in use; the other goes once nothing uses it.
package network
