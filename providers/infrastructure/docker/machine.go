package docker

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/cloudconfig/userdata"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// userDataLimit is the largest size of user data.
const userDataLimit = 4 << 20

// unit carries out the user data of a machine once.
//
//go:embed userdata.service
var unit string

// limitUserData refuses user data that is too large, or of another format.
func limitUserData(u providers.UserData) error {
	if u.Format != "cloud-config" {
		return fleet.Errorf(fleet.Invalid, "hand over the user data", "the provider docker reads cloud-config, and it is %q: leave out the format, or set it to cloud-config", u.Format)
	}
	if n := len(u.Content.Reveal()); n > userDataLimit {
		_, err := providers.UserData{Format: "ignition", Content: u.Content}.Fit(userDataLimit) // nothing in the container unpacks it
		return err
	}
	return nil
}

// imageOf returns the node image of a pool.
func imageOf(spec *api.Container, version string) string {
	return cmp.Or(spec.CustomImage, "kindest/node:"+version)
}

// needImage returns an error if the host does not have an image.
func (p *Provider) needImage(ctx context.Context, op, image string) error {
	there, err := p.client.HasImage(ctx, image)
	if err == nil && !there {
		err = fleet.Errorf(fleet.Invalid, op, "image %q is not on the host of the Docker daemon. Run 'docker pull %s'", image, image)
	}
	return engine.WrapLook(op, err)
}

// containerName returns the name of the container of something of a cluster. Names are unique on a host, so of two
// agents that create one machine, one succeeds.
func containerName(c *fleet.Cluster, name string) string {
	return strings.Join([]string{string(c.Fleet), c.Key.Namespace, c.Key.Name, name}, ".")
}

// Create implements driver.Driver.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, _ *observation) error {
	spec, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return err
	}
	if err := limitUserData(r.UserData); err != nil {
		return err
	}
	image := imageOf(spec, r.Pool.Version)
	if err := p.haveImage(ctx, what, snapshot.OwnerOf(r.Cluster), image); err != nil {
		return err
	}
	for _, image := range spec.PreLoadImages {
		if err := p.needImage(ctx, what, image); err != nil {
			return err
		}
	}
	if err := p.client.EnsureNetwork(ctx, p.o.Network); err != nil {
		return engine.Wrap(what, err)
	}
	defer p.listings.Changed(snapshot.OwnerOf(r.Cluster).Part(r.Name))
	labels := r.Tags(op)
	labels[labelZone] = r.FailureDomain
	labels["io.x-k8s.kind.cluster"], labels["io.x-k8s.kind.role"] = r.Cluster.Key.Name, "worker"
	if r.Pool.Role == fleet.RoleControlPlane {
		labels["io.x-k8s.kind.role"] = "control-plane"
	}
	config := &container.Config{
		Hostname: string(r.Name), Image: image, Labels: labels, Tty: true, Env: []string{"container=docker"}, Volumes: map[string]struct{}{"/var": {}},
	}
	id, err := p.client.Create(ctx, containerName(r.Cluster, string(r.Name)), config, p.hostConfig(spec))
	if err != nil {
		return engine.Wrap(what, err)
	}
	files, err := filesOf(r, spec, id)
	if err == nil {
		err = p.client.Write(ctx, id, files)
	}
	if err == nil && len(spec.PreLoadImages) > 0 {
		err = p.client.CopyImages(ctx, id, "/"+imageFolder, spec.PreLoadImages)
	}
	if err == nil {
		err = p.client.Start(ctx, id)
	}
	if err != nil && fleet.KindOf(err) != fleet.Unanswered {
		// What stays here has failed once it was due to start, and is deleted then.
		if back := p.client.Remove(ctx, id); back != nil {
			p.o.Log.Warn("keeping a container that did not start", "cluster", r.Cluster.Key.String(), "container", id, "error", back)
		}
	}
	return engine.Wrap(what, err)
}

