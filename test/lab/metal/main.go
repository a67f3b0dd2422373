// Command metal serves a real Ironic with simulated hosts on ports of this machine: `make
// lab-metal-up` and `make lab-metal-down` are this.
//
//	metal up [-n 6] [-listen 127.0.0.1:16385] [-hosts 127.0.0.1:16400]    start it, and print how to reach it
//	metal down                                                            stop it: its state is lost
//	metal serve …                                                         the same as up, in the foreground
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
)

func main() {
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
		return serve(ctx, p, *n, metal3test.Options{Listen: *listen, Hosts: *hosts, Log: say})
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

// serve runs an Ironic with n hosts until it is told to end.
func serve(ctx context.Context, p process, n int, o metal3test.Options) error {
	i, err := metal3test.Start(ctx, o)
	if err != nil {
		return err
	}
	defer i.Close()
	var hosts []*metal3test.Host
	for k := range n {
		hosts = append(hosts, i.AddHost(fmt.Sprintf("host-%d", k)))
	}
	say("serves at " + i.URL())
	if err := p.ready(i, hosts); err != nil {
		return err
	}
	<-ctx.Done()
	return p.ended()
}
