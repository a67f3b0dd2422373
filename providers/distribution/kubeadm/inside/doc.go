// Package inside looks after what kubeadm keeps in a cluster that runs: the ConfigMap
// kubeadm-config that machines join with, kube-proxy and CoreDNS, bootstrap tokens, static
// pods, and the members of a stacked etcd, each through a tunnel to its pod.
//
// It keeps no state but connections, and what API servers showed of their certificates
// for an hour. Marks in kubeadm-config say what that was last brought in line with.
//
//	c := inside.New(clusters)
//	err := c.Observe(ctx, access, &observed)
//	etcd, err := c.Members(ctx, access)
package inside
