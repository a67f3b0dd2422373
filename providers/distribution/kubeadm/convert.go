package kubeadm

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// A converter turns Cluster API's kubeadm types into those of the kubeadm API
// version that a Kubernetes version reads: v1beta4 from 1.31, v1beta3 before.
type converter struct {
	minor   uint
	v1beta4 bool
	err     error // the first field that the version cannot express
}

func newConverter(kubernetes string) (*converter, error) {
	v, err := version.ParseGeneric(kubernetes)
	if err != nil {
		return nil, fleet.FieldErrorf("version", "%q is not a Kubernetes version", kubernetes)
	}
	if v.Major() != 1 || v.Minor() < 22 {
		return nil, fleet.FieldErrorf("version", "kubeadm of Kubernetes %s is not supported: the oldest is 1.22, and the newest are of 1.x", kubernetes)
	}
	return &converter{minor: v.Minor(), v1beta4: v.Minor() >= 31}, nil
}

func (c *converter) apiVersion() string {
	if c.v1beta4 {
		return "kubeadm.k8s.io/v1beta4"
	}
	return "kubeadm.k8s.io/v1beta3"
}

// needsV1beta4 notes that field, which only v1beta4 has, is set: dropping it
// would do something else than what was asked for.
func (c *converter) needsV1beta4(field string, set bool) {
	c.refuse(set && !c.v1beta4, field, "kubeadm has this from Kubernetes 1.31 on")
}

// refuse records the error of field if it is the first error.
func (c *converter) refuse(wrong bool, field, format string, args ...any) {
	if wrong && c.err == nil {
		c.err = fleet.FieldErrorf(field, format, args...)
	}
}

func (c *converter) cluster(in bootstrapv1.ClusterConfiguration, init bootstrapv1.Timeouts) clusterConfiguration {
	const field = "clusterConfiguration."
	c.needsV1beta4(field+"certificateValidityPeriodDays", in.CertificateValidityPeriodDays != 0)
	c.refuse(in.EncryptionAlgorithm == bootstrapv1.EncryptionAlgorithmECDSAP384 && c.v1beta4 && c.minor < 34,
		field+"encryptionAlgorithm", "kubeadm has %s from Kubernetes 1.34 on", in.EncryptionAlgorithm)
	out := clusterConfiguration{
		APIVersion:           c.apiVersion(),
		Kind:                 "ClusterConfiguration",
		Etcd:                 c.etcd(in.Etcd),
		ControlPlaneEndpoint: in.ControlPlaneEndpoint,
		APIServer: c.component(field+"apiServer", in.APIServer.ExtraArgs, in.APIServer.ExtraVolumes,
			in.APIServer.ExtraEnvs),
		ControllerManager: c.component(field+"controllerManager", in.ControllerManager.ExtraArgs,
			in.ControllerManager.ExtraVolumes, in.ControllerManager.ExtraEnvs),
		Scheduler: c.component(field+"scheduler", in.Scheduler.ExtraArgs, in.Scheduler.ExtraVolumes,
			in.Scheduler.ExtraEnvs),
		DNS:             in.DNS,
		CertificatesDir: in.CertificatesDir,
		ImageRepository: in.ImageRepository,
		FeatureGates:    c.featureGates(in.FeatureGates),
	}
	out.APIServer.CertSANs = in.APIServer.CertSANs
	if c.v1beta4 {
		out.EncryptionAlgorithm = string(in.EncryptionAlgorithm)
		out.CertificateValidityPeriod = days(in.CertificateValidityPeriodDays)
		out.CACertificateValidityPeriod = days(in.CACertificateValidityPeriodDays)
		return out
	}
	out.APIServer.TimeoutForControlPlane = seconds(init.ControlPlaneComponentHealthCheckSeconds)
	return out
}

func (c *converter) component(field string, args []bootstrapv1.Arg, volumes []bootstrapv1.HostPathMount, envs *[]bootstrapv1.EnvVar) component {
	return component{
		ExtraArgs:    c.args(field+".extraArgs", args),
		ExtraVolumes: volumes,
		ExtraEnvs:    c.envs(field+".extraEnvs", envs),
	}
}

func (c *converter) etcd(in bootstrapv1.Etcd) etcd {
	const field = "clusterConfiguration.etcd.local"
	var out etcd
	if in.Local.IsDefined() {
		out.Local = &localEtcd{
			ImageRepository: in.Local.ImageRepository,
			ImageTag:        in.Local.ImageTag,
			DataDir:         in.Local.DataDir,
			ExtraArgs:       c.args(field+".extraArgs", in.Local.ExtraArgs),
			ExtraEnvs:       c.envs(field+".extraEnvs", in.Local.ExtraEnvs),
			ServerCertSANs:  in.Local.ServerCertSANs,
			PeerCertSANs:    in.Local.PeerCertSANs,
		}
	}
	if in.External.IsDefined() {
		out.External = &in.External
	}
	return out
}

func (c *converter) init(in bootstrapv1.InitConfiguration) initConfiguration {
	const field = "initConfiguration."
	c.needsV1beta4(field+"timeouts.tlsBootstrapSeconds", in.Timeouts.TLSBootstrapSeconds != nil)
	out := initConfiguration{
		APIVersion:       c.apiVersion(),
		Kind:             "InitConfiguration",
		NodeRegistration: c.nodeRegistration(field+"nodeRegistration", in.NodeRegistration),
		LocalAPIEndpoint: in.LocalAPIEndpoint,
		SkipPhases:       in.SkipPhases,
		Patches:          in.Patches,
		Timeouts:         c.timeouts(field+"timeouts", in.Timeouts),
	}
	for _, t := range in.BootstrapTokens {
		b := bootstrapToken{
			Token:       t.Token.String(),
			Description: t.Description,
			TTL:         seconds(t.TTLSeconds),
			Usages:      t.Usages,
			Groups:      t.Groups,
		}
		if !t.Expires.IsZero() {
			b.Expires = &t.Expires
		}
		out.BootstrapTokens = append(out.BootstrapTokens, b)
	}
	return out
}

