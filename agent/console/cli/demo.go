package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring/demo"
)

func newDemo(p Program) *cobra.Command {
	var keep, docker bool
	var images []string
	var haproxy string
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: groupRun,
		Short:   "Run a one-minute demo",
		Long: `Run a one-minute demo: create a Git repository with an example fleet, serve it on this
computer, start an agent, and push two clusters, more workers, a Kubernetes upgrade
that is planned on a branch first, a mistake, its fix, and a deletion. The machines are
simulated: the demo needs git, and no cloud, credentials or containers. With --docker it
takes some minutes: it creates a real cluster of three nodes in containers, upgrades it
if there are node images of two minor versions, and deletes it. No container stays.

Each step is verified on the status branch and at the API servers; the exit code is 0 if
all succeed.`,
		Example: `  fairlead demo
  fairlead demo --keep     leave it running, to try things
  fairlead demo --docker   with the node images of kind that the host has
  fairlead demo --docker --node-image v1.33.4=kindest/node:v1.33.4 --node-image v1.34.0=kindest/node:v1.34.0`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if f := output.Terminal(out); f != nil {
				out = f // a terminal that can be drawn on
			}
			o := demo.Options{Out: out, Width: output.Width(out), Keep: keep, Version: p.Version, Built: p.Built}
			if !docker && (len(images) > 0 || haproxy != "") {
				return &usageError{errors.New("--node-image and --haproxy-image need --docker")}
			}
			if docker {
				o.Docker = &demo.Docker{HAProxy: haproxy}
				for _, text := range images {
					image, err := demo.ParseNodeImage(text)
					if err != nil {
						return &usageError{err}
					}
					o.Docker.NodeImages = append(o.Docker.NodeImages, image)
				}
			}
			if err := demo.Run(cmd.Context(), o); err != nil {
				return &exitError{exitFailure}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep everything running at the end")
	cmd.Flags().BoolVar(&docker, "docker", false, "create real clusters in containers, with the daemon of DOCKER_HOST or the Docker context (default unix:///var/run/docker.sock)")
	cmd.Flags().StringArrayVar(&images, "node-image", nil, "node image as `VERSION=IMAGE`, for --docker; may be repeated once, for an upgrade (default: the newest ones of kindest/node that the host has)")
	cmd.Flags().StringVar(&haproxy, "haproxy-image", "", "`image` of the load balancer as REPOSITORY/haproxy:TAG, for --docker (default: kind's)")
	settings(cmd, "keep", "docker")
	declare(cmd, verbatim, []string{"node-image", "haproxy-image"})
	return cmd
}
