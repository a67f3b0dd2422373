package rancher

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/cloudinit"
	"fairlead.dev/providers/distribution/kubeconfig"
	"fairlead.dev/providers/driver/endpoint"
)

// A Machine has the settings of one machine, beside those that are the same for all.
type Machine struct {
	// Config is config.yaml, by flag: a string, a bool, a number or a list of strings.
	// Empty values are left out.
	Config map[string]any
	Labels []string // "key=value", with which its Node registers
	Taints []string // "key=value:effect"

	KubeletArgs []string // "name=value"
	// CloudProvider says that a cloud controller manager tells Nodes who they are.
	CloudProvider bool
	// Address is where the others join, without a port; empty: at the cluster's endpoint.
	Address string

	Files     []File
	NTP       *cloudinit.NTP
	Before    []string // commands that people have run before
	Commands  []string // that install and start it
	Afterward []string // commands that people have run after
}

// A File is one that people ask for. Content in an encoding is in that already.
type File struct {
	Path, Owner, Permissions, Encoding, Content string
	Secret, Key                                 string // of Secret the value of Key is the content, where not empty
	Append                                      bool
}

// Places on a machine.
const (
	runDir    = "/run/cluster-api"
	rootOwner = "root:root"
)

// Installed returns the commands that run the script at url with an environment. It is
// fetched first: a shell that reads nothing from a pipe reports no error.
func Installed(url, environment string) []string {
	const script = runDir + "/install.sh"
	return []string{"curl -sfL --retry 5 -o " + script + " " + url, environment + " sh " + script}
}

// errIncomplete says that the request lacks something that is not in Git, so that a change
// of Git would not help.
var errIncomplete = errors.New("the request is not complete")

// UserData implements providers.Distribution. Its errors name the pool, and hold nothing
// that is secret.
func (d Distribution) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	op := fmt.Sprintf("write the user data of machine %s of pool %s", in.Machine, in.Pool.Name)
	data, err := d.userData(in)
	switch {
	case errors.Is(err, errIncomplete):
		return providers.UserData{}, fleet.Errorf(fleet.Unknown, op, "%w", err)
	case err != nil:
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return providers.UserData{Format: "cloud-config", Content: fleet.NewSecret(data)}, nil
}

func (d Distribution) userData(in providers.BootstrapInput) ([]byte, error) {
	if in.Endpoint.IsZero() {
		return nil, fmt.Errorf("%w: the endpoint is not known yet", errIncomplete)
	}
	m, err := d.program.Machine(in)
	if err != nil {
		return nil, err
	}
	config, err := d.config(in, &m)
	if err != nil {
		return nil, err
	}
	out := cloudinit.Config{NTP: m.NTP}
	if in.Join == fleet.JoinInit {
		if out.WriteFiles, err = d.authorities(in); err != nil {
			return nil, err
		}
	}
	if in.Join != fleet.JoinWorker {
		announcer, err := cloudinit.VirtualIP(in, d.place())
		if err != nil {
			return nil, err
		}
		out.WriteFiles = append(out.WriteFiles, announcer...)
	}
	files, err := UserFiles(in, m.Files)
	if err != nil {
		return nil, err
	}
	out.WriteFiles = append(out.WriteFiles, files...)
	out.WriteFiles = append(out.WriteFiles, cloudinit.File{
		Path: cloudinit.Text(d.configFile()), Owner: rootOwner, Permissions: "0600", Content: cloudinit.Text(config),
	})
	for _, list := range [][]string{m.Before, m.Afterward} {
		for _, c := range list {
			if err := cloudinit.CheckJinja(c); err != nil {
				return nil, fmt.Errorf("command %q: %w", c, err)
			}
		}
	}
	// One command: the mark of success is not written where a part failed.
	install := slices.Concat([]string{"mkdir -p " + runDir}, m.Commands, []string{"echo success > " + path.Join(runDir, "bootstrap-success.complete")})
	out.RunCmd = slices.Concat(cloudinit.Texts(m.Before), cloudinit.Texts([]string{strings.Join(install, " && ")}), cloudinit.Texts(m.Afterward))
	return out.Marshal()
}

