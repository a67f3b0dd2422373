package rke2

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/cloudinit"
	"fairlead.dev/providers/distribution/rancher"
	"fairlead.dev/providers/workload"
)

// ControlPlane is the kind of the control planes that are RKE2.
const ControlPlane = controlPlaneKind

// New returns the distribution of clusters with an RKE2ControlPlane, which reaches them
// through c; nil is good for what is pure.
func New(c *workload.Client) providers.Distribution {
	return rancher.New(rancher.Program{
		Name: name, JoinPort: joinPort,
		Authorities: []rancher.Authority{
			{Name: fleet.ClusterCA, CommonName: "rke2-server-ca", File: "server-ca"},
			{Name: fleet.ClientCA, CommonName: "rke2-client-ca", File: "client-ca"},
			{Name: fleet.EtcdCA, CommonName: "rke2-etcd-ca", File: "etcd/server-ca"},
			{Name: fleet.EtcdPeerCA, CommonName: "rke2-etcd-peer-ca", File: "etcd/peer-ca"},
		},
		Agreed:  []string{"cluster-cidr", "service-cidr", "cluster-dns", "cluster-domain", "disable-cloud-controller", "embedded-registry", "supervisor-metrics"},
		Machine: machine,
	}, c)
}

// specOf returns the configuration of p: of workers, that of agents alone.
func specOf(p fleet.Pool) (serverSpec, error) {
	var s serverSpec
	if p.Bootstrap.Spec != nil {
		if err := json.Unmarshal(p.Bootstrap.Spec, &s); err != nil {
			return serverSpec{}, fmt.Errorf("read the configuration of RKE2: %w", err)
		}
	}
	return s, nil
}

func machine(in providers.BootstrapInput) (rancher.Machine, error) {
	s, err := specOf(in.Pool)
	if err != nil {
		return rancher.Machine{}, err
	}
	a := s.AgentConfig
	role := "agent"
	config := agentFlags(a)
	plane, err := specOf(in.Cluster.ControlPlane) // where workers join, and what cloud they are on, it says
	if err != nil {
		return rancher.Machine{}, err
	}
	config["cloud-provider-name"] = plane.ServerConfig.CloudProviderName
	if in.Join != fleet.JoinWorker {
		role = "server"
		maps.Copy(config, serverFlags(in, s))
	}
	m := rancher.Machine{
		Config: config, Labels: a.NodeLabels, Taints: a.NodeTaints, KubeletArgs: of(a.Kubelet).ExtraArgs, Address: plane.RegistrationAddress,
		CloudProvider: plane.ServerConfig.CloudProviderName != "",
		Files:         rancher.Files(s.Files), Before: s.PreRKE2Commands, Afterward: s.PostRKE2Commands,
		Commands: rancher.Installed("https://get.rke2.io", fmt.Sprintf("INSTALL_RKE2_VERSION='%s' INSTALL_RKE2_TYPE='%s'", in.Pool.Version, role)),
	}
	if a.AirGapped {
		m.Commands = nil
		if a.AirGappedChecksum != "" {
			m.Commands = []string{"cat /opt/rke2-artifacts/sha256sum*.txt | sha256sum | grep -q " + a.AirGappedChecksum}
		}
		m.Commands = append(m.Commands, fmt.Sprintf("INSTALL_RKE2_ARTIFACT_PATH=/opt/rke2-artifacts INSTALL_RKE2_TYPE='%s' sh /opt/install.sh", role))
	}
	m.Commands = append(m.Commands, "systemctl enable --now rke2-"+role+".service")
	if a.NTP != nil {
		m.NTP = &cloudinit.NTP{Enabled: a.NTP.Enabled, Servers: cloudinit.Texts(a.NTP.Servers)}
	}
	return m, nil
}

// of returns c, or one that says nothing.
func of(c *component) component {
	if c == nil {
		return component{}
	}
	return *c
}

// add puts what c says of the program that flags call prefix into flags.
func add(flags map[string]any, prefix string, c *component) {
	v := of(c)
	flags[prefix+"-arg"], flags[prefix+"-image"] = v.ExtraArgs, v.OverrideImage
	flags[prefix+"-extra-env"], flags[prefix+"-extra-mount"] = joined(v.ExtraEnv, "="), joined(v.ExtraMounts, ":")
}

func joined(m map[string]string, with string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+with+m[key])
	}
	return out
}

func agentFlags(a agentConfig) map[string]any {
	out := map[string]any{
		"container-runtime-endpoint":         a.ContainerRuntimeEndpoint,
		"snapshotter":                        a.Snapshotter,
		"pod-security-admission-config-file": a.PodSecurityAdmissionConfigFile,
		"protect-kernel-defaults":            a.ProtectKernelDefaults,
		"system-default-registry":            a.SystemDefaultRegistry,
		"selinux":                            a.EnableContainerdSElinux,
		"kubelet-path":                       a.KubeletPath,
		"runtime-image":                      a.RuntimeImage,
		"lb-server-port":                     a.LoadBalancerPort,
	}
	add(out, "kube-proxy", a.KubeProxy)
	return out
}

func serverFlags(in providers.BootstrapInput, s serverSpec) map[string]any {
	c, network := s.ServerConfig, in.Cluster.Network
	domain := c.ClusterDomain
	if domain == "" {
		domain = network.ServiceDomain
	}
	sans := slices.Clone(c.TLSSan)
	for _, name := range []string{in.Endpoint.Host, s.RegistrationAddress} {
		if name != "" && !slices.Contains(sans, name) {
			sans = append(sans, name)
		}
	}
	var cni []string
	if c.CNIMultusEnable {
		cni = append(cni, "multus")
	}
	if c.CNI != "" {
		cni = append(cni, c.CNI)
	}
	disabled := func(name string) bool { return slices.Contains(c.DisableComponents.KubernetesComponents, name) }
	backup := c.Etcd.BackupConfig
	out := map[string]any{
		"advertise-address":           c.AdvertiseAddress,
		"bind-address":                c.BindAddress,
		"cluster-cidr":                strings.Join(network.Pods.CIDRBlocks, ","),
		"service-cidr":                strings.Join(network.Services.CIDRBlocks, ","),
		"cluster-dns":                 c.ClusterDNS,
		"cluster-domain":              domain,
		"cni":                         cni,
		"disable":                     c.DisableComponents.PluginComponents,
		"disable-cloud-controller":    disabled("cloudController"),
		"disable-kube-proxy":          disabled("kubeProxy"),
		"disable-scheduler":           disabled("scheduler"),
		"embedded-registry":           c.EmbeddedRegistry,
		"etcd-disable-snapshots":      backup.DisableAutomaticSnapshots != nil && *backup.DisableAutomaticSnapshots,
		"etcd-expose-metrics":         c.Etcd.ExposeMetrics,
		"etcd-snapshot-dir":           backup.Directory,
		"etcd-snapshot-name":          backup.SnapshotName,
		"etcd-snapshot-retention":     backup.Retention,
		"etcd-snapshot-schedule-cron": backup.ScheduleCron,
		"ingress-controller":          c.IngressController,
		"pause-image":                 c.PauseImage,
		"service-node-port-range":     c.ServiceNodePortRange,
		"supervisor-metrics":          c.SupervisorMetrics,
		"tls-san":                     sans,
	}
	add(out, "kube-apiserver", c.KubeAPIServer)
	add(out, "kube-controller-manager", c.KubeControllerManager)
	add(out, "kube-scheduler", c.KubeScheduler)
	add(out, "etcd", c.Etcd.CustomConfig)
	return out
}
