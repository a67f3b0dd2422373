// Package worker builds overlays in processes of their own, which a limit of memory
// and of time ends: what a build takes cannot be foretold for all that kustomize can
// be told to do, and it cannot be interrupted. docs/adr/0011 says why.
//
// A process is a program that calls Serve with its standard input and output. It
// gets the scanned files of one overlay after the other and returns the objects. It
// has no environment, and ends with its input.
package worker
