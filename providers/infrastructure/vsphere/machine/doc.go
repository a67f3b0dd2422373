// Package machine decides the specification of a VM, the next step of an unfinished VM or of a
// deletion, and which observed VM is which machine. It is pure: it makes no requests, and time is an
// input.
//
// # Owner of a VM
//
// All ownership tags are one value of the VM's extra configuration, [TagsKey], as JSON. It is part of
// the request that creates the VM, so no VM exists without it. Clones that people make of a VM inherit
// it. So the VM gets a BIOS UUID and an instance UUID that are derived from its tags ([InstanceUUID]):
// the VM with one of them is the machine, and another VM with the same tags is a copy. The first half
// of the UUID identifies the cluster, so that a VM without tags is still found as one of that cluster.
//
// # Full and linked clones
//
// By default, CAPV makes a linked clone. Without a warning it makes a full one if the template has no
// snapshot or not the named one, and it ignores diskGiB in a linked clone. Here, the default is a linked
// clone if the template has a snapshot and no disk is larger than in it, and a full one otherwise. A
// given mode is kept or refused: linkedClone without a snapshot, without the named one, or with larger
// disks is Invalid.
//
// # Steps
//
// A machine is created by a clone, which takes minutes, and steps that take seconds: [Next] returns the
// next one for observed [Details]. It is the same for a machine that was never powered on and for one
// that people powered off. [NextOfDeletion] is that of a deletion: tags with its begin are written before
// anything else, so that no new agent powers the machine on again.
package machine
