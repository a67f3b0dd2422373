package eks

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/cloudinit"
	"fairlead.dev/providers/distribution/kubeconfig"
	"fairlead.dev/providers/distribution/rancher"
)

// format is that of user data that nodeadm reads: parts of MIME, of which cloud-init reads the others. Nodeadm takes it from
// the instance itself, not compressed.
const format = "nodeadm"

// The keys of what the control plane gives with the certificate of its CA.
const (
	clusterNameKey  = "cluster-name"
	serviceRangeKey = "service-range"
)

// What registers a Node with labels and taints.
const (
	labelsFlag  = "--node-labels"
	taintsFlag  = "--register-with-taints"
	taintsField = "registerWithTaints"
)

// errIncomplete says that the request lacks something that is not in Git, so that a change of Git would not help.
var errIncomplete = errors.New("the request is not complete")

// A nodeConfig is what nodeadm reads.
// Source: awslabs/amazon-eks-ami, nodeadm/doc/api.md.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       nodeConfigSpec `json:"spec"`
}

type nodeConfigSpec struct {
	Cluster struct {
		Name        string `json:"name"`
		Endpoint    string `json:"apiServerEndpoint"`
		Certificate []byte `json:"certificateAuthority"`
		Range       string `json:"cidr"`
	} `json:"cluster"`
	Containerd   *containerd     `json:"containerd,omitempty"`
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	Kubelet      kubelet         `json:"kubelet"`
}

// specOf returns the configuration of p.
func specOf(p fleet.Pool) (spec, error) {
	var s spec
	if p.Bootstrap.Spec != nil {
		if err := json.Unmarshal(p.Bootstrap.Spec, &s); err != nil {
			return spec{}, fmt.Errorf("read the %s: %w", configKind, err)
		}
	}
	return s, nil
}

