// Package api has the kinds of the provider maas: MaasCluster, MaasMachineTemplate and MaasMachine as
// CAPMAAS has them, and MaasClusterTemplate for ClusterClasses, which CAPMAAS lacks.
package api
