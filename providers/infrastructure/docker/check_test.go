package docker_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/docker"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/dockertest"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// TestCheck: what the host lacks for the machines of a cluster is found, with what to do.
func TestCheck(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/sys/fs/inotify"); err != nil || runtime.GOOS == "windows" {
		t.Skip("this system has no limits of inotify")
	}
	for name, tc := range map[string]struct {
		host, cgroups, version string
		machines               int
		want, not              []string // errors
		said                   string   // without an error
	}{
		"many machines": {"unix:///test.sock", "2", "v1.35.1", 1_000_000, []string{
			"memory: 1000001 machines need about 1700001700 MB, and the host has 65536", "disk space: ", "docker system prune", "inotify limits: ", "Run 'sysctl fs.inotify.max_user_instances=512",
		}, []string{"control groups"}, "image kindest/haproxy:v1 of the load balancer"},
		"of another host": {"tcp://192.0.2.1:2375", "2", "v1.35.1", 1_000_000, []string{"memory: "}, []string{"disk space", "inotify"}, ""},
		"old control groups": {"unix:///test.sock", "1", "v1.35.0", 0, []string{
			"control groups: the host has version 1, which kubelets refuse from Kubernetes 1.35 on unless failCgroupV1 is false. Boot it with version 2",
		}, []string{"memory", "disk space", "inotify"}, ""},
		"old control groups for old kubelets": {"unix:///test.sock", "1", "v1.34.9", 0, nil, []string{"control groups: "}, ""},
		"images": {
			"unix:///test.sock", "2", "v1.36.0", 0,
			[]string{`image "theirs:v1" is not on the host of the Docker daemon. Run 'docker pull theirs:v1'`},
			[]string{"kindest/node"},
			"image kindest/node:v1.36.0 of pool eu-1-cp is not on the host of the Docker daemon yet. The daemon pulls it when a machine needs it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dockertest.New(nodeImage, balancerImage)
			d.HasCgroups(tc.cgroups)
			p, err := docker.New(docker.Options{Engine: engine.Options{Host: tc.host, Base: d}, Tick: tick, Settle: settle})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			c := cluster()
			c.ControlPlane.Version, c.Workers[0].Replicas = tc.version, tc.machines
			c.Workers[0].Infrastructure = newObject("DockerMachineTemplate", api.DockerMachineSpec{Container: api.Container{PoolContainer: api.PoolContainer{PreLoadImages: []string{balancerImage, "theirs:v1"}}}})
			found, err := p.Check(t.Context(), []*fleet.Cluster{&c})
			if err != nil {
				t.Fatal(err)
			}
			var wrong, said strings.Builder
			for _, f := range found {
				if f.Err != nil {
					wrong.WriteString(f.What + ": " + f.Err.Error() + "\n")
				} else {
					said.WriteString(f.Text + "\n")
				}
			}
			if !strings.Contains(said.String(), tc.said) {
				t.Errorf("found\n%s\nwant %q", &said, tc.said)
			}
			for _, want := range tc.want {
				if !strings.Contains(wrong.String(), want) {
					t.Errorf("found\n%s\nwant %q", &wrong, want)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(wrong.String(), not) {
					t.Errorf("found\n%s\nwant no %q", &wrong, not)
				}
			}
		})
	}
}
