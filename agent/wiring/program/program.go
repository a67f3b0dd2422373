package program

import (
	"os"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/agent/wiring/supervise"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
)

// Options say what a program is.
type Options struct {
	// Version is shown by `fairlead version`, and in the log.
	Version string
	// Providers are those that clusters can be on. Two of one name end the program with
	// an error. Nil: the built-in ones.
	Providers []providers.Factory
}

// Main runs the command line of this process, and ends it.
func Main(o Options) {
	supervise.Main(os.Args[1:], func() int {
		return cli.Main(o.program(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: cli.Self()})
	})
}

// program fills in what is built in.
func (o Options) program() cli.Program {
	if o.Providers == nil {
		o.Providers = all.Factories()
	}
	return cli.Program{Version: o.Version, Built: wiring.Built{Providers: o.Providers, Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}}
}
