// Command fairlead keeps the line between a Git repository and running
// Kubernetes clusters. `fairlead help` says how.
package main

import "fairlead.dev/agent/wiring/program"

// version is set by the linker.
var version = "dev"

func main() { program.Main(program.Options{Version: version}) }
