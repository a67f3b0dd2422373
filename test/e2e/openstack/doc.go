// Package openstack tests the whole of Fairlead on real OpenStack services:
// `make lab-openstack-up`, then `make test-openstack`.
//
// An agent follows a fleet from a real Git server and runs it in a project of
// the lab. Nova's fake hypervisor starts no operating system, so a booter reads
// the user data of each server that is ACTIVE back from Nova and boots it in the
// in-memory cloud, which does what cloud-init, Ignition and kubeadm would. A
// connection to an API server is led as packets would be: from the floating IP
// to the load balancer or the port, to the members that Octavia knows, to their
// servers.
package openstack
