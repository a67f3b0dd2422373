// Package cloud asks AWS: EC2, load balancers of both kinds, EKS, STS, SSM and Secrets Manager.
//
// Client makes single requests with the credentials and the signatures of the SDK, and repeats none.
// A Place is an account in a region: all clusters there share its listing. Accounts finds the
// credentials of a cluster by its identity.
//
// Why there are no clients of the SDK is in ADR 37.
package cloud
