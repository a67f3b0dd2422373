package kubeadm_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// What one version of kubeadm's API cannot express is refused, not dropped.
func TestOlderKubeadmRefuses(t *testing.T) {
	envs := &[]bootstrapv1.EnvVar{{EnvVar: corev1.EnvVar{Name: "A"}}}
	cluster := func(c bootstrapv1.ClusterConfiguration) bootstrapv1.KubeadmConfigSpec {
		return bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: c}
	}
	timeouts := func(t bootstrapv1.Timeouts) bootstrapv1.KubeadmConfigSpec {
		return bootstrapv1.KubeadmConfigSpec{InitConfiguration: bootstrapv1.InitConfiguration{Timeouts: t}}
	}
	for field, spec := range map[string]bootstrapv1.KubeadmConfigSpec{
		"clusterConfiguration.apiServer.extraEnvs":           cluster(bootstrapv1.ClusterConfiguration{APIServer: bootstrapv1.APIServer{ExtraEnvs: envs}}),
		"clusterConfiguration.controllerManager.extraEnvs":   cluster(bootstrapv1.ClusterConfiguration{ControllerManager: bootstrapv1.ControllerManager{ExtraEnvs: envs}}),
		"clusterConfiguration.scheduler.extraEnvs":           cluster(bootstrapv1.ClusterConfiguration{Scheduler: bootstrapv1.Scheduler{ExtraEnvs: envs}}),
		"clusterConfiguration.etcd.local.extraEnvs":          cluster(bootstrapv1.ClusterConfiguration{Etcd: bootstrapv1.Etcd{Local: bootstrapv1.LocalEtcd{ExtraEnvs: envs}}}),
		"clusterConfiguration.certificateValidityPeriodDays": cluster(bootstrapv1.ClusterConfiguration{CertificateValidityPeriodDays: 1}),
		"clusterConfiguration.apiServer.extraArgs: argument a twice": cluster(bootstrapv1.ClusterConfiguration{APIServer: bootstrapv1.APIServer{
			ExtraArgs: []bootstrapv1.Arg{{Name: "a", Value: ptr("1")}, {Name: "a", Value: ptr("2")}},
		}}),
		"initConfiguration.nodeRegistration.imagePullSerial": {InitConfiguration: bootstrapv1.InitConfiguration{
			NodeRegistration: bootstrapv1.NodeRegistrationOptions{ImagePullSerial: ptr(true)},
		}},
		"initConfiguration.timeouts.kubeletHealthCheckSeconds": timeouts(bootstrapv1.Timeouts{KubeletHealthCheckSeconds: ptr[int32](1)}),
		"initConfiguration.timeouts.kubernetesAPICallSeconds":  timeouts(bootstrapv1.Timeouts{KubernetesAPICallSeconds: ptr[int32](1)}),
		"initConfiguration.timeouts.etcdAPICallSeconds":        timeouts(bootstrapv1.Timeouts{EtcdAPICallSeconds: ptr[int32](1)}),
		"initConfiguration.timeouts.discoverySeconds":          timeouts(bootstrapv1.Timeouts{DiscoverySeconds: ptr[int32](1)}),
		"initConfiguration.timeouts.tlsBootstrapSeconds":       timeouts(bootstrapv1.Timeouts{TLSBootstrapSeconds: ptr[int32](1)}),
	} {
		_, err := userData(input(t, fleet.JoinInit, "v1.30.9", spec))
		if fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "eu-1-cp") {
			t.Errorf("%s with 1.30: %v", field, err)
		}
		if _, err := userData(input(t, fleet.JoinInit, "v1.31.0-rc.1", spec)); err != nil {
			t.Errorf("%s with 1.31: %v", field, err)
		}
	}
}