func (c *converter) join(in bootstrapv1.JoinConfiguration) joinConfiguration {
	const field = "joinConfiguration."
	out := joinConfiguration{
		APIVersion:       c.apiVersion(),
		Kind:             "JoinConfiguration",
		NodeRegistration: c.nodeRegistration(field+"nodeRegistration", in.NodeRegistration),
		CACertPath:       in.CACertPath,
		Discovery:        discovery{TLSBootstrapToken: in.Discovery.TLSBootstrapToken},
		SkipPhases:       in.SkipPhases,
		Patches:          in.Patches,
		Timeouts:         c.timeouts(field+"timeouts", in.Timeouts),
	}
	if in.Discovery.BootstrapToken.IsDefined() {
		out.Discovery.BootstrapToken = &in.Discovery.BootstrapToken
	}
	if in.Discovery.File.IsDefined() {
		out.Discovery.File = &fileDiscovery{KubeConfigPath: in.Discovery.File.KubeConfigPath}
	}
	if in.ControlPlane != nil {
		out.ControlPlane = &joinControlPlane{LocalAPIEndpoint: in.ControlPlane.LocalAPIEndpoint}
	}
	if !c.v1beta4 {
		out.Discovery.Timeout = seconds(in.Timeouts.TLSBootstrapSeconds)
	}
	return out
}

// timeouts returns nil for v1beta3, where two of them stand elsewhere:
// apiServer.timeoutForControlPlane, and discovery.timeout of a join.
func (c *converter) timeouts(field string, in bootstrapv1.Timeouts) *timeouts {
	c.needsV1beta4(field+".kubeletHealthCheckSeconds", in.KubeletHealthCheckSeconds != nil)
	c.needsV1beta4(field+".kubernetesAPICallSeconds", in.KubernetesAPICallSeconds != nil)
	c.needsV1beta4(field+".etcdAPICallSeconds", in.EtcdAPICallSeconds != nil)
	c.needsV1beta4(field+".discoverySeconds", in.DiscoverySeconds != nil)
	if !c.v1beta4 || in == (bootstrapv1.Timeouts{}) {
		return nil
	}
	return &timeouts{
		ControlPlaneComponentHealthCheck: seconds(in.ControlPlaneComponentHealthCheckSeconds),
		KubeletHealthCheck:               seconds(in.KubeletHealthCheckSeconds),
		KubernetesAPICall:                seconds(in.KubernetesAPICallSeconds),
		EtcdAPICall:                      seconds(in.EtcdAPICallSeconds),
		TLSBootstrap:                     seconds(in.TLSBootstrapSeconds),
		Discovery:                        seconds(in.DiscoverySeconds),
	}
}

func (c *converter) nodeRegistration(field string, in bootstrapv1.NodeRegistrationOptions) nodeRegistration {
	c.needsV1beta4(field+".imagePullSerial", in.ImagePullSerial != nil)
	return nodeRegistration{
		Name:                  in.Name,
		CRISocket:             in.CRISocket,
		Taints:                in.Taints,
		KubeletExtraArgs:      c.args(field+".kubeletExtraArgs", in.KubeletExtraArgs),
		IgnorePreflightErrors: in.IgnorePreflightErrors,
		ImagePullPolicy:       in.ImagePullPolicy,
		ImagePullSerial:       in.ImagePullSerial,
	}
}

// args returns a list for v1beta4, and a map for v1beta3, where an argument can
// be given once only.
func (c *converter) args(field string, in []bootstrapv1.Arg) any {
	if len(in) == 0 {
		return nil
	}
	list := make([]arg, 0, len(in))
	byName := make(map[string]string, len(in))
	for _, a := range in {
		_, twice := byName[a.Name]
		c.refuse(twice && !c.v1beta4, field, "argument %s twice: kubeadm has this from Kubernetes 1.31 on", a.Name)
		var value string
		if a.Value != nil {
			value = *a.Value
		}
		byName[a.Name] = value
		list = append(list, arg{Name: a.Name, Value: value})
	}
	if c.v1beta4 {
		return list
	}
	return byName
}

func (c *converter) envs(field string, in *[]bootstrapv1.EnvVar) []bootstrapv1.EnvVar {
	if in == nil {
		return nil
	}
	c.needsV1beta4(field, len(*in) > 0)
	return *in
}

// withTaints returns taints with those of add that are not in it yet, told
// apart by key and effect as Kubernetes does.
func withTaints(taints []corev1.Taint, add ...corev1.Taint) []corev1.Taint {
	out := append([]corev1.Taint{}, taints...)
	for _, t := range add {
		known := false
		for i := range out {
			known = known || out[i].MatchTaint(&t)
		}
		if !known {
			out = append(out, t)
		}
	}
	return out
}

func seconds(n *int32) *metav1.Duration {
	if n == nil {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(*n) * time.Second}
}

func days(n int32) *metav1.Duration {
	if n == 0 {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(n) * 24 * time.Hour}
}