// hostConfig returns what the container of a machine has of its host, as kind has it.
func (p machines) hostConfig(spec *api.Container) *container.HostConfig {
	h := &container.HostConfig{
		Privileged: true, NetworkMode: container.NetworkMode(p.o.Network), CgroupnsMode: container.CgroupnsModePrivate,
		SecurityOpt: []string{"seccomp=unconfined", "apparmor=unconfined"},
		Tmpfs:       map[string]string{"/tmp": "", "/run": ""},
		Binds:       []string{"/lib/modules:/lib/modules:ro"},
		Sysctls:     map[string]string{"net.ipv4.ip_forward": "1"}, // kubeadm refuses a node without; a container has what its host has
	}
	for _, m := range spec.ExtraMounts {
		bind := m.HostPath + ":" + m.ContainerPath
		if m.ReadOnly {
			bind += ":ro"
		}
		h.Binds = append(h.Binds, bind)
	}
	return h
}

// folder is where a container has its user data and what that left.
const folder = "fairlead/"

const proxyFile = folder + "kube-proxy.yaml"

// imageFolder is where a container has images until containerd has them.
const imageFolder = folder + "images/"

// filesOf returns the files that carry out the user data when the container with that id starts.
func filesOf(r providers.MachineRequest, spec *api.Container, id string) ([]engine.File, error) {
	m := userdata.Metadata{
		InstanceID: id, Name: string(r.Name), ProviderID: fleet.ProviderID(idPrefix + id), Pool: string(r.Pool.Name), FailureDomain: r.FailureDomain,
	}
	script, err := userdata.Script(onContainer(r.UserData.Content.Reveal()), m)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read the user data", "%w", err)
	}
	secrets, err := userdata.Secrets(r.UserData.Content.Reveal(), m)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read the user data", "%w", err)
	}
	const units, wanted = "etc/systemd/system/", "etc/systemd/system/multi-user.target.wants/"
	const name = "fairlead-userdata.service"
	files := []engine.File{
		{Path: folder, Mode: 0o700},
		{Path: folder + "steps.sh", Mode: 0o600, Content: script},
		{Path: folder + "secrets", Mode: 0o600, Content: []byte(strings.Join(secrets, "\n"))},
		{Path: proxyFile, Mode: 0o600, Content: []byte(proxy)},
		{Path: units + name, Mode: 0o644, Content: fmt.Appendf(nil, unit, int(spec.BootstrapTimeout.Seconds()))},
		{Path: wanted, Mode: 0o755},
		{Path: wanted + name, Mode: 0o777, Link: "/" + units + name},
	}
	if len(spec.PreLoadImages) > 0 {
		files = append(files, engine.File{Path: imageFolder, Mode: 0o700})
	}
	return files, nil
}

// proxy configures kube-proxy unless the user does. The host's limit of connections is not a container's to set.
const proxy = `---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0}
`

// onContainer returns user data with which kubeadm does not refuse containers, as CAPD's controllers change it: a
// container has the kernel and the swap of its host.
func onContainer(data []byte) []byte {
	const ignored = " --ignore-preflight-errors=SystemVerification,Swap,FileContent--proc-sys-net-bridge-bridge-nf-call-iptables --config "
	const file = "/run/kubeadm/kubeadm.yaml"
	const add = "grep -q KubeProxyConfiguration " + file + " || cat /" + proxyFile + " >> " + file + "; "
	data = bytes.ReplaceAll(data, []byte("kubeadm init --config "), []byte(add+"kubeadm init"+ignored))
	return bytes.ReplaceAll(data, []byte("kubeadm join --config "), []byte("kubeadm join"+ignored))
}

// A result is how the user data of a machine ended.
type result struct {
	failed bool
	words  string
}

// mostWords is how much of the output of user data is reported.
const mostWords = 800

// readResult reads the result of the user data of a container, once it is there.
func (p *Provider) readResult(ctx context.Context, id string) error {
	if p.ended.Has(id) {
		return nil
	}
	_, err := p.client.Read(ctx, id, "/"+folder+"result")
	if err != nil {
		return err
	}
	files, err := p.client.Read(ctx, id, "/"+strings.TrimSuffix(folder, "/"))
	if err == nil {
		p.ended.Note(id, resultOf(files))
	}
	return err
}