func TestRefused(t *testing.T) {
	from := func(name, key string) bootstrapv1.FileSource {
		return bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: name, Key: key}}
	}
	files := func(f ...bootstrapv1.File) func(*providers.BootstrapInput) {
		return func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) { s.Files = f })
		}
	}
	for reason, c := range map[string]struct {
		change func(*providers.BootstrapInput)
		kind   fleet.ErrorKind
		want   string
	}{
		"no Secret":         {files(bootstrapv1.File{Path: "/a"}, bootstrapv1.File{Path: "/b", ContentFrom: from("nope", "x")}), "Invalid", "files[1] (/b): contentFrom.secret: there is no Secret nope"},
		"no key":            {files(bootstrapv1.File{Path: "/b", ContentFrom: from("files", "x")}), "Invalid", "there is no key x in Secret files"},
		"unknown encoding":  {files(bootstrapv1.File{Path: "/b", Encoding: "rot13"}), "Invalid", `encoding: there is no encoding "rot13"`},
		"bytes as base64":   {files(bootstrapv1.File{Path: "/b", Encoding: "base64", ContentFrom: from("files", "binary")}), "Invalid", "files[0] (/b): encoding"},
		"broken template":   {files(bootstrapv1.File{Path: "/b", ContentFormat: "Template", Content: "{{ .controlPlane.version"}), "Invalid", "files[0] (/b): content: template"},
		"endless template":  {files(bootstrapv1.File{Path: "/b", ContentFormat: "Template", Content: `{{ printf "%2000000d" 1 }}`}), "Invalid", "more than 1048576 bytes"},
		"secret template":   {files(bootstrapv1.File{Path: "/b", ContentFormat: "Template", ContentFrom: from("files", "template")}), "Invalid", "contentFrom.secret: the content is not a template"},
		"Jinja in bad text": {files(bootstrapv1.File{Path: "/b", Content: "a \n{{ x[\"y\"] }}"}), "Invalid", "files[0] (/b): a Jinja expression"},
		"Jinja in a command": {func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) { s.PostKubeadmCommands = []string{"a", "b \r\n{{ x[\"y\"] }}"} })
		}, "Invalid", "postKubeadmCommands[1]: a Jinja expression"},
		"comment in a command": {func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) {
				s.PreKubeadmCommands = []string{"a {# b #}", "echo {% raw %}${#b[@]}{% endraw %}", "echo ${#c[@]}"}
			})
		}, "Invalid", "preKubeadmCommands[2]: {# begins a Jinja comment that nothing ends"},
		"comment in a file": {files(bootstrapv1.File{Path: "/b", Content: "a\n${#c[@]}\n"}), "Invalid", "files[0] (/b): {# begins"},
		"comment in an argument": {func(in *providers.BootstrapInput) {
			v := "{#"
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) {
				s.JoinConfiguration.NodeRegistration.KubeletExtraArgs = []bootstrapv1.Arg{{Name: "a", Value: &v}}
			})
		}, "Invalid", "{# begins"},
		"no password": {func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) {
				s.Users = []bootstrapv1.User{{Name: "u", PasswdFrom: bootstrapv1.PasswdSource{Secret: bootstrapv1.SecretPasswdSource{Name: "nope", Key: "x"}}}}
			})
		}, "Invalid", "users[0] (u): passwdFrom.secret: there is no Secret nope"},
		"bytes as password": {func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) {
				s.Users = []bootstrapv1.User{{Name: "u", PasswdFrom: bootstrapv1.PasswdSource{Secret: bootstrapv1.SecretPasswdSource{Name: "files", Key: "binary"}}}}
			})
		}, "Invalid", "users[0] (u): passwdFrom.secret: the password is not UTF-8"},
		"one disk twice": {func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) {
				s.DiskSetup.Partitions = []bootstrapv1.Partition{{Device: "/dev/b"}, {Device: "/dev/b"}}
			})
		}, "Invalid", "diskSetup.partitions[1].device"},
		"other format": {func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) { s.Format = "cloudbase" })
		}, "Invalid", `format: "cloudbase" is not supported`},
		"no version":  {func(in *providers.BootstrapInput) { in.Pool.Version = "latest" }, "Invalid", `version: "latest"`},
		"old version": {func(in *providers.BootstrapInput) { in.Pool.Version = "v1.21.0" }, "Invalid", "the oldest is 1.22"},
		"worker as control plane": {func(in *providers.BootstrapInput) {
			edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) {
				s.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
			})
		}, "Invalid", "joinConfiguration.controlPlane"},
		"no endpoint":          {func(in *providers.BootstrapInput) { in.Endpoint = fleet.Endpoint{} }, "Unknown", "the endpoint is not known yet"},
		"no authority":         {func(in *providers.BootstrapInput) { in.Secrets = nil }, "Unknown", "cluster CA"},
		"no authority of etcd": {func(in *providers.BootstrapInput) { in.Join = fleet.JoinControlPlane; delete(in.Secrets, "etcd") }, "Unknown", "CA etcd is missing"},
	} {
		in := input(t, fleet.JoinWorker, "v1.35.0", bootstrapv1.KubeadmConfigSpec{})
		in.Cluster.Secrets["files"]["template"] = fleet.NewSecret([]byte("{{ .very.secret.thing | nope }}"))
		c.change(&in)
		_, err := userData(in)
		if fleet.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.want) || !strings.Contains(fmt.Sprint(err), "of pool eu-1-md-0: ") {
			t.Errorf("%s: %v\nwant kind %s and %q", reason, err, c.kind, c.want)
		}
		if strings.Contains(fmt.Sprint(err), "secret.thing") {
			t.Errorf("%s shows a secret: %v", reason, err)
		}
	}
}

