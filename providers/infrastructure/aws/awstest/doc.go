// Package awstest is a double of AWS: one account in one region, with EC2, both kinds of load balancers,
// EKS, STS, SSM and Secrets Manager as far as the provider calls them.
//
// It misbehaves as AWS does. It hides what is new for a while, lists what was terminated, remembers
// client tokens by zone, has buckets, quotas and zones without capacity, refuses to delete what
// others depend on, loses answers, and is changed behind the program's back.
//
//	cloud := awstest.New(awstest.Options{})
//	client := http.Client{Transport: cloud.Client()} // in process
//	server := httptest.NewServer(cloud)              // or as a server
//
// What it assumes of AWS and has not been observed yet is listed in the README of the provider.
package awstest
