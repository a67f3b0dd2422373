package all_test

// configurations are bootstrap configurations whose places are changed, one by one.
func configurations() map[string]configured {
	const join = `
joinConfiguration:
  caCertPath: /etc/ca.crt
  nodeRegistration:
    name: node
    criSocket: unix:///run/c.sock
    imagePullPolicy: Always
    ignorePreflightErrors: [A, B]
    kubeletExtraArgs: [{name: v, value: "2"}, {name: a, value: x}]
    taints: [{key: k, value: v, effect: NoSchedule}, {key: a, effect: NoExecute}]
  skipPhases: [preflight, x]
  patches: {directory: /p}
  timeouts: {tlsBootstrapSeconds: 10, discoverySeconds: 12}
  discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, unsafeSkipCAVerification: true}}
`
	const machine = `
bootCommands: [a, b]
preKubeadmCommands: [a, b]
postKubeadmCommands: [a, b]
verbosity: 3
files:
- {path: /a, content: a, owner: root, permissions: "0600", append: false}
- {path: /b, contentFrom: {secret: {name: s, key: k}}, append: true}
- {path: /c, content: "{{ .controlPlane.version }}", contentFormat: Template}
- {path: /d, content: YQ==, encoding: base64}
- {path: /e, content: e, contentFormat: Template}
users:
- {name: u, gecos: g, groups: a, homeDir: /h, inactive: true, lockPassword: true, passwd: p, primaryGroup: x, shell: /s, sudo: ALL, sshAuthorizedKeys: [k, l]}
- {name: w, inactive: false, lockPassword: false}
ntp: {enabled: true, servers: [a, b]}
diskSetup:
  partitions:
  - {device: /dev/a, layout: true, overwrite: true, tableType: gpt}
  - {device: /dev/b, layout: false, overwrite: false}
  - {device: /dev/c, diskLayout: [{percentage: 30, partitionType: Linux}, {percentage: 70}]}
  filesystems:
  - {device: /dev/a1, filesystem: ext4, label: l, partition: auto, overwrite: true, replaceFS: ntfs, extraOpts: [-E, x]}
  - {device: /dev/b1, filesystem: ext4, label: m, overwrite: false}
mounts: [[l, /data, ext4, "a,b"], [m, /m]]
`
	const plane = `
clusterConfiguration:
  certificatesDir: /etc/kubernetes/certs
  imageRepository: r.example.com
  encryptionAlgorithm: ECDSA-P256
  certificateValidityPeriodDays: 100
  caCertificateValidityPeriodDays: 1000
  featureGates: {ControlPlaneKubeletLocalMode: true, NodeLocalCRISocket: false}
  apiServer:
    extraArgs: [{name: v, value: "2"}, {name: a, value: x}]
    extraVolumes: [{name: a, hostPath: /a, mountPath: /a, readOnly: false, pathType: File}, {name: b, hostPath: /b, mountPath: /b, readOnly: true}]
    extraEnvs: [{name: A, value: a}, {name: B, value: b}]
    certSANs: [a.example.com, b.example.com]
  controllerManager:
    extraArgs: [{name: v, value: "2"}, {name: a, value: x}]
    extraVolumes: [{name: a, hostPath: /a, mountPath: /a, readOnly: false, pathType: File}, {name: b, hostPath: /b, mountPath: /b, readOnly: true}]
    extraEnvs: [{name: A, value: a}, {name: B, value: b}]
  scheduler:
    extraArgs: [{name: v, value: "2"}, {name: a, value: x}]
    extraVolumes: [{name: a, hostPath: /a, mountPath: /a, readOnly: false, pathType: File}, {name: b, hostPath: /b, mountPath: /b, readOnly: true}]
    extraEnvs: [{name: A, value: a}, {name: B, value: b}]
  etcd:
    local:
      imageRepository: r.example.com
      imageTag: v3.6.0
      dataDir: /var/lib/etcd2
      extraArgs: [{name: v, value: "2"}, {name: a, value: x}]
      extraEnvs: [{name: A, value: a}, {name: B, value: b}]
      serverCertSANs: [a.example.com, b.example.com]
      peerCertSANs: [a.example.com, b.example.com]
initConfiguration:
  localAPIEndpoint: {bindPort: 6443}
  skipPhases: [addon/kube-proxy]
  nodeRegistration: {name: node, kubeletExtraArgs: [{name: v, value: "2"}], taints: []}
  patches: {directory: /p}
`
	out := map[string]configured{
		"kubeadm workers":                {distribution: "kubeadm", spec: "format: cloud-config\n" + join + machine + plane},
		"kubeadm control plane":          {distribution: "kubeadm", plane: true, version: "v1.34.1", spec: join + "  controlPlane: {localAPIEndpoint: {advertiseAddress: 10.0.0.1, bindPort: 6443}}\n" + machine + plane},
		"kubeadm control plane of v1.30": {distribution: "kubeadm", plane: true, version: "v1.30.1", spec: join30 + plane30},
		"kubeadm dns":                    {distribution: "kubeadm", plane: true, spec: "clusterConfiguration: {dns: {imageTag: v1.12.0}}"},
		"kubeadm endpoint":               {distribution: "kubeadm", plane: true, spec: "clusterConfiguration: {controlPlaneEndpoint: \"api.example.com:6443\"}"},
		"kubeadm pulls":                  {distribution: "kubeadm", spec: "joinConfiguration: {nodeRegistration: {imagePullPolicy: IfNotPresent}}"},
		"kubeadm waiting":                {distribution: "kubeadm", spec: "joinConfiguration: {timeouts: {controlPlaneComponentHealthCheckSeconds: 12}}"},
		"kubeadm without taints":         {distribution: "kubeadm", plane: true, spec: "joinConfiguration: {nodeRegistration: {taints: []}}\nclusterConfiguration: {encryptionAlgorithm: RSA-2048, featureGates: {NodeLocalCRISocket: true}}"},
		"kubeadm discovery by file":      {distribution: "kubeadm", spec: "joinConfiguration: {discovery: {tlsBootstrapToken: abcdef.0123456789abcdef, file: {kubeConfigPath: /k, kubeConfig: {user: {exec: {command: c, args: [a, b], env: [{name: A, value: b}], provideClusterInfo: false}}}}}}"},
		"kubeadm workers by Ignition":    {distribution: "kubeadm", spec: ignition},
		"kubeadm servers by Ignition":    {distribution: "kubeadm", plane: true, spec: ignition},
		"k3s servers":                    {distribution: "k3s", plane: true, spec: k3sSpec},
		"k3s agents":                     {distribution: "k3s", spec: k3sSpec},
		"rke2 servers":                   {distribution: "rke2", plane: true, spec: "registrationMethod: address\nregistrationAddress: 10.0.0.9\n" + rke2Spec + rke2Server},
		"rke2 agents":                    {distribution: "rke2", spec: rke2Spec},
	}
	return out
}

