// Command docker runs podman with the API of Docker inside the network of a Kubernetes lab: `make lab-docker-up` and
// `make lab-docker-down` are this.
//
//	docker up      start it, and print how to reach it
//	docker down    stop it: its containers are lost, its images stay
//	docker serve   the same as up, in the foreground
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"fairlead.dev/test/lab/daemon"
	"fairlead.dev/test/lab/docker/podman"
	"fairlead.dev/test/lab/kubernetes/images"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// network is the lab whose network it is in: containers have addresses on a bridge there, and none on the host.
const network = "docker"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("say what to do: up, down or serve; test/lab/docker/main.go explains them")
	}
	dir, err := images.Dir()
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "docker")
	p := daemon.Process{Dir: dir, Env: "docker.env"}
	switch args[0] {
	case "up":
		return p.Up(ctx, nil)
	case "down":
		return p.Down(ctx)
	case "serve":
		if err := lab.Enter(ctx, network); err != nil {
			return err
		}
		return serve(ctx, p)
	}
	return fmt.Errorf("%q is nothing that it does: up, down, serve", args[0])
}

// serve runs podman until it is asked to end.
func serve(ctx context.Context, p daemon.Process) error {
	l, err := lab.Up(ctx, lab.Options{Name: network}) // without machines, so that its program finds the network
	if err != nil {
		return err
	}
	defer func() { _ = l.Down() }() //nolint:contextcheck // it removes the lab also when the call is over; the next one removes what is left
	d, err := podman.Start(ctx, p.Dir, os.Stdout)
	if err != nil {
		return err
	}
	if err := p.Ready("export DOCKER_HOST=" + d.Host() + "\n"); err != nil {
		return err
	}
	<-ctx.Done()
	return errors.Join(d.Stop(context.WithoutCancel(ctx)), p.Ended())
}
