// Package docker is the infrastructure provider for containers of Docker or podman on one host, as Cluster API's
// development provider CAPD. It combines its packages:
//
//	api     the kinds in Git: DevCluster, DevMachineTemplate, DevMachine, and those that are called Docker
//	engine  all requests to the daemon
//
// A machine is a privileged container of a node image with systemd. Its labels, which are set at birth and never
// change, are its tags; its identity is the id of the container. The user data is written into the container
// before it starts, as a unit of systemd: so it is carried out once, also if the agent ends. The unit leaves its
// output and its result in a folder, from which an observation reads them.
//
// The endpoint is a container with HAProxy. Its configuration is what the provider wrote last, so an observation
// reads it back, and reports what is to be changed as upkeep.
package docker
