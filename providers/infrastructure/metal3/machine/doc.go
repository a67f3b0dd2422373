// Package machine decides what a machine of bare metal is told of itself, and what Ironic is
// told of it and its host. It is pure: it asks nobody.
//
// A machine is a host of the inventory with an image on it. Its provider id says which one,
// and is the same again when a machine of the same name returns to the host.
//
// # Addresses
//
// A machine has one address of each pool that its Metal3DataTemplate names, however often it
// does. [Data.Pools] says which those are, [FindPool] finds one, and [Pool.Allocate] gives an
// address of it: a function of the pool, who asks, and what is taken. An address that is
// pre-allocated is given to its host or index, and to nobody else. What package addresses
// says of who keeps what holds here too: the claim on the host has the addresses.
//
// # What a machine is told
//
// [Data.ConfigDrive] is what Ironic writes to the machine's disk beside the image, where
// cloud-init finds it: metadata, network_data.json as OpenStack has it, and user data. Ironic
// makes a volume of it (API 1.56 and later).
//
//	d := machine.Data{Host: host, Machine: m, Addresses: addresses}
//	drive, err := d.ConfigDrive(spec.Data, userData)
package machine
