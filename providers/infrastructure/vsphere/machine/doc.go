// Package machine decides what a virtual machine of vSphere is made of, what is to be done
// next to one that is half made or on its way out, and what one that was seen is to Fairlead.
// It is pure: it asks nobody, and what it is given says what time it is.
//
// # Whose a VM is
//
// All ownership tags are one value of the VM's extra configuration, [TagsKey], as JSON. It is
// part of the request that makes the VM, so that none is ever there without it. Clones that
// people make of a VM inherit it. So the VM is given a BIOS UUID and an instance UUID that
// follow from its tags ([InstanceUUID]): the VM that has one of them is the machine, another
// with the same tags is a copy. The first half of the UUID says which cluster it is of, so
// that a VM whose tags somebody wiped is still known to be one of that cluster.
//
// # Full and linked clones
//
// Where nothing is said, CAPV makes a linked clone, and a full one without a word where the
// template has no snapshot, where it has none of the name that is given, and ignores diskGiB
// in a linked one. Here, where nothing is said, the clone is a linked one if the template has
// a snapshot and no disk is to be larger than in it, and otherwise a full one. What is said is
// kept or refused: a linkedClone without a snapshot, with a snapshot that is not there, or
// with larger disks is Invalid.
//
// # Steps
//
// A machine is made by a clone, which takes minutes, and steps that take seconds: [Next] says
// which is next, for [Details] that were seen. It is the same for a machine that was never
// powered on and one that somebody powered off. [NextOfDeletion] is that of one that goes: its
// tags say when that began, before anything else is done, so that no agent that starts anew
// powers it on again.
package machine