// userData writes what a machine of in boots with. Its Node has taints from its first moment, beside those of the pool.
func userData(in providers.BootstrapInput, taints ...corev1.Taint) (providers.UserData, error) {
	op := fmt.Sprintf("write the user data of machine %s of pool %s", in.Machine, in.Pool.Name)
	if in.Join != fleet.JoinWorker {
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, op, "EKS keeps the control plane: all machines are workers")
	}
	s, err := specOf(in.Pool)
	if err != nil {
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	config, err := nodeConfigOf(in, s, taints)
	switch {
	case errors.Is(err, errIncomplete):
		return providers.UserData{}, fleet.Errorf(fleet.Unknown, op, "%w", err)
	case err != nil:
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	machine, err := cloudConfig(in, s)
	if err != nil {
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return providers.UserData{Format: format, Content: fleet.NewSecret(parts(config, machine))}, nil
}

// nodeConfigOf returns what nodeadm reads.
func nodeConfigOf(in providers.BootstrapInput, s spec, taints []corev1.Taint) ([]byte, error) {
	ca := in.Secrets[fleet.ClusterCA]
	c := nodeConfig{APIVersion: "node.eks.aws/v1alpha1", Kind: "NodeConfig"}
	k := &c.Spec.Cluster
	k.Name, k.Range, k.Certificate = string(ca[clusterNameKey].Reveal()), string(ca[serviceRangeKey].Reveal()), ca[fleet.TLSCertKey].Reveal()
	if in.Endpoint.IsZero() || k.Name == "" || k.Range == "" || len(k.Certificate) == 0 {
		return nil, fmt.Errorf("%w: EKS has not given the endpoint, the certificate and the addresses of Services yet", errIncomplete)
	}
	k.Endpoint = "https://" + strings.TrimSuffix(kubeconfig.HostPort(in.Endpoint), ":443")
	c.Spec.Containerd, c.Spec.FeatureGates = s.Containerd, s.FeatureGates
	if s.Kubelet != nil {
		c.Spec.Kubelet = kubelet{Config: maps.Clone(s.Kubelet.Config), Flags: slices.Clone(s.Kubelet.Flags)}
	}
	if err := c.Spec.Kubelet.taint(in.Pool, taints); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := cloudinit.EncodeJSONAsYAML(&b, c)
	return b.Bytes(), err
}

// taint adds the taints of p, and more. A flag with taints takes the place of those in the configuration.
func (k *kubelet) taint(p fleet.Pool, more []corev1.Taint) error {
	_, has := registered(spec{Kubelet: k})
	var add []corev1.Taint
	for _, t := range p.Taints {
		add = append(add, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	add = slices.DeleteFunc(append(add, more...), func(t corev1.Taint) bool { return slices.Contains(has, t) })
	if len(add) == 0 {
		return nil
	}
	for i, f := range k.Flags {
		if value, ok := strings.CutPrefix(f, taintsFlag+"="); ok {
			for _, t := range add {
				value = strings.TrimPrefix(value+","+t.ToString(), ",")
			}
			k.Flags[i] = taintsFlag + "=" + value
			return nil
		}
	}
	list, err := taintsIn(k.Config)
	if err != nil {
		return err
	}
	if k.Config == nil {
		k.Config = make(object)
	}
	k.Config[taintsField] = append(list, add...)
	return nil
}

// taintsIn returns the taints in the configuration of a kubelet.
func taintsIn(config object) ([]corev1.Taint, error) {
	var out []corev1.Taint
	data, err := json.Marshal(config[taintsField])
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, fleet.FieldErrorf("kubelet.config."+taintsField, "must be a list of taints, each with key and effect")
	}
	return out, nil
}

// registered returns the labels and taints with which kubelets register their Nodes.
func registered(s spec) (map[string]string, []corev1.Taint) {
	if s.Kubelet == nil {
		return nil, nil
	}
	taints, err := taintsIn(s.Kubelet.Config)
	if err != nil {
		taints = nil
	}
	var labels map[string]string
	for _, f := range s.Kubelet.Flags {
		if value, ok := strings.CutPrefix(f, labelsFlag+"="); ok {
			labels = rancher.ParseLabels(strings.Split(value, ","))
		}
		if value, ok := strings.CutPrefix(f, taintsFlag+"="); ok {
			taints = rancher.ParseTaints(strings.Split(value, ","))
		}
	}
	return labels, taints
}

// cloudConfig returns what cloud-init reads: the machine beside Kubernetes. Its commands run before the kubelet starts.
func cloudConfig(in providers.BootstrapInput, s spec) ([]byte, error) {
	files := make([]rancher.File, 0, len(s.Files))
	for _, f := range s.Files {
		files = append(files, rancher.File{Path: f.Path, Owner: f.Owner, Permissions: f.Permissions, Encoding: f.Encoding, Content: f.Content, Append: f.Append})
	}
	written, err := rancher.UserFiles(in, files)
	if err != nil {
		return nil, err
	}
	for i, c := range s.PreNodeadmCommands {
		if err := cloudinit.CheckJinja(c); err != nil {
			return nil, fleet.FieldErrorf(fmt.Sprintf("preNodeadmCommands[%d]", i), "%w", err)
		}
	}
	out := cloudinit.Config{WriteFiles: written, RunCmd: cloudinit.Texts(s.PreNodeadmCommands)}
	if n := s.NTP; n != nil {
		out.NTP = &cloudinit.NTP{Enabled: n.Enabled, Servers: cloudinit.Texts(n.Servers)}
	}
	for _, u := range s.Users {
		out.Users = append(out.Users, u.cloudInit())
	}
	if s.DiskSetup != nil {
		s.DiskSetup.cloudInit(&out)
	}
	for _, m := range s.Mounts {
		out.Mounts = append(out.Mounts, cloudinit.Texts(m))
	}
	return out.Marshal()
}

func (u *user) cloudInit() cloudinit.User {
	out := cloudinit.User{
		Name: cloudinit.Text(u.Name), Passwd: cloudinit.Text(u.Passwd), Gecos: cloudinit.Text(u.Gecos), Groups: cloudinit.Text(u.Groups), HomeDir: cloudinit.Text(u.HomeDir),
		LockPasswd: u.LockPassword, Shell: cloudinit.Text(u.Shell), PrimaryGroup: cloudinit.Text(u.PrimaryGroup), Sudo: cloudinit.Text(u.Sudo),
		SSHAuthorizedKeys: cloudinit.Texts(u.SSHAuthorizedKeys),
	}
	if u.Inactive { // in days after the end of the password
		out.Inactive = "0"
	}
	return out
}

func (d *diskSetup) cloudInit(out *cloudinit.Config) {
	for _, p := range d.Partitions {
		if out.DiskSetup == nil {
			out.DiskSetup = make(map[cloudinit.Text]cloudinit.Partitioning)
		}
		out.DiskSetup[cloudinit.Text(p.Device)] = cloudinit.Partitioning{TableType: cloudinit.Text(p.TableType), Layout: p.Layout, Overwrite: p.Overwrite}
	}
	for _, f := range d.Filesystems {
		out.FSSetup = append(out.FSSetup, cloudinit.Filesystem{
			Label: cloudinit.Text(f.Label), Filesystem: cloudinit.Text(f.Filesystem), Device: cloudinit.Text(f.Device), Partition: cloudinit.Text(f.Partition),
			Overwrite: f.Overwrite, ExtraOpts: cloudinit.Texts(f.ExtraOpts),
		})
	}
}

// parts returns the parts of user data. Cloud-init renders a template with what the instance says of itself, and passes
// over what nodeadm reads. It reads a part with other characters than those of ASCII only if it is encoded.
// Source: cloud-init, user data formats, "MIME multi-part archive"; Python, email.message, get_payload.
func parts(config, machine []byte) []byte {
	const boundary = "fairlead-user-data"
	var b bytes.Buffer
	fmt.Fprintf(&b, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=%q\n\n", boundary)
	fmt.Fprintf(&b, "--%s\nContent-Type: application/node.eks.aws\nMIME-Version: 1.0\n\n%s\n", boundary, config)
	fmt.Fprintf(&b, "--%s\nContent-Type: text/jinja2; charset=\"utf-8\"\nMIME-Version: 1.0\n", boundary)
	if bytes.ContainsFunc(machine, func(r rune) bool { return r > unicode.MaxASCII }) {
		fmt.Fprint(&b, "Content-Transfer-Encoding: base64\n")
		const line = 57 // bytes, of which 76 characters are made
		var lines []byte
		for part := range slices.Chunk(machine, line) {
			lines = append(base64.StdEncoding.AppendEncode(lines, part), '\n')
		}
		machine = lines
	}
	fmt.Fprintf(&b, "\n%s\n--%s--\n", machine, boundary)
	return b.Bytes()
}
