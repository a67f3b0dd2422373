// Package api has the kinds of the provider azure, as CAPZ has them: AzureCluster, AzureClusterTemplate,
// AzureMachineTemplate, AzureMachine and AzureClusterIdentity, and of AKS AzureManagedControlPlane, AzureManagedCluster and
// AzureManagedMachinePool. Fields that are not honoured are refused, each
// with the reason and the way out.
package api
