// Package inmemory is a cloud that exists in the memory of a process, and the
// provider for it. It is in the spirit of Cluster API's DevMachine with the
// in-memory backend, and is for tests, demonstrations and learning.
//
// A [Cloud] keeps machines that carry ownership tags, take their time to start,
// read the bootstrap data they were given as cloud-init and kubeadm, K3s or RKE2 would,
// and only become a Node if that data is right. What K3s and RKE2 do here follows their
// sources: it was not compared with the real thing. Its clusters serve a Kubernetes API
// on loopback addresses. It misbehaves on demand as real clouds do: see [Faults].
//
// A Cloud may live in another process: [Handler] serves it, [Dial] reaches it.
package inmemory