const join30 = `
joinConfiguration:
  nodeRegistration: {kubeletExtraArgs: [{name: v, value: "2"}, {name: a, value: x}]}
  timeouts: {tlsBootstrapSeconds: 10, controlPlaneComponentHealthCheckSeconds: 12}
`

const plane30 = `
clusterConfiguration:
  featureGates: {EtcdLearnerMode: true, ControlPlaneKubeletLocalMode: false}
  caCertificateValidityPeriodDays: 1000
  encryptionAlgorithm: ECDSA-P256
  apiServer: {extraArgs: [{name: v, value: "2"}, {name: a, value: x}]}
  etcd: {local: {extraArgs: [{name: v, value: "2"}, {name: a, value: x}]}}
initConfiguration: {timeouts: {controlPlaneComponentHealthCheckSeconds: 12}}
`

const ignition = `
format: ignition
ignition: {containerLinuxConfig: {strict: true, additionalConfig: "systemd: {units: [{name: a.service, enabled: true}]}"}}
preKubeadmCommands: [a, b]
postKubeadmCommands: [a, b]
files:
- {path: /a, content: a, owner: root, permissions: "0600", append: false}
- {path: /b, content: b, append: true}
users:
- {name: u, gecos: g, groups: "a, b", homeDir: /h, inactive: false, lockPassword: true, passwd: p, primaryGroup: x, shell: /s, sudo: ALL, sshAuthorizedKeys: [k, l]}
- {name: w, lockPassword: false}
ntp: {enabled: true, servers: [a, b]}
diskSetup:
  partitions: [{device: /dev/a, layout: true, overwrite: true, tableType: gpt}, {device: /dev/b, layout: false, overwrite: false}]
  filesystems: [{device: /dev/a1, filesystem: ext4, label: l, overwrite: true, extraOpts: [-E, x]}, {device: /dev/b1, filesystem: ext4, label: m, overwrite: false}]
mounts: [[l, /data, ext4, "a,b", "0", "0"], [m, /m]]
`

const k3sSpec = `
files: [{path: /a, content: a, owner: root, permissions: "0600"}, {path: /b, contentFrom: {secret: {name: s, key: k}}}]
preK3sCommands: [a, b]
postK3sCommands: [a, b]
agentConfig:
  nodeLabels: [a=b, c=d]
  nodeTaints: ["a=b:NoSchedule", "c=d:NoSchedule"]
  privateRegistry: /etc/r.yaml
  kubeletArgs: [a=b, c=d]
  kubeProxyArgs: [a=b, c=d]
  airGapped: true
  airGappedInstallScriptPath: /opt/i.sh
serverConfig:
  kubeAPIServerArg: [a=b, c=d]
  kubeControllerManagerArgs: [a=b, c=d]
  kubeSchedulerArgs: [a=b, c=d]
  tlsSan: [a, b]
  bindAddress: 0.0.0.0
  httpsListenPort: "6443"
  advertiseAddress: 10.0.0.1
  advertisePort: "6443"
  clusterCidr: 10.1.0.0/16
  serviceCidr: 10.2.0.0/16
  clusterDNS: 10.2.0.10
  clusterDomain: c.local
  disableComponents: [servicelb, traefik]
  disableExternalCloudProvider: false
  disableCloudController: true
  cloudProviderName: external
  systemDefaultRegistry: r.example.com
  etcdProxyImage: i
`

