// Package ha runs replicas of the real program against a real kube-apiserver, a real Git
// server and an in-memory cloud in its own process. It kills and stops replicas and the API
// server while clusters are created. It needs the binaries of `make kube`, and skips
// without them.
//
// Each replica has its own addresses of Git and the cloud, which shows who changes what. A
// replica that acts after another one must have acquired the Lease in between.
package ha
