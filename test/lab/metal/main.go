// Command metal serves a real Ironic with simulated hosts on ports of this machine: `make
// lab-metal-up` and `make lab-metal-down` are this.
//
//	metal up [-n 6] [-listen 127.0.0.1:16385] [-hosts 127.0.0.1:16400] [-machines LAB]    start it, and print how to reach it
//	metal down                                                                            stop it: its state is lost
//	metal serve …                                                                         the same as up, in the foreground
//
// With -machines its hosts live: one that is switched on from its disk is a machine of the
// Kubernetes lab of that name, which `make lab-up` made.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/lab/daemon"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/lab/metal/guests"
)

func main() {
	lab.Hook() // machines start as this program
	flags := flag.NewFlagSet("metal", flag.ContinueOnError)
	n := flags.Int("n", 6, "number of hosts")
	listen := flags.String("listen", "127.0.0.1:16385", "address and port of Ironic's API")
	hosts := flags.String("hosts", "127.0.0.1:16400", "address and port of the BMCs, the image and the ramdisk")
	machines := flags.String("machines", "", "name of the Kubernetes lab whose machines hosts are; none: nothing runs on them")
	daemon.Main("metal", "ironic.env", flags, func(ctx context.Context, p daemon.Process) error {
		return serve(ctx, p, *n, *machines, metal3test.Options{Listen: *listen, Hosts: *hosts, Log: say})
	})
}

func say(s string) { fmt.Println(time.Now().Format(time.TimeOnly), s) }

// serve runs an Ironic with n hosts until it is asked to end.
func serve(ctx context.Context, p daemon.Process, n int, machines string, o metal3test.Options) error {
	var names []string
	for k := range n {
		names = append(names, fmt.Sprintf("host-%d", k))
	}
	if machines != "" {
		l, err := lab.View(machines)
		if err != nil {
			return err
		}
		if o.Hardware, err = guests.New(l.Machines(), names, say); err != nil {
			return err
		}
	}
	i, err := metal3test.Start(ctx, o)
	if err != nil {
		return err
	}
	defer i.Close()
	hosts := make([]*metal3test.Host, 0, n)
	for _, name := range names {
		hosts = append(hosts, i.AddHost(name))
	}
	say("serves at " + i.URL())
	if err := ready(p, i, hosts); err != nil {
		return err
	}
	<-ctx.Done()
	return p.Ended()
}
