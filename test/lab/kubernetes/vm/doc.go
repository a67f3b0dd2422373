// Package vm boots the lab's node image once as a machine of QEMU, from its kernel
// to a node that is Ready, with the user data of a control plane on a NoCloud disk.
// Machines of package lab begin at systemd, on the kernel of their host.
package vm
