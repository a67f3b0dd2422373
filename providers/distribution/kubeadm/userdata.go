package kubeadm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/cloudinit"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/distribution/kubeconfig"
	"fairlead.dev/providers/driver/endpoint"
)

// The places on a machine that tools rely on, as Cluster API has them.
const (
	initConfigPath  = "/run/kubeadm/kubeadm.yaml"
	joinConfigPath  = "/run/kubeadm/kubeadm-join-config.yaml"
	placeholderPath = "/run/cluster-api/placeholder"
	successCommand  = "echo success > /run/cluster-api/bootstrap-success.complete"
	certificatesDir = "/etc/kubernetes/pki"
	rootOwner       = "root:root"
)

// UserData implements providers.Distribution. Its errors name the pool and the
// field, and hold nothing that is secret.
func (Distribution) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	var t inside.Token
	if in.Join != fleet.JoinInit {
		var err error
		if t, err = tokenOf(in); err != nil {
			return providers.UserData{}, err
		}
	}
	return userData(in, t)
}

func userData(in providers.BootstrapInput, t inside.Token) (providers.UserData, error) {
	op := fmt.Sprintf("write the user data of machine %s of pool %s", in.Machine, in.Pool.Name)
	spec, err := specOf(in.Pool.Bootstrap)
	if err != nil {
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	w := writer{in: in, token: t, spec: spec}
	format := cmp.Or(w.spec.Format, bootstrapv1.CloudConfig)
	var data []byte
	switch format {
	case bootstrapv1.CloudConfig:
		data, err = w.cloudConfig()
	case bootstrapv1.Ignition:
		data, err = w.ignition()
	default:
		err = fleet.FieldErrorf("format", "%q is not supported, only %q and %q are", format, bootstrapv1.CloudConfig, bootstrapv1.Ignition)
	}
	if errors.Is(err, errIncomplete) {
		return providers.UserData{}, fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	if err != nil {
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return providers.UserData{Format: string(format), Content: fleet.NewSecret(data)}, nil
}

// clusterConfigurationOf returns kubeadm's configuration of c, as machines of the version
// of its control plane read it.
func clusterConfigurationOf(c *fleet.Cluster, e fleet.Endpoint) ([]byte, error) {
	op := "write the ClusterConfiguration of " + c.Key.String()
	convert, err := newConverter(c.ControlPlane.Version)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	spec, err := specOf(c.ControlPlane.Bootstrap)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	w := writer{in: providers.BootstrapInput{Cluster: c, Pool: c.ControlPlane, Endpoint: e}, spec: spec}
	config, _ := w.initConfiguration(convert)
	var b bytes.Buffer
	if err := cmp.Or(convert.err, cloudinit.EncodeJSONAsYAML(&b, config)); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return b.Bytes(), nil
}

// errIncomplete says that the request lacks something that is not in Git, so
// that a change of Git would not help.
var errIncomplete = errors.New("the request is not complete")

// A writer makes the user data of one machine.
type writer struct {
	in    providers.BootstrapInput
	token inside.Token // with which it joins
	spec  bootstrapv1.KubeadmConfigSpec
}

func (w *writer) cloudConfig() ([]byte, error) {
	var out cloudinit.Config
	files, err := w.userFiles()
	if err != nil {
		return nil, err
	}
	own, err := w.kubeadm(initConfigPath, joinConfigPath)
	if err != nil {
		return nil, err
	}
	out.WriteFiles = append(own.certificates, files...)
	out.WriteFiles = append(out.WriteFiles, own.config...)
	// The marker of success needs its directory, and a file makes it.
	out.WriteFiles = append(out.WriteFiles, cloudinit.File{
		Path: placeholderPath, Owner: rootOwner, Permissions: "0640",
		Content: "This file is here so that its directory is.",
	})
	out.BootCmd = cloudinit.Texts(w.spec.BootCommands)
	out.RunCmd = cloudinit.Texts(w.spec.PreKubeadmCommands)
	out.RunCmd = append(out.RunCmd, cloudinit.Text(own.command+" && "+successCommand))
	out.RunCmd = append(out.RunCmd, cloudinit.Texts(w.spec.PostKubeadmCommands)...)
	if err := w.checkCommands(); err != nil {
		return nil, err
	}
	if err := w.machine(&out); err != nil {
		return nil, err
	}
	return out.Marshal()
}

func (w *writer) checkCommands() error {
	for _, list := range []struct {
		field    string
		commands []string
	}{
		{"bootCommands", w.spec.BootCommands},
		{"preKubeadmCommands", w.spec.PreKubeadmCommands},
		{"postKubeadmCommands", w.spec.PostKubeadmCommands},
	} {
		for i, c := range list.commands {
			if err := cloudinit.CheckJinja(c); err != nil {
				return fleet.FieldErrorf(fmt.Sprintf("%s[%d]", list.field, i), "%w", err)
			}
		}
	}
	return nil
}

// kubeadmParts are what kubeadm needs of a machine, in every format.
type kubeadmParts struct {
	certificates []cloudinit.File
	config       []cloudinit.File // the last is kubeadm's configuration
	command      string
}

// kubeadm returns what kubeadm needs, its configuration at one of the paths.
func (w *writer) kubeadm(initPath, joinPath string) (kubeadmParts, error) {
	var out kubeadmParts
	convert, err := newConverter(w.in.Pool.Version)
	if err != nil {
		return out, err
	}
	if w.in.Endpoint.IsZero() {
		return out, fmt.Errorf("%w: the endpoint is not known yet", errIncomplete)
	}
	var after string
	if w.in.Join != fleet.JoinWorker {
		if out.certificates, err = w.certificates(); err != nil {
			return out, err
		}
		var more []cloudinit.File
		more, after, err = w.trustBothCAs(cmp.Or(w.spec.ClusterConfiguration.CertificatesDir, certificatesDir))
		if err != nil {
			return out, err
		}
		out.certificates = append(out.certificates, more...)
		if more, err = cloudinit.VirtualIP(w.in, endpoint.Kubeadm(w.in.Pool.Version, w.in.Join)); err != nil {
			return out, err
		}
		out.certificates = append(out.certificates, more...)
	}
	if w.in.Join == fleet.JoinInit {
		err = w.kubeadmInit(convert, initPath, &out)
	} else {
		err = w.kubeadmJoin(convert, joinPath, &out)
	}
	if v := w.spec.Verbosity; v != nil {
		out.command = fmt.Sprintf("%s --v %d", out.command, *v)
	}
	if after != "" {
		out.command += " && " + after
	}
	return out, err
}

func (w *writer) kubeadmInit(convert *converter, path string, out *kubeadmParts) error {
	var b bytes.Buffer
	cluster, init := w.initConfiguration(convert)
	if err := cmp.Or(convert.err, cloudinit.EncodeJSONAsYAML(&b, cluster)); err != nil {
		return err
	}
	b.WriteString("---\n")
	if err := cloudinit.EncodeJSONAsYAML(&b, init); err != nil {
		return err
	}
	out.config = []cloudinit.File{{Path: cloudinit.Text(path), Owner: rootOwner, Permissions: "0640", Content: cloudinit.Text(b.String())}}
	out.command = "kubeadm init --config " + path
	return nil
}

func (w *writer) kubeadmJoin(convert *converter, path string, out *kubeadmParts) error {
	if w.in.Join == fleet.JoinWorker && w.spec.JoinConfiguration.ControlPlane != nil {
		return fleet.FieldErrorf("joinConfiguration.controlPlane", "the machines of this pool are workers")
	}
	discovery, err := w.discover()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	join := w.joinConfiguration(convert)
	if err := cmp.Or(convert.err, cloudinit.EncodeJSONAsYAML(&b, join)); err != nil {
		return err
	}
	out.config = append(discovery, cloudinit.File{Path: cloudinit.Text(path), Owner: rootOwner, Permissions: "0640", Content: cloudinit.Text(b.String())})
	out.command = "kubeadm join --config " + path
	return nil
}

// initConfiguration fills what other objects say into what the user says.
func (w *writer) initConfiguration(convert *converter) (clusterConfiguration, initConfiguration) {
	registration := &w.spec.InitConfiguration.NodeRegistration
	registration.Taints = w.taints(registration.Taints)
	w.identify(registration)
	cluster := convert.cluster(w.spec.ClusterConfiguration, w.spec.InitConfiguration.Timeouts)
	c := w.in.Cluster
	cluster.ClusterName = c.Key.Name
	cluster.KubernetesVersion = w.in.Pool.Version
	cluster.ControlPlaneEndpoint = cmp.Or(cluster.ControlPlaneEndpoint, kubeconfig.HostPort(w.in.Endpoint))
	cluster.Networking = convert.networking(&c.Network, w.spec.ClusterConfiguration.ControllerManager.ExtraArgs)
	return cluster, convert.init(w.spec.InitConfiguration)
}

func (w *writer) joinConfiguration(convert *converter) joinConfiguration {
	join := &w.spec.JoinConfiguration
	join.NodeRegistration.Taints = w.taints(join.NodeRegistration.Taints)
	w.identify(&join.NodeRegistration)
	if w.in.Join == fleet.JoinControlPlane && join.ControlPlane == nil {
		join.ControlPlane = &bootstrapv1.JoinControlPlane{}
	}
	return convert.join(*join)
}

// identify sets the provider id of the kubelet, if it has one. If the user sets it,
// or a cloud controller manager does, it is left alone.
func (w *writer) identify(r *bootstrapv1.NodeRegistrationOptions) {
	told := slices.ContainsFunc(r.KubeletExtraArgs, func(a bootstrapv1.Arg) bool { return a.Name == "provider-id" || a.Name == "cloud-provider" })
	if w.in.NodeID != "" && !told {
		r.KubeletExtraArgs = append(slices.Clip(r.KubeletExtraArgs), bootstrapv1.Arg{Name: "provider-id", Value: &w.in.NodeID})
	}
}

// taints returns the taints that the node registers with: those of the user,
// those of the pool, and, on a worker, the one that keeps pods away until its
// labels are in place. If no taints are set it is kubeadm's choice.
func (w *writer) taints(user *[]corev1.Taint) *[]corev1.Taint {
	var add []corev1.Taint
	for _, t := range w.in.Pool.Taints {
		add = append(add, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	var taints []corev1.Taint
	if user != nil {
		taints = *user
	}
	if w.in.Join == fleet.JoinWorker {
		add = append(add, clusterv1.NodeUninitializedTaint)
	} else if len(add) == 0 {
		return user
	} else if user == nil {
		// Taints that are given replace kubeadm's own, which has to stay.
		taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	out := withTaints(taints, add...)
	return &out
}
