// Package machine decides the data of a bare-metal machine, and what Ironic gets of it and its host.
// It is pure: it makes no requests.
//
// A machine is a host of the inventory with an image on it. Its provider id names the host, and is
// the same again when a machine of the same name returns to the host.
//
// # Addresses
//
// A machine has one address of each pool that its Metal3DataTemplate names, however often it does.
// [Data.Pools] returns these pools, [FindPool] finds one, and [Pool.Allocate] gives an address of it: a
// function of the pool, the machine, and the taken addresses. A pre-allocated address is given to its
// host or index only. Claims are stored as in package addresses: the claim on the host has them.
//
// # Config drive
//
// [Data.ConfigDrive] is what Ironic writes to the machine's disk beside the image, where cloud-init
// finds it: metadata, network_data.json as OpenStack has it, and user data. Ironic makes a volume of
// it (API 1.56 and later).
//
//	d := machine.Data{Host: host, Machine: m, Addresses: addresses}
//	drive, err := d.ConfigDrive(spec.Data, userData)
package machine