const rke2Spec = `
files: [{path: /a, content: a, owner: root, permissions: "0600"}, {path: /b, contentFrom: {secret: {name: s, key: k}}}]
preRKE2Commands: [a, b]
postRKE2Commands: [a, b]
gzipUserData: false
agentConfig:
  nodeLabels: [a=b, c=d]
  nodeTaints: ["a=b:NoSchedule", "c=d:NoSchedule"]
  ntp: {enabled: true, servers: [a, b]}
  containerRuntimeEndpoint: /run/c.sock
  snapshotter: native
  podSecurityAdmissionConfigFile: /etc/p.yaml
  protectKernelDefaults: true
  systemDefaultRegistry: r.example.com
  enableContainerdSElinux: true
  kubeletPath: /opt/kubelet
  kubelet: {extraArgs: [a=b, c=d]}
  kubeProxy: {extraArgs: [a=b, c=d], overrideImage: i, extraEnv: {A: b, C: d}, extraMounts: {/a: /b, /c: /d}}
  runtimeImage: i
  loadBalancerPort: 6444
  airGapped: true
  airGappedChecksum: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
`

const rke2Server = `
serverConfig:
  advertiseAddress: 10.0.0.1
  bindAddress: 0.0.0.0
  clusterDNS: 10.2.0.10
  clusterDomain: c.local
  cni: cilium
  cniMultusEnable: true
  ingressController: [traefik]
  pauseImage: p
  serviceNodePortRange: 30000-32000
  supervisorMetrics: true
  embeddedRegistry: true
  tlsSan: [a, b]
  cloudProviderName: external
  disableComponents: {kubernetesComponents: [cloudController, kubeProxy], pluginComponents: [rke2-coredns]}
  etcd: {exposeMetrics: true, backupConfig: {disableAutomaticSnapshots: false, snapshotName: s, scheduleCron: "0 0 * * *", retention: "5", directory: /b}, customConfig: {extraArgs: [a=b]}}
  kubeAPIServer: {extraArgs: [a=b, c=d]}
  kubeControllerManager: {extraArgs: [a=b, c=d]}
  kubeScheduler: {extraArgs: [a=b, c=d]}
`

// spellings are changes that say the same in another way. The short form tries them all.
func spellings() []string {
	return []string{
		".agentConfig.kubelet empty", ".agentConfig.kubelet taken out",
		".clusterConfiguration.caCertificateValidityPeriodDays taken out", ".clusterConfiguration.encryptionAlgorithm taken out",
		".clusterConfiguration.featureGates.ControlPlaneKubeletLocalMode taken out",
		".diskSetup.partitions reversed", ".diskSetup.partitions[0].tableType taken out",
		".files[0].append taken out", ".files[1].contentFrom empty", ".files[1].contentFrom taken out", ".files[4].contentFormat taken out",
		".ignition.containerLinuxConfig.strict taken out", ".initConfiguration taken out",
		".joinConfiguration.nodeRegistration.taints empty", ".joinConfiguration.nodeRegistration.taints taken out",
		".ntp.enabled taken out", ".ntp empty", ".ntp.enabled turned", ".users[1].lockPassword taken out", ".users[1].lockPassword turned",
		".serverConfig taken out", ".serverConfig.cloudProviderName taken out", ".serverConfig.disableCloudController taken out",
		".serverConfig.disableComponents.kubernetesComponents reversed", ".serverConfig.disableComponents.kubernetesComponents with an item twice",
		".serverConfig.etcd.backupConfig.disableAutomaticSnapshots taken out", ".serverConfig.kubeAPIServer empty", ".serverConfig.kubeAPIServer taken out",
	}
}

// exceptions are places whose change changes user data and not the template hash, with the reason:
// "CONFIGURATION: PLACE", where * stands for the beginning of places.
func exceptions() map[string]string {
	const (
		joining = "it is for the way into the cluster, which machines that are there have behind them"
		order   = "kubeadm and cloud-init read it in any order"
		plain   = "the default is written out"
	)
	return map[string]string{
		"kubeadm: .joinConfiguration.discovery": joining,
		"kubeadm discovery by file: ":           joining,
		"kubeadm waiting: ":                     joining,
		"kubeadm: *.files reversed":             order,
		"kubeadm: *xtraArgs reversed":           order,
		"kubeadm: *.extraVolumes reversed":      order,
		"kubeadm: *.taints reversed":            order,
		"kubeadm: *.readOnly taken out":         plain,
		"kubeadm: *.readOnly turned":            plain, // against "taken out"
		"kubeadm pulls: ":                       plain,
		"kubeadm endpoint: ":                    "it never changes in the life of a cluster",
		"kubeadm dns: ":                         "CoreDNS is changed in the running cluster",
	}
}
