// Package fleet holds the words of Fairlead: what a fleet repository asks for,
// what was observed, what is to be done and what is reported.
//
// It has types and pure helpers only. It does no I/O, reads no clock and
// imports no other package of this module, so every other package may import it.
//
// The manifests are Cluster API's, and where a Cluster API Go type says it all
// (a kubeadm configuration, a health check) the types here are made of it.
package fleet
