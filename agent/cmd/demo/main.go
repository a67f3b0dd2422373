// Command demo is fairlead with kubeadm, the in-memory infrastructure and Docker alone, which is
// built in two thirds of the time. Without a command it runs the demo.
package main

import (
	"os"
	"strings"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/agent/wiring/supervise"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/docker"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
)

// version is set by the linker.
var version = "dev"

func main() {
	args := os.Args[1:]
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		args = append([]string{"demo"}, args...)
	}
	supervise.Main(args, func() int {
		return cli.Main(program(), args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: cli.Self()})
	})
}

// program is what this command is built with.
func program() cli.Program {
	return cli.Program{Version: version, Built: wiring.Built{
		Providers: []providers.Factory{inmemory.Factory(), docker.Factory()},
		Distributions: func(c *workload.Client) providers.Distributions {
			return providers.Distributions{"KubeadmControlPlane": kubeadm.New(c)}
		},
	}}
}
