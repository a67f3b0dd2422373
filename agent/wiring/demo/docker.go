package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	example "fairlead.dev/fleet-examples/docker"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// Docker configures a demonstration on real clusters in containers.
type Docker struct {
	// NodeImages are one image, or two for an upgrade. None: those of kind that the host has.
	NodeImages []NodeImage
	// HAProxy is the image of the load balancer, such as "localhost/haproxy:lab". Empty: kind's.
	HAProxy string
	Engine  engine.Options // leads to the daemon
}

// A NodeImage is an image with a version of Kubernetes.
type NodeImage struct{ Version, Image string }

// ParseNodeImage reads "VERSION=IMAGE".
func ParseNodeImage(text string) (NodeImage, error) {
	v, image, ok := strings.Cut(text, "=")
	if _, err := version.ParseSemantic(v); !ok || image == "" || err != nil || !strings.HasPrefix(v, "v") {
		return NodeImage{}, fmt.Errorf("invalid node image %q: must be VERSION=IMAGE, such as v1.34.0=kindest/node:v1.34.0", text)
	}
	return NodeImage{v, image}, nil
}

func compareVersions(a, b NodeImage) int {
	if version.MustParseSemantic(a.Version).LessThan(version.MustParseSemantic(b.Version)) {
		return -1
	}
	return 1
}

// kindRepository has the node images of kind, by version.
const kindRepository = "kindest/node"

var errNoImage = errors.New("the host of the Docker daemon has no node image of kind. Run 'docker pull kindest/node:v1.34.0', and 'docker pull kindest/node:v1.33.4' to see an upgrade, " +
	"or name an image with --node-image v1.34.0=IMAGE, which is pulled if it is missing. https://github.com/kubernetes-sigs/kind/releases lists images of kind")

// nodeImages returns the images to use, the older one first.
func (o *Docker) nodeImages(ctx context.Context, client *engine.Client) ([]NodeImage, error) {
	if len(o.NodeImages) > 0 {
		out := slices.SortedFunc(slices.Values(o.NodeImages), compareVersions)
		if len(out) > 2 || len(out) == 2 && !follows(out[0], out[1]) {
			return nil, errors.New("invalid node images: must be one, or two whose versions are one minor version apart")
		}
		return out, nil
	}
	names, err := client.Images(ctx, kindRepository)
	if err != nil {
		return nil, engine.WrapLook("list images", err)
	}
	var all []NodeImage
	for _, name := range names {
		i := strings.LastIndexByte(name, ':')
		if image, err := ParseNodeImage(name[i+1:] + "=" + name); err == nil && strings.HasSuffix("/"+name[:max(i, 0)], "/"+kindRepository) {
			all = append(all, image)
		}
	}
	if len(all) == 0 {
		return nil, errNoImage
	}
	slices.SortFunc(all, compareVersions)
	newest := all[len(all)-1]
	for _, older := range slices.Backward(all) {
		if follows(older, newest) {
			return []NodeImage{older, newest}, nil
		}
	}
	return []NodeImage{newest}, nil
}

// follows reports whether b is of the minor version after that of a.
func follows(a, b NodeImage) bool {
	was, is := version.MustParseSemantic(a.Version), version.MustParseSemantic(b.Version)
	return was.Major() == is.Major() && was.Minor()+1 == is.Minor()
}

// The cluster of the example that is shown.
const (
	smallFolder = "clusters/dev/small"
	smallValues = smallFolder + "/values.yaml"
)

func small() fleet.Key { return fleet.Key{Namespace: "dev", Name: "small"} }

