package kubeadm_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/pki/pkitest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var issued = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func authorities(t testing.TB) map[fleet.SecretName]fleet.SecretData {
	return map[fleet.SecretName]fleet.SecretData{
		fleet.ClusterCA:    pkitest.Authority(t, "kubernetes", 1),
		fleet.EtcdCA:       pkitest.Authority(t, "etcd-ca", 2),
		fleet.FrontProxyCA: pkitest.Authority(t, "front-proxy-ca", 3),
		fleet.ServiceAccount: {
			fleet.TLSCertKey: fleet.NewSecret([]byte("-----BEGIN PUBLIC KEY-----\nc2E=\n-----END PUBLIC KEY-----\n")),
			fleet.TLSKeyKey:  fleet.NewSecret([]byte("-----BEGIN EC PRIVATE KEY-----\nc2E=\n-----END EC PRIVATE KEY-----\n")),
		},
	}
}

// input returns a plain request; tests change what they are about.
func input(t testing.TB, join fleet.Join, version string, spec bootstrapv1.KubeadmConfigSpec) providers.BootstrapInput {
	pool := fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Version: version, Bootstrap: configured(spec)}
	if join == fleet.JoinWorker {
		pool.Name, pool.Role = "eu-1-md-0", fleet.RoleWorker
	}
	return providers.BootstrapInput{
		Cluster: &fleet.Cluster{
			Key: fleet.Key{Namespace: "prod", Name: "eu-1"},
			Network: clusterv1.ClusterNetwork{
				ServiceDomain: "cluster.local",
				Services:      clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12", "fd00:96::/112"}},
				Pods:          clusterv1.NetworkRanges{CIDRBlocks: []string{"192.168.0.0/16", "fd00:10::/48"}},
			},
			ControlPlane: fleet.Pool{Name: "eu-1-cp", Version: version},
			Secrets: map[string]fleet.SecretData{
				"files": {"token": fleet.NewSecret([]byte("top secret\n")), "binary": fleet.NewSecret([]byte{0xff, 0x00, 0x1f})},
				"users": {"hash": fleet.NewSecret([]byte("$6$rounds=4096$salt$hash"))},
			},
		},
		Pool:     pool,
		Machine:  "eu-1-x7k",
		Join:     join,
		Endpoint: fleet.Endpoint{Host: "192.0.2.10", Port: 6443},
		Secrets:  authorities(t),
	}
}

func ptr[T any](v T) *T { return &v }

