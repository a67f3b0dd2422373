// Package escrow keeps a copy of every secret of a fleet where its owner will
// find it after everything else is gone: encrypted with age, for people whose
// identities no machine has.
//
//	index.yaml                     what there is, by digest; holds no secret
//	clusters/<namespace>/<name>.age the secrets of a cluster
//	secrets/<namespace>/<name>.age  a Secret that people gave
//
// The agent writes and cannot read what it wrote. So that it writes nothing when
// nothing changed, the index has a digest of the content of each file. It is
// keyed with what the content itself keeps secret, the private key of the
// cluster's authority: who reads the index cannot try guesses against it, and
// every agent that has the secrets computes the same.
//
// Nothing is taken out of escrow because the store has lost it. A cluster that
// is gone from the fleet stays for thirty days.
package escrow
