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
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/lab/metal/guests"
)

func main() {
	lab.Hook() // machines start as this program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: up, down or serve; test/lab/metal/main.go lists their arguments")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	n := flags.Int("n", 6, "number of hosts")
	listen := flags.String("listen", "127.0.0.1:16385", "address and port of Ironic's API")
	hosts := flags.String("hosts", "127.0.0.1:16400", "address and port of the BMCs, the image and the ramdisk")
	machines := flags.String("machines", "", "name of the Kubernetes lab whose machines hosts are; none: nothing runs on them")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	dir, err := folder()
	if err != nil {
		return err
	}
	p := process{dir: dir}
	switch args[0] {
	case "up":
		return p.up(ctx, args[1:])
	case "down":
		return p.down(ctx)
	case "serve":
		return serve(ctx, p, *n, *machines, metal3test.Options{Listen: *listen, Hosts: *hosts, Log: say})
	}
	return fmt.Errorf("%q is nothing that it does: up, down, serve", args[0])
}

func say(s string) { fmt.Println(time.Now().Format(time.TimeOnly), s) }

// folder is where the process leaves its log and how to reach it.
func folder() (string, error) {
	if d := os.Getenv("FAIRLEAD_LAB_METAL"); d != "" {
		return d, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "fairlead", "metal"), err
}

// serve runs an Ironic with n hosts until it is asked to end.
func serve(ctx context.Context, p process, n int, machines string, o metal3test.Options) error {
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
	if err := p.ready(i, hosts); err != nil {
		return err
	}
	<-ctx.Done()
	return p.ended()
}
