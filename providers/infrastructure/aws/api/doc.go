// Package api has the kinds of the AWS provider: those of Cluster API Provider AWS for clusters on
// EC2 and of EKS, in v1beta1 and v1beta2.
//
// A field is honoured, or refused with what to do. What upstream's webhooks refuse is refused, too.
// Kinds of ROSA, Fargate and auto scaling groups are not here.
//
//	spec, err := api.ReadCluster(c.Infrastructure)
//	machine, err := api.ReadMachine(pool.Infrastructure)
package api
