// Package machine makes, shows and removes servers of Nova with all that belongs
// to one: ports, trunks, floating IP and volumes. The machines of a cluster and
// its bastion are made the same way.
//
// # Identity
//
// A server and its volumes carry the ownership tags of package fleet as
// metadata; ports, trunks and floating IPs have the mark of package cloud, with
// the name of the machine, in their description. All of that is set in the call
// that makes the thing. What a repeated call finds by its mark and its name is
// adopted.
//
// # Order
//
// Ports come first, then the floating IP, the volumes and the server, which is
// refused by Nova where another server has one of the ports: so a repeated
// request makes no second server. Deletion begins with the server. Its parts go
// once it is gone, since Neutron and Cinder keep what is in use.
//
// # Leftovers
//
// Parts of a machine whose server is not there are leftovers: at once where this
// process saw the server or asked for its end, else after two settle windows: in
// the first the server may still appear, in the second the machine may be created
// again, with what there is. [Keeper] remembers that; nothing is lost with it.
package machine
