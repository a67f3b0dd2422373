package k3s

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/rancher"
	"fairlead.dev/providers/workload"
)

// ControlPlane is the kind of the control planes that are K3s.
const ControlPlane = controlPlaneKind

// New returns the distribution of clusters with a KThreesControlPlane, which reaches them
// through c; nil is good for what is pure.
func New(c *workload.Client) providers.Distribution {
	return rancher.New(rancher.Program{
		Name: name,
		Authorities: []rancher.Authority{
			{Name: fleet.ClusterCA, CommonName: "k3s-server-ca", File: "server-ca"},
			{Name: fleet.ClientCA, CommonName: "k3s-client-ca", File: "client-ca"},
			{Name: fleet.EtcdCA, CommonName: "k3s-etcd-ca", File: "etcd/server-ca"},
		},
		Agreed:  []string{"cluster-cidr", "service-cidr", "cluster-dns", "cluster-domain", "disable-cloud-controller", "disable=servicelb"},
		Machine: machine,
	}, c)
}

// specOf returns the configuration of p.
func specOf(p fleet.Pool) (configSpec, error) {
	var plane controlPlaneConfig
	var into any = &plane
	if p.Bootstrap.Kind != controlPlaneKind {
		into = &plane.KThreesConfigSpec
	}
	if p.Bootstrap.Spec != nil {
		if err := json.Unmarshal(p.Bootstrap.Spec, into); err != nil {
			return configSpec{}, fmt.Errorf("read the configuration of K3s: %w", err)
		}
	}
	return plane.KThreesConfigSpec, nil
}

// install is the script that K3s's documents install it by, defaultScript where an
// image has it.
const (
	install       = "https://get.k3s.io"
	defaultScript = "/opt/install.sh"
)

func machine(in providers.BootstrapInput) (rancher.Machine, error) {
	s, err := specOf(in.Pool)
	if err != nil {
		return rancher.Machine{}, err
	}
	a, c := s.AgentConfig, s.ServerConfig
	role := "agent"
	config := map[string]any{"private-registry": a.PrivateRegistry, "kube-proxy-arg": a.KubeProxyArgs}
	if in.Join != fleet.JoinWorker {
		role = "server"
		servers(in, c, config)
	}
	m := rancher.Machine{
		Config: config, Labels: a.NodeLabels, Taints: a.NodeTaints, KubeletArgs: slices.Clone(a.KubeletArgs),
		Files: rancher.Files(s.Files), Before: s.PreK3sCommands, Afterward: s.PostK3sCommands,
	}
	if provider := cloudProvider(c); provider != "" {
		m.KubeletArgs = append(m.KubeletArgs, "cloud-provider="+provider)
		m.CloudProvider = true
	}
	m.Commands = rancher.Installed(install, fmt.Sprintf("INSTALL_K3S_VERSION='%s' INSTALL_K3S_EXEC='%s'", in.Pool.Version, role))
	if a.AirGapped {
		script := defaultScript
		if a.AirGappedInstallScriptPath != "" {
			script = a.AirGappedInstallScriptPath
		}
		m.Commands = []string{fmt.Sprintf("INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_EXEC='%s' sh %s", role, script)}
	}
	return m, nil
}

// cloudProvider returns the cloud provider for the kubelets.
// Source: cluster-api-k3s, webhook of KThreesConfig.
func cloudProvider(c serverConfig) string {
	if c.CloudProviderName == nil {
		return "external"
	}
	return *c.CloudProviderName
}

// servers adds to config the settings of servers. Ranges and domain are those of the Cluster
// where the control plane says nothing of them.
func servers(in providers.BootstrapInput, c serverConfig, config map[string]any) {
	args := slices.Clone(c.KubeControllerManagerArgs)
	if provider := cloudProvider(c); provider != "" {
		args = append(args, "cloud-provider="+provider)
	}
	or := func(value, other string) string {
		if value == "" {
			return other
		}
		return value
	}
	network := in.Cluster.Network
	for key, value := range map[string]any{
		"cluster-init":                in.Join == fleet.JoinInit,
		"disable-cloud-controller":    c.DisableCloudController == nil || *c.DisableCloudController,
		"kube-apiserver-arg":          c.KubeAPIServerArgs,
		"kube-controller-manager-arg": args,
		"kube-scheduler-arg":          c.KubeSchedulerArgs,
		"tls-san":                     sans(c.TLSSan, in.Endpoint.Host),
		"bind-address":                c.BindAddress,
		"https-listen-port":           c.HTTPSListenPort,
		"advertise-address":           c.AdvertiseAddress,
		"advertise-port":              c.AdvertisePort,
		"cluster-cidr":                or(c.ClusterCidr, strings.Join(network.Pods.CIDRBlocks, ",")),
		"service-cidr":                or(c.ServiceCidr, strings.Join(network.Services.CIDRBlocks, ",")),
		"cluster-dns":                 c.ClusterDNS,
		"cluster-domain":              or(c.ClusterDomain, network.ServiceDomain),
		"disable":                     c.DisableComponents,
		"system-default-registry":     c.SystemDefaultRegistry,
	} {
		config[key] = value
	}
}

// sans returns the names of servers that people say, and the endpoint's.
func sans(names []string, endpoint string) []string {
	if slices.Contains(names, endpoint) {
		return names
	}
	return append(slices.Clone(names), endpoint)
}
