// Package maas is the infrastructure provider for bare metal that Canonical's MAAS keeps, as Cluster API's
// provider CAPMAAS. It combines its packages:
//
//	api     the kinds in Git: MaasCluster, MaasMachineTemplate, MaasMachine
//	region  all requests to a region of MAAS
//
// MAAS has no ownership tags that are set when a machine is acquired, and nothing that makes a repeated
// request safe. A machine is claimed in this order:
//
//  1. The provider lists the free hosts, and then whether a host has the agent name of the machine, which is
//     a digest of fleet, cluster and machine.
//  2. It allocates one host by its system id, with the agent name, and with the tags as a comment. Of two
//     agents that choose one host, one gets it.
//  3. It lists the agent name again. If another host has it, another agent is creating the machine, and the
//     host is given back.
//  4. It writes the tags into an annotation, and deploys the image with the user data.
//
// So a deployed machine has an annotation, unless somebody removed it. A machine that is allocated and has
// none is recognised by the event of its acquisition, which has the comment.
//
// All clusters of a region and account share one listing, of the machines of the account. It is repeated when
// events of MAAS, changes of this process or the time require it.
package maas
