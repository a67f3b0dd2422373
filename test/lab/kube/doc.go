// Package kube gives tests a real Kubernetes API: kube-apiserver and etcd as
// processes of their own, with TLS, RBAC, admission and the tokens of service
// accounts. No controller, scheduler or kubelet runs: pods stay pending, a
// namespace that is deleted stays terminating, nothing is collected that lost
// its owner. Namespace gives a new namespace what admission wants of it.
//
// The binaries are built once, by `make kube`; a test skips where they are not.
// All tests of a process share one server unless they ask for their own:
//
//	k := kube.Start(t)
//	client := kubernetes.NewForConfigOrDie(k.Config)   // may do everything
//	agent := k.ServiceAccount(k.Namespace(), "agent", rules...)
//
// Nothing is left when the process of the test ends, however it ends.
package kube
