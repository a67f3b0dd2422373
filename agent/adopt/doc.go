// Package adopt takes over clusters that a management cluster of Cluster API
// runs: their manifests go to a fleet folder, their secrets to the secret store,
// and what they run on gets the fleet's ownership tags. No machine is touched.
//
// The order keeps both sides from acting at once, and lets the same call go on
// after a crash at any step:
//
//	check    everything that can be known is looked at before anything is changed
//	write    the manifests, held: spec.paused, so that an agent may see them
//	secrets  authorities and kubeconfig, into the store
//	pause    the Cluster in the management cluster, until its controllers say so
//	secrets  are the fleet's own, where Cluster API's objects owned them
//	mark     the ownership tags, with the template hashes of the manifests
//	plan     must be empty
//	release  the manifests are held no longer: from the next push on Fairlead acts
//
// What has been done is seen by looking; nothing else is remembered, but for an
// annotation on the paused Cluster that says which fleet paused it.
package adopt