// The desired state is shared: writing user data changes nothing in it. Nothing
// that prints shows what is in it.
func TestUserDataLeavesItsInputAndHides(t *testing.T) {
	for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker} {
		in := input(t, join, "v1.35.0", everything(true))
		if join == fleet.JoinWorker {
			in.Pool.Taints = []clusterv1.MachineTaint{{Key: "a", Effect: "NoSchedule"}}
		}
		u, err := userData(in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(everything(true), specOf(in.Pool.Bootstrap)); d != "" {
			t.Errorf("%s changes its input:\n%s", join, d)
		}
		again, err := userData(in)
		if err != nil || !bytes.Equal(u.Content.Reveal(), again.Content.Reveal()) {
			t.Errorf("%s: the same request gives other bytes (%v)", join, err)
		}
		if out := fmt.Sprintf("%v %+v %#v", u, u, u); strings.Contains(out, "kubeadm") {
			t.Errorf("printed: %s", out)
		}
	}
}

// Every field name stands in kubeadm's API of its version.
// Source: kubernetes, cmd/kubeadm/app/apis/kubeadm/{v1beta3,v1beta4}/types.go.
func TestKubeadmFieldNames(t *testing.T) {
	component3, component4 := "extraArgs extraVolumes", "extraArgs extraVolumes extraEnvs"
	volume := "name hostPath mountPath readOnly pathType"
	node3 := "name criSocket taints kubeletExtraArgs ignorePreflightErrors imagePullPolicy"
	timeouts := "controlPlaneComponentHealthCheck kubeletHealthCheck kubernetesAPICall etcdAPICall tlsBootstrap discovery upgradeManifests"
	shared := map[string]string{
		"ClusterConfiguration.networking": "serviceSubnet podSubnet dnsDomain", "ClusterConfiguration.dns": "imageRepository imageTag",
		"ClusterConfiguration.etcd": "local external", "ClusterConfiguration.apiServer.extraVolumes": volume,
		"InitConfiguration.bootstrapTokens": "token description ttl expires usages groups", "InitConfiguration.localAPIEndpoint": "advertiseAddress bindPort",
		"InitConfiguration.patches": "directory", "JoinConfiguration.patches": "directory",
		"InitConfiguration.nodeRegistration.taints": "key value effect timeAdded", "JoinConfiguration.nodeRegistration.taints": "key value effect timeAdded",
		"JoinConfiguration.discovery.bootstrapToken": "token apiServerEndpoint caCertHashes unsafeSkipCAVerification",
		"JoinConfiguration.controlPlane":             "localAPIEndpoint certificateKey", "ClusterConfiguration.featureGates": "ControlPlaneKubeletLocalMode NodeLocalCRISocket",
	}
	v1beta3, v1beta4 := maps.Clone(shared), maps.Clone(shared)
	maps.Copy(v1beta3, map[string]string{
		"ClusterConfiguration":           "apiVersion kind etcd networking kubernetesVersion controlPlaneEndpoint apiServer controllerManager scheduler dns certificatesDir imageRepository featureGates clusterName",
		"ClusterConfiguration.apiServer": component3 + " certSANs timeoutForControlPlane", "ClusterConfiguration.controllerManager": component3, "ClusterConfiguration.scheduler": component3,
		"ClusterConfiguration.etcd.local":    "imageRepository imageTag dataDir extraArgs serverCertSANs peerCertSANs",
		"InitConfiguration":                  "apiVersion kind bootstrapTokens nodeRegistration localAPIEndpoint certificateKey skipPhases patches",
		"JoinConfiguration":                  "apiVersion kind nodeRegistration caCertPath discovery controlPlane skipPhases patches",
		"JoinConfiguration.discovery":        "bootstrapToken file tlsBootstrapToken timeout",
		"InitConfiguration.nodeRegistration": node3, "JoinConfiguration.nodeRegistration": node3,
		// Maps, with the arguments' own names.
		"ClusterConfiguration.apiServer.extraArgs": "anonymous-auth audit-log-path", "ClusterConfiguration.controllerManager.extraArgs": "cloud-provider",
		"ClusterConfiguration.scheduler.extraArgs": "v", "ClusterConfiguration.etcd.local.extraArgs": "quota-backend-bytes",
		"InitConfiguration.nodeRegistration.kubeletExtraArgs": "cloud-provider empty node-labels", "JoinConfiguration.nodeRegistration.kubeletExtraArgs": "cloud-provider empty node-labels",
	})
	maps.Copy(v1beta4, map[string]string{
		"ClusterConfiguration":           "apiVersion kind etcd networking kubernetesVersion controlPlaneEndpoint apiServer controllerManager scheduler dns proxy certificatesDir imageRepository featureGates clusterName encryptionAlgorithm certificateValidityPeriod caCertificateValidityPeriod",
		"ClusterConfiguration.apiServer": component4 + " certSANs", "ClusterConfiguration.controllerManager": component4, "ClusterConfiguration.scheduler": component4,
		"ClusterConfiguration.etcd.local":    "imageRepository imageTag dataDir extraArgs extraEnvs serverCertSANs peerCertSANs",
		"InitConfiguration":                  "apiVersion kind bootstrapTokens dryRun nodeRegistration localAPIEndpoint certificateKey skipPhases patches timeouts",
		"JoinConfiguration":                  "apiVersion kind dryRun nodeRegistration caCertPath discovery controlPlane skipPhases patches timeouts",
		"JoinConfiguration.discovery":        "bootstrapToken file tlsBootstrapToken",
		"InitConfiguration.nodeRegistration": node3 + " imagePullSerial", "JoinConfiguration.nodeRegistration": node3 + " imagePullSerial",
		"InitConfiguration.timeouts": timeouts, "JoinConfiguration.timeouts": timeouts,
	})
	for _, path := range []string{"ClusterConfiguration.apiServer", "ClusterConfiguration.controllerManager", "ClusterConfiguration.scheduler", "ClusterConfiguration.etcd.local"} {
		v1beta4[path+".extraArgs"], v1beta4[path+".extraEnvs"] = "name value", "name value valueFrom"
	}
	for _, kind := range []string{"Init", "Join"} {
		v1beta4[kind+"Configuration.nodeRegistration.kubeletExtraArgs"] = "name value"
	}
	for version, names := range map[string]map[string]string{"v1.30.0": v1beta3, "v1.31.0": v1beta4} {
		for join, kinds := range map[fleet.Join][]string{
			fleet.JoinInit: {"ClusterConfiguration", "InitConfiguration"}, fleet.JoinControlPlane: {"JoinConfiguration"},
		} {
			m := boot(t, input(t, join, version, everything(version == "v1.31.0")))
			for _, kind := range kinds {
				checkNames(t, version, names, kind, m.document(t, kind))
			}
		}
	}
}

func checkNames(t *testing.T, version string, names map[string]string, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			checkNames(t, version, names, path, e)
		}
	case map[string]any:
		for k, e := range v {
			if !slices.Contains(strings.Fields(names[path]), k) {
				t.Errorf("%s: kubeadm knows no %s.%s", version, path, k)
			}
			checkNames(t, version, names, path+"."+k, e)
		}
	}
}
