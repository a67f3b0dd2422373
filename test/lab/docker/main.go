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
	"flag"
	"os"
	"path/filepath"

	"fairlead.dev/test/lab/daemon"
	"fairlead.dev/test/lab/docker/podman"
	"fairlead.dev/test/lab/kubernetes/images"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// network is the lab whose network it is in: containers have addresses on a bridge there, and none on the host.
const network = "docker"

func main() {
	daemon.Run(func(ctx context.Context, args []string) error {
		dir, err := images.Dir()
		if err != nil {
			return err
		}
		p := daemon.Process{Dir: filepath.Join(dir, "docker"), Env: "docker.env"}
		return p.Do(ctx, args, flag.NewFlagSet("docker", flag.ContinueOnError), serve)
	})
}

// serve runs podman until it is asked to end.
func serve(ctx context.Context, p daemon.Process) error {
	if err := lab.Enter(ctx, network); err != nil {
		return err
	}
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
