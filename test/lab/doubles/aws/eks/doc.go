// Package eks gives clusters of a double of EKS an API server that is real: kube-apiserver and etcd of package kube, with a
// CA of their own, for each cluster.
//
//	planes, err := eks.New(log)
//	cloud := awstest.New(awstest.Options{Planes: planes})
//	err = planes.Serve(ctx, cloud)
//
// As at EKS, a webhook says who the token of a request is of: the double checks the signature, and finds the access entry.
// Another webhook says what the policies of that entry allow.
//
// Machines and instances of node groups become Nodes of their cluster. What stands for nodeadm and for the kubelet of an
// instance asks the metadata service for the user data and for the credentials of its role, and registers a Node with a
// token that it makes of these: authentication, the Node authorizer and NodeRestriction of the API server judge it. No
// kubelet runs, and no Pod does. What stands for controllers of EKS removes Nodes whose instances are gone.
package eks
