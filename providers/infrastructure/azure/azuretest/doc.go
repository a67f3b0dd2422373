// Package azuretest is a double of Azure Resource Manager and of the login of service principals, for tests: one
// http.Handler, and an http.RoundTripper in a process.
//
// It has what matters to a provider: claims by If-None-Match and ETags, operations that go on after their answer and
// may fail then, a PUT that replaces (Network) or completes (Compute), what a VM makes and takes with it, things that
// are in use, subnets of a VNet one at a time, the rules of tags, ids in another case, pages, listings that lag, zones
// and their capacity, quotas, budgets of requests, locks, and answers that are lost.
//
// Of AKS it has clusters with their agent pools and the resource group that is made for these: one operation at a time,
// which may fail, versions one minor at a time, add-ons that a PUT drops if it lacks them, pools that go along with an
// upgrade if a PUT does not name their version, what is fixed in a pool, the last System pool, and the credential of admins.
//
// With a place for them, VMs live: they have a medium with custom data, a metadata service and a wire server to which they
// report, and load balancers lead to them.
//
// It is made from Azure's documentation, and was never compared with a subscription.
package azuretest
