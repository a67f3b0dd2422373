// Package ha runs replicas of the real program against a real kube-apiserver, a
// real Git server and the in-memory cloud as a process of its own, and kills and
// stops them while clusters are being made. It needs the binaries of `make kube`
// and skips without them.
package ha
