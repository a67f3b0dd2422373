// Package e2e has a push become a real cluster, with nothing faked: a Git server,
// the program `fairlead agent` as a process, machines of the Kubernetes lab that
// it reaches over SSH, cloud-init, kubeadm, and a CNI that comes from Git.
//
// It needs root and `make lab-images`; `make e2e` runs it. The process of the test
// lives in the network of its lab, so what it starts is on the lab's bridge.
package e2e
