// Package endpoint is where a control plane is reached, and what serves that.
//
// An endpoint is one of four:
//
//   - a load balancer, which the provider makes and has lead to the servers ([Leads]);
//   - a floating address, which the provider puts on one server after another ([Successors]);
//   - a virtual address, which static pods on the servers hand to each other ([VirtualIP]);
//   - a fixed host, which somebody else serves and Git names.
//
// Whichever it is, it stays for the life of a cluster: certificates and kubelets know it. What
// Git names comes first, and then what machines know ([Known]); only where nothing knows one is
// the provider free to choose ([Wanted]).
//
// A provider whose cluster has a virtual address declares it (providers.VirtualIPs), and the
// distribution adds the static pod to the user data of servers ([VirtualIP.File]). People who
// bring something of their own in the files or commands of their control plane stay the owners
// of the address: [Brought] tells, and no second pod is added.
//
// The package is pure. For example:
//
//	e := endpoint.Wanted(c)
//	if e.Host == "" {
//		e.Host = balancer.Address
//	}
package endpoint
