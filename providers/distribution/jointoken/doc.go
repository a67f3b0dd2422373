// Package jointoken makes the bootstrap tokens by which machines join a cluster, and stores
// them in it. A token is one machine's: two machines never share one, and the same machine
// has the same token however often it is asked for.
//
//	t, err := jointoken.Of(authority, cluster, machine)
//	err = jointoken.Ensure(ctx, conn, t, "system:bootstrappers:kubeadm:default-node-token", 15*time.Minute)
package jointoken
