// Package worker builds overlays in separate processes, which a limit of memory and of time
// ends. The cost of a kustomize build cannot always be predicted, and a build cannot be
// interrupted. docs/contributing/adr/0011 gives the reasons.
//
// A process is a program that calls Serve with its standard input and output. It gets the
// scanned files of one overlay after the other, and returns the objects. It has no
// environment, and ends with its input.
package worker