// place is where servers have what the static pod of a virtual address needs. Their
// kubeconfig asks the API server of the machine, from the first start on.
func (d Distribution) place() endpoint.Place {
	return endpoint.Place{
		Manifests:  "/var/lib/rancher/" + d.program.Name + "/agent/pod-manifests",
		Kubeconfig: "/etc/rancher/" + d.program.Name + "/" + d.program.Name + ".yaml",
	}
}

func (d Distribution) configFile() string { return "/etc/rancher/" + d.program.Name + "/config.yaml" }

// config returns config.yaml.
func (d Distribution) config(in providers.BootstrapInput, m *Machine) (string, error) {
	token, err := joinToken(in)
	if err != nil {
		return "", err
	}
	all := maps.Clone(m.Config)
	if all == nil {
		all = make(map[string]any)
	}
	all["token"], all["node-name"] = token, string(in.Machine)
	if in.Join != fleet.JoinInit {
		all["server"] = "https://" + kubeconfig.HostPort(d.joinAt(in, m))
	}
	all["node-label"], all["node-taint"] = m.Labels, taints(in, m.Taints)
	args := slices.Clone(m.KubeletArgs)
	told := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "provider-id=") })
	if in.NodeID != "" && !told && !m.CloudProvider {
		args = append(args, "provider-id="+in.NodeID)
	}
	all["kubelet-arg"] = args
	if in.Join == fleet.JoinControlPlane && !d.configuredByFiles(*m) {
		d.keep(all, in.Cluster.Made)
	}
	maps.DeleteFunc(all, func(_ string, v any) bool { return isEmpty(v) })
	var b bytes.Buffer
	if err := cloudinit.EncodeJSONAsYAML(&b, all); err != nil {
		return "", err
	}
	return b.String(), nil
}

// joinAt is where the machine of in joins.
func (d Distribution) joinAt(in providers.BootstrapInput, m *Machine) fleet.Endpoint {
	at := in.Endpoint
	if d.program.JoinPort != 0 {
		at.Port = d.program.JoinPort
	}
	if m.Address != "" {
		at.Host = m.Address
	}
	return at
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case []string:
		return len(v) == 0
	case int:
		return v == 0
	}
	return v == nil
}

// taints returns those that the Node registers with: those that people say, those of the
// pool, and, on a worker, the one that keeps pods away until its labels are in place.
func taints(in providers.BootstrapInput, user []string) []string {
	out := slices.Clone(user)
	add := func(key, value string, effect corev1.TaintEffect) {
		text := key + "=" + value + ":" + string(effect)
		if value == "" {
			text = key + ":" + string(effect)
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, t := range in.Pool.Taints {
		add(t.Key, t.Value, t.Effect)
	}
	if in.Join == fleet.JoinWorker {
		t := clusterv1.NodeUninitializedTaint
		add(t.Key, t.Value, t.Effect)
	}
	return out
}

// authorities returns the files of the CA certificates, for the first server. The others
// get them from it.
func (d Distribution) authorities(in providers.BootstrapInput) ([]cloudinit.File, error) {
	dir := "/var/lib/rancher/" + d.program.Name + "/server/tls"
	var out []cloudinit.File
	for _, a := range d.program.Authorities {
		s := in.Secrets[a.Name]
		cert, key := authorityFile(s), s[fleet.TLSKeyKey]
		if len(cert) == 0 || key.IsZero() {
			return nil, fmt.Errorf("%w: CA %s is missing", errIncomplete, a.Name)
		}
		out = append(out,
			cloudinit.File{Path: cloudinit.Text(path.Join(dir, a.File+".crt")), Owner: rootOwner, Permissions: "0644", Content: cloudinit.Text(cert)},
			cloudinit.File{Path: cloudinit.Text(path.Join(dir, a.File+".key")), Owner: rootOwner, Permissions: "0600", Content: cloudinit.Text(key.Reveal())})
	}
	return out, nil
}
