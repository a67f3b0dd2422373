// Package azure is the infrastructure provider of Azure: clusters of virtual machines, and of AKS, as Cluster
// API's provider CAPZ makes them. It combines its packages:
//
//	api  the kinds in Git: AzureCluster, AzureMachineTemplate, AzureManagedControlPlane, AzureClusterIdentity and others
//	arm  all requests to Azure Resource Manager
//
// A cluster is in a resource group and a VNet that are made for it, or in given ones, of which nothing is changed.
// All things are made with their tags, by a PUT that is refused if something of that name is there: of two agents
// that make one thing, one does. A VM is made by one PUT, with its interface and disks, which are deleted with it.
//
// No operation is followed: a listing shows how far a thing is. All clusters of a resource group and identity share
// one. What the things of a cluster lack is decided from it.
//
// A control plane of AKS is a hosted one: ControlPlane. Its agent pools are pools that a cloud keeps.
//
// A network resource is changed by a PUT of what a GET gave, with its ETag: what others added to it stays.
package azure