// everything returns a spec that sets every field that the version can express.
func everything(v1beta4 bool) bootstrapv1.KubeadmConfigSpec {
	registration := bootstrapv1.NodeRegistrationOptions{
		Name:      "{{ ds.meta_data['local-hostname'] }}",
		CRISocket: "unix:///run/containerd/containerd.sock",
		KubeletExtraArgs: []bootstrapv1.Arg{
			{Name: "cloud-provider", Value: ptr("external")},
			{Name: "node-labels", Value: ptr("tier=on,zone={{ ds.meta_data.zone }}")},
			{Name: "empty", Value: ptr("")},
		},
		IgnorePreflightErrors: []string{"NumCPU", "Mem"},
		ImagePullPolicy:       corev1.PullIfNotPresent,
	}
	spec := bootstrapv1.KubeadmConfigSpec{
		ClusterConfiguration: bootstrapv1.ClusterConfiguration{
			APIServer: bootstrapv1.APIServer{
				ExtraArgs: []bootstrapv1.Arg{{Name: "audit-log-path", Value: ptr("/var/log/audit.log")}, {Name: "anonymous-auth", Value: ptr("false")}},
				ExtraVolumes: []bootstrapv1.HostPathMount{{
					Name: "audit", HostPath: "/var/log", MountPath: "/var/log", ReadOnly: ptr(false), PathType: corev1.HostPathDirectory,
				}},
				CertSANs: []string{"api.example.com", "10.0.0.1"},
			},
			ControllerManager:   bootstrapv1.ControllerManager{ExtraArgs: []bootstrapv1.Arg{{Name: "cloud-provider", Value: ptr("external")}}},
			Scheduler:           bootstrapv1.Scheduler{ExtraArgs: []bootstrapv1.Arg{{Name: "v", Value: ptr("2")}}},
			DNS:                 bootstrapv1.DNS{ImageRepository: "registry.example.com/coredns", ImageTag: "v1.12.0"},
			ImageRepository:     "registry.example.com",
			FeatureGates:        map[string]bool{"NodeLocalCRISocket": true},
			EncryptionAlgorithm: bootstrapv1.EncryptionAlgorithmECDSAP256,
			Etcd: bootstrapv1.Etcd{Local: bootstrapv1.LocalEtcd{
				ImageRepository: "registry.example.com/etcd", ImageTag: "3.6.0", DataDir: "/var/lib/etcddisk/etcd",
				ExtraArgs:      []bootstrapv1.Arg{{Name: "quota-backend-bytes", Value: ptr("8589934592")}},
				ServerCertSANs: []string{"etcd.example.com"}, PeerCertSANs: []string{"peer.example.com"},
			}},
			CACertificateValidityPeriodDays: 730,
		},
		InitConfiguration: bootstrapv1.InitConfiguration{
			BootstrapTokens: []bootstrapv1.BootstrapToken{{
				Token:      bootstrapv1.BootstrapTokenString{ID: "zzzzzz", Secret: "zzzzzzzzzzzzzzzz"},
				TTLSeconds: ptr[int32](900), Usages: []string{"signing", "authentication"}, Groups: []string{"system:bootstrappers:x"},
			}},
			NodeRegistration: registration,
			LocalAPIEndpoint: bootstrapv1.APIEndpoint{AdvertiseAddress: "10.0.0.5", BindPort: 6443},
			SkipPhases:       []string{"addon/kube-proxy"},
			Patches:          bootstrapv1.Patches{Directory: "/etc/kubernetes/patches"},
			Timeouts:         bootstrapv1.Timeouts{ControlPlaneComponentHealthCheckSeconds: ptr[int32](300)},
		},
		JoinConfiguration: bootstrapv1.JoinConfiguration{
			NodeRegistration: registration,
			CACertPath:       "/etc/kubernetes/pki/ca.crt",
			SkipPhases:       []string{"preflight"},
			Patches:          bootstrapv1.Patches{Directory: "/etc/kubernetes/patches"},
			Timeouts: bootstrapv1.Timeouts{
				ControlPlaneComponentHealthCheckSeconds: ptr[int32](300), TLSBootstrapSeconds: ptr[int32](420),
			},
		},
		Files: []bootstrapv1.File{
			{Path: "/etc/plain", Owner: "root:root", Permissions: "0644", Content: "one line"},
			{Path: "/etc/script.sh", Permissions: "0755", Content: "#!/bin/bash\nhost=\"{{ ds.meta_data[\"local-hostname\"] }}\"\n\techo 'it: is' # here\n"},
			{Path: "/etc/append", Append: ptr(true), Content: "more\n"},
			{Path: "/etc/encoded", Encoding: bootstrapv1.Base64, Content: "aGVsbG8="},
			{Path: "/etc/zipped", Encoding: bootstrapv1.GzipBase64, Content: "H4sIAAAAAAAA/8tIzcnJBwCGphA2BQAAAA=="},
			{Path: "/etc/token", Permissions: "0600", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "files", Key: "token"}}},
			{Path: "/etc/binary", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "files", Key: "binary"}}},
			{Path: "/etc/version", ContentFormat: bootstrapv1.FileContentFormatTemplate, Content: "{{ .controlPlane.version }}"},
		},
		DiskSetup: bootstrapv1.DiskSetup{
			Partitions: []bootstrapv1.Partition{
				{Device: "/dev/vdc", TableType: "gpt", Layout: ptr(true), Overwrite: ptr(false)},
				{Device: "/dev/vdb", TableType: "mbr", DiskLayout: []bootstrapv1.PartitionSpec{
					{Percentage: 33, PartitionType: bootstrapv1.PartitionTypeLinuxSwap}, {Percentage: 67},
				}},
			},
			Filesystems: []bootstrapv1.Filesystem{{
				Device: "/dev/vdc", Filesystem: "ext4", Label: "etcd_disk", Partition: "auto", Overwrite: ptr(true),
				ReplaceFS: "ntfs", ExtraOpts: []string{"-F", "-E", "lazy_itable_init=1"},
			}},
		},
		Mounts:              []bootstrapv1.MountPoints{{"LABEL=etcd_disk", "/var/lib/etcddisk", "ext4", "defaults,nofail"}},
		BootCommands:        []string{"echo boot"},
		PreKubeadmCommands:  []string{"hostnamectl set-hostname \"{{ ds.meta_data.hostname }}\"", "echo 'a: \"b\"' > /etc/x"},
		PostKubeadmCommands: []string{"echo done"},
		Users: []bootstrapv1.User{
			{
				Name: "admin", Gecos: "Admin, of all", Groups: "users, sudo", HomeDir: "/home/admin", Shell: "/bin/bash",
				Passwd: "$6$x$y", PrimaryGroup: "admin", LockPassword: ptr(false), Inactive: ptr(true), Sudo: "ALL=(ALL) NOPASSWD:ALL",
				SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA admin@example.com"},
			},
			{Name: "backup", PasswdFrom: bootstrapv1.PasswdSource{Secret: bootstrapv1.SecretPasswdSource{Name: "users", Key: "hash"}}},
		},
		NTP:       bootstrapv1.NTP{Enabled: ptr(true), Servers: []string{"ntp.example.com"}},
		Verbosity: ptr[int32](5),
	}
	if v1beta4 {
		envs := &[]bootstrapv1.EnvVar{{EnvVar: corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}}}
		cluster := &spec.ClusterConfiguration
		cluster.CertificateValidityPeriodDays = 90
		cluster.APIServer.ExtraEnvs, cluster.Etcd.Local.ExtraEnvs = envs, envs
		cluster.ControllerManager.ExtraEnvs, cluster.Scheduler.ExtraEnvs = envs, envs
		cluster.APIServer.ExtraArgs = append(cluster.APIServer.ExtraArgs,
			bootstrapv1.Arg{Name: "service-account-issuer", Value: ptr("https://a")},
			bootstrapv1.Arg{Name: "service-account-issuer", Value: ptr("https://b")})
		spec.InitConfiguration.NodeRegistration.ImagePullSerial = ptr(false)
		spec.JoinConfiguration.NodeRegistration.ImagePullSerial = ptr(false)
		spec.JoinConfiguration.Timeouts.KubeletHealthCheckSeconds = ptr[int32](240)
		spec.JoinConfiguration.Timeouts.KubernetesAPICallSeconds = ptr[int32](60)
		spec.JoinConfiguration.Timeouts.EtcdAPICallSeconds = ptr[int32](120)
		spec.JoinConfiguration.Timeouts.DiscoverySeconds = ptr[int32](300)
	}
	return spec
}

func TestUserDataGolden(t *testing.T) {
	for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker} {
		for _, version := range []string{"v1.30.4", "v1.35.0"} {
			for name, spec := range map[string]bootstrapv1.KubeadmConfigSpec{
				"minimal":    {},
				"everything": everything(version == "v1.35.0"),
			} {
				file := filepath.Join("testdata", string(join)+"-"+version+"-"+name+".yaml")
				t.Run(filepath.Base(file), func(t *testing.T) {
					in := input(t, join, version, spec)
					if name == "everything" {
						in.Pool.Taints = []clusterv1.MachineTaint{{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}}
					}
					u, err := userData(in)
					if err != nil {
						t.Fatal(err)
					}
					if u.Format != "cloud-config" {
						t.Errorf("format is %q", u.Format)
					}
					if *update {
						if err := os.WriteFile(file, u.Content.Reveal(), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					want, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(string(want), string(u.Content.Reveal())); d != "" {
						t.Errorf("user data differs from %s (-want +got):\n%s", file, d)
					}
				})
			}
		}
	}
}