// resultOf returns the result that files say. Words of the output that may be secrets are left out.
func resultOf(files map[string][]byte) result {
	how := strings.TrimSpace(string(files["result"]))
	if how == "success" {
		return result{}
	}
	said := map[string]string{"timeout": "did not end within bootstrapTimeout", "exit-code": "failed"}[how]
	output := string(files["output"])
	secrets := strings.Split(string(files["secrets"]), "\n")
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		if secret != "" {
			output = strings.ReplaceAll(output, secret, "…")
		}
	}
	if len(output) > mostWords {
		output = strings.ToValidUTF8(output[len(output)-mostWords:], "")
	}
	return result{true, "the user data " + cmp.Or(said, "ended with "+how) + ": " + strings.Join(strings.Fields(output), " ")}
}

// Remove implements driver.Driver.
func (p machines) Remove(ctx context.Context, what string, c *fleet.Cluster, got *observation, m driver.Seen[*box]) error {
	defer p.listings.Changed(snapshot.OwnerOf(c).Part(m.Name))
	b, err := p.again(ctx, c, m.Thing.ID)
	switch {
	case err != nil || b == nil:
		return err
	case b.machine.Damaged != "":
		return fleet.Errorf(fleet.Conflict, what, "the labels of %s are damaged: %s. Remove the container with 'docker rm'", b, b.machine.Damaged)
	}
	if err := p.write(ctx, got, b.machine.Name); err != nil {
		return err
	}
	return engine.Wrap("remove "+b.String(), p.client.Remove(ctx, b.ID))
}

// A keeper starts the containers that ended.
type keeper struct {
	p *Provider
	o *observation
}

var _ driver.Stepper[*box] = keeper{}

// Next implements driver.Stepper.
func (k keeper) Next(b *box) string {
	if b.State != container.StateExited || b.machine.State != fleet.MachineRunning || b.machine.Damaged != "" || k.o.cluster.RebootOf(b.machine.Name, b.machine.ProviderID).Off {
		return ""
	}
	return "start " + b.String()
}

// Alone implements driver.Stepper.
func (k keeper) Alone(b *box, do func() error) error {
	return k.p.Try(snapshot.OwnerOf(k.o.cluster).Part(b.machine.Name), do)
}

// Again implements driver.Stepper.
func (k keeper) Again(ctx context.Context, b *box) (*box, bool, error) {
	now, err := k.p.again(ctx, k.o.cluster, b.ID)
	return now, now != nil, err
}

// Do implements driver.Stepper.
func (k keeper) Do(ctx context.Context, b *box) error {
	defer k.p.listings.Changed(snapshot.OwnerOf(k.o.cluster).Part(b.machine.Name))
	return engine.Wrap("start "+b.String(), k.p.client.Start(ctx, b.ID))
}

// SwitchMachine implements providers.Rebooter.
func (p *Provider) SwitchMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	op := "switch machine " + c.Key.Namespace + "/" + string(name) + " " + string(to)
	o := snapshot.OwnerOf(c).Part(name)
	return p.Try(o, func() error {
		b, err := p.again(ctx, c, strings.TrimPrefix(string(id), idPrefix))
		switch {
		case err != nil || b == nil || b.machine.Name != name:
			return err
		case b.machine.Damaged != "":
			return fleet.Errorf(fleet.Conflict, op, "the labels of %s are damaged: %s", b, b.machine.Damaged)
		}
		defer p.listings.Changed(o)
		switch {
		case to == fleet.HostOff && (b.State == container.StateRunning || b.State == container.StatePaused):
			err = p.client.Kill(ctx, b.ID, "KILL")
		case to == fleet.HostOn && b.State == container.StateExited:
			err = p.client.Start(ctx, b.ID)
		}
		return engine.Wrap(op, err)
	})
}
