package docker

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// What a machine needs of the host. Source for memory: kubeadm asks for 1700 MB.
const (
	leastMemory  = 1700 << 20
	leastDisk    = 2 << 30 // for images of pods; the node image is on the disk once
	leastInotify = 40      // instances, which systemd, containerd, the kubelet and pods have
)

// Check implements providers.Checker: the daemon, the images, and what the machines of a cluster need of the host.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	return driver.Check(clusters, "Docker", func(c *fleet.Cluster, note driver.Note) error {
		info, err := p.client.Info(ctx)
		if err != nil {
			return engine.WrapLook("ask the Docker daemon at "+p.client.Host, err)
		}
		note("daemon", fmt.Sprintf("version %s, cgroups v%s, %d CPUs at %s", info.ServerVersion, info.CgroupVersion, info.NCPU, p.client.Host), nil)
		pulled := func(image, of string) {
			text := "image " + image + " of " + of
			there, err := p.client.HasImage(ctx, image)
			if err == nil && !there {
				text += " is not on the host of the Docker daemon yet. The daemon pulls it when a machine needs it"
			}
			note("image", text, engine.WrapLook("find the image of "+of, err))
		}
		var machines int64
		for _, pool := range c.Pools() {
			spec, err := api.ReadMachine(pool.Infrastructure)
			if err != nil {
				return err
			}
			machines += int64(pool.Replicas)
			pulled(imageOf(spec, pool.Version), "pool "+string(pool.Name))
			for _, image := range spec.PreLoadImages {
				note("image", "image "+image+" that machines of pool "+string(pool.Name)+" load", p.needImage(ctx, "find an image that machines of pool "+string(pool.Name)+" load", image))
			}
		}
		spec, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			return err
		}
		if l := spec.LoadBalancer; !l.Disable {
			pulled(l.ImageRepository+"/haproxy:"+l.ImageTag, "the load balancer")
		}
		short := func(what, unit string, least, has int64, do string) {
			if need := machines * least; has > 0 && need > has {
				note(what, "", fleet.Errorf(fleet.Exhausted, "find "+what, "%d machines need about %d %s, and the host has %d. %s", machines, need, unit, has, do))
			}
		}
		short("memory", "MB", leastMemory>>20, info.MemTotal>>20, "Use fewer machines or another host")
		if strings.HasPrefix(p.client.Host, "unix://") { // the daemon is on this host
			short("disk space", "MB", leastDisk>>20, freeDisk(info.DockerRootDir)>>20, "Free some in "+info.DockerRootDir+", such as with 'docker system prune'")
			text, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_instances") // Linux alone has it
			instances, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			short("inotify limits", "instances of inotify", leastInotify, instances, "Run 'sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288'")
		}
		if info.CgroupVersion == "1" && !fleet.OlderVersion(c.Version(), "v1.35.0") {
			note("control groups", "", fleet.Errorf(fleet.Invalid, "find control groups", "the host has version 1, which kubelets refuse from Kubernetes 1.35 on unless failCgroupV1 is false. Boot it with version 2, such as with systemd.unified_cgroup_hierarchy=1"))
		}
		return nil
	}), nil
}
