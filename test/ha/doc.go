// Package ha runs replicas of the real program against a real kube-apiserver, a
// real Git server and the in-memory cloud as a process of its own, and kills and
// stops them, and the API server, while clusters are being made. It needs the
// binaries of `make kube` and skips without them.
//
// Each replica reaches Git and the cloud at addresses of its own: so it is known
// who changes what. Whoever acts after another did must have come to hold the
// Lease in between.
package ha
