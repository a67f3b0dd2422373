// Package aws is the infrastructure provider of AWS: clusters on EC2, and of EKS with its control planes.
//
// A cluster is in a VPC that is made for it, or in a given one, of which nothing is changed. Its machines
// are instances, and a load balancer leads to its API servers. Each thing is made with its tags. What
// the things of a cluster lack is decided from one listing of the account and region, which all
// clusters there share.
//
// An instance is asked for with a token that follows from the operation and the subnet: asked for
// twice, it is made once. A zone without capacity is left for the next one, but never after a request
// without an answer.
//
// Of EKS, ControlPlane has control planes made, with the networks that they are in, and Provider node groups.
// What is of a cluster has its tags. EKS takes one change of a thing at a time.
package aws
