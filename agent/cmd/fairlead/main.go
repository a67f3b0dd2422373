// Command fairlead keeps the line between a Git repository and running
// Kubernetes clusters. `fairlead help` says how.
package main

import (
	"os"

	"fairlead.dev/agent/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	abortOnCrash()
	if args := os.Args[1:]; needsParent(args) {
		os.Exit(supervise(args))
	}
	os.Exit(cli.Main(version, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: cli.Self()}))
}
