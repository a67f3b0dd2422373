// Package azuretest is a double of Azure Resource Manager and of the login of service principals, for tests: one
// http.Handler, and an http.RoundTripper in a process.
//
// It has what matters to a provider: claims by If-None-Match and ETags, operations that go on after their answer and
// may fail then, a PUT that replaces (Network) or completes (Compute), what a VM makes and takes with it, things that
// are in use, subnets of a VNet one at a time, the rules of tags, ids in another case, pages, listings that lag, zones
// and their capacity, quotas, budgets of requests, locks, and answers that are lost.
//
// It is made from Azure's documentation, and was never compared with a subscription.
package azuretest
