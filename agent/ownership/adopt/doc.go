// Package adopt takes over clusters that a management cluster of Cluster API runs. Their
// manifests go to a fleet folder, their secrets to the secret store, and their
// infrastructure gets the fleet's ownership tags. No machine is touched.
//
// The order of the steps keeps both sides from acting at once. After a crash at any step
// the same call goes on:
//
//	check    everything that can be known is checked before anything is changed
//	write    the manifests, with spec.paused: agents may see them
//	secrets  CA certificates and kubeconfig, into the store
//	pause    the Cluster in the management cluster, until its controllers confirm it
//	secrets  become the fleet's own, where objects of Cluster API owned them
//	mark     ownership tags, with the template hashes of the manifests
//	plan     must be empty
//	release  spec.paused is removed: from the next push on Fairlead acts
//
// Each step finds out by looking whether it is done. The only thing that is stored is an
// annotation on the paused Cluster that says which fleet paused it.
package adopt