// newDockerStory returns the story on real clusters, and makes sure that it can be shown.
func newDockerStory(ctx context.Context, o *Docker, keep bool) (*story, error) {
	if runtime.GOOS != "linux" && o.Engine.Base == nil {
		return nil, errors.New("the addresses of containers can be reached on Linux only: run the demo in the virtual machine that Docker runs in")
	}
	client, err := engine.New(o.Engine)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if _, err := client.Info(ctx); err != nil {
		return nil, fmt.Errorf("%w. Start Docker or podman, or set DOCKER_HOST", engine.WrapLook("use the Docker daemon at "+client.Host, err))
	}
	images, err := o.nodeImages(ctx, client)
	if err != nil {
		return nil, err
	}
	values := map[string]string{"WORKER_MACHINE_COUNT": "2", "KUBERNETES_VERSION": images[0].Version, "NODE_IMAGE": images[0].Image}
	if o.HAProxy != "" {
		repository, tag, ok := strings.Cut(o.HAProxy, "/haproxy:")
		if !ok || repository == "" || tag == "" {
			return nil, fmt.Errorf("invalid image of HAProxy %q: must be REPOSITORY/haproxy:TAG", o.HAProxy)
		}
		values["HAPROXY_REPOSITORY"], values["HAPROXY_TAG"] = repository, tag
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	id := "demo-" + hex.EncodeToString(random[:])
	steps := dockerSteps(id, images, values)
	if keep {
		steps = steps[:len(steps)-2] // what people try things on stays until they end the demonstration
	}
	return &story{
		headline: "Git is the management cluster: pushes, and the clusters in containers that become of them.",
		ending:   fmt.Sprintf("%d pushes, each seen to its end", len(steps)),
		files:    example.Files(), steps: steps, clusters: []fleet.Key{small()}, values: smallValues,
		// Nothing else uses the network, and no former agent has a request under way.
		settings: map[string]map[string]string{"docker": {"network": id, "settle": "10s"}},
		clean:    func(ctx context.Context) error { return o.clean(ctx, id) },
	}, nil
}

// The longest that a step may take, with pulls of images.
const (
	createLimit = 30 * time.Minute
	deleteLimit = 10 * time.Minute
)

// dockerSteps are the pushes of the story. There is no upgrade with one image.
func dockerSteps(id string, images []NodeImage, values map[string]string) []step {
	last := images[len(images)-1]
	out := []step{{
		title: "A cluster of three machines, out of nothing", commit: "A cluster: " + small().String(),
		edit: func(r *repository) error {
			var lines strings.Builder
			for _, name := range slices.Sorted(maps.Keys(values)) {
				fmt.Fprintf(&lines, "  %s: %q\n", name, values[name])
			}
			return errors.Join(
				r.remove("clusters/dev/ha"),
				r.replace("fleet.yaml", "name: laptop", "name: "+id),
				r.add("fleet.yaml", "  pullRequests:\n    refs: ["+proposalRefs+"]\n"),
				r.add(smallValues, lines.String()),
			)
		},
		expect: func(rev string, _ snapshot) condition { return running(small(), rev, images[0].Version, 1, 2) },
		limit:  createLimit,
	}}
	if len(images) > 1 {
		out = append(out, step{
			title: "Upgrade Kubernetes by a minor, rolling: first its plan, then the merge", proposal: "proposals/kubernetes", commit: small().String() + ": Kubernetes " + last.Version,
			edit: func(r *repository) error {
				return errors.Join(r.replace(smallValues, `"`+images[0].Version+`"`, `"`+last.Version+`"`), r.replace(smallValues, `"`+images[0].Image+`"`, `"`+last.Image+`"`))
			},
			expect: func(rev string, before snapshot) condition {
				return all(running(small(), rev, last.Version, 1, 2), replaced(small(), before.names(small())))
			},
			limit: createLimit,
		})
	}
	return append(out, deletion(small(), smallFolder, deleteLimit, nil)...)
}

// clean removes all containers of a fleet, and its network.
func (o *Docker) clean(ctx context.Context, id string) error {
	client, err := engine.New(o.Engine)
	if err != nil {
		return err
	}
	defer client.Close()
	for range 2 { // a request of the agent that ended may have been carried out meanwhile
		all, failed := client.Containers(ctx, fleet.TagFleet+"="+id)
		errs := []error{failed}
		for i := range all {
			errs = append(errs, client.Remove(ctx, all[i].ID))
		}
		err = errors.Join(append(errs, client.RemoveNetwork(ctx, id))...)
	}
	if err != nil {
		return fmt.Errorf("%w. Run 'docker rm --force --volumes $(docker ps --all --quiet --filter label=%s=%s); docker network rm %s'",
			engine.Wrap("remove the containers of the demo", err), fleet.TagFleet, id, id)
	}
	return nil
}
