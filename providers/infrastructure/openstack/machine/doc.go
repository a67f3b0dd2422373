// Package machine creates, observes and deletes servers of Nova with their parts: ports, trunks,
// floating IP and volumes. The machines of a cluster and its bastion are created the same way.
//
// # Identity
//
// A server and its volumes carry the ownership tags of package fleet as metadata; ports, trunks and
// floating IPs have the mark of package cloud, with the name of the machine, in their description. All
// of that is set in the call that creates the resource. A repeated call adopts what it finds by mark and
// name.
//
// # Order
//
// Ports come first, then the floating IP, the volumes and the server. Nova refuses a server if another
// one has one of its ports: so a repeated request creates no second server. Deletion begins with the
// server. Its parts are deleted once it is gone, since Neutron and Cinder keep what is in use.
//
// # Leftovers
//
// Parts of a machine without a server are leftovers: immediately if this process observed the server or
// requested its deletion, otherwise after two settle windows. In the first one the server may still
// appear, in the second one the machine may be created again with the existing parts. [Keeper] remembers
// that; nothing is lost with it.
package machine
