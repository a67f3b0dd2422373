package kubeadm_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kube/binaries"
)

// accepts has the real kubeadm of a minor version read a configuration, as
// strictly as it can.
func accepts(t *testing.T, minor string, config []byte) error {
	t.Helper()
	program, err := binaries.Path("kubeadm-" + minor)
	if err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "kubeadm.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "config", "validate", "--config", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil && string(out) != "ok\n" {
		t.Errorf("kubeadm %s says %q", minor, out)
	}
	if err != nil {
		t.Logf("kubeadm %s: %s", minor, stderr.String())
	}
	return err
}

var jinjaExpression = regexp.MustCompile(`\{\{.*?\}\}`)

// TestKubeadmAccepts gives every configuration that is written to the kubeadm of
// each minor version that it is for.
func TestKubeadmAccepts(t *testing.T) {
	specs := map[string]bootstrapv1.KubeadmConfigSpec{"nothing": {}, "everything": everything(true)}
	external := everything(true)
	external.ClusterConfiguration.Etcd = bootstrapv1.Etcd{External: bootstrapv1.ExternalEtcd{
		Endpoints: []string{"https://etcd.example.com:2379"}, CAFile: "/srv/ca.crt", CertFile: "/srv/client.crt", KeyFile: "/srv/client.key",
	}}
	specs["external etcd"] = external
	known := filepath.Join(t.TempDir(), "discovery.conf") // kubeadm looks whether it is there
	if err := os.WriteFile(known, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	byFile := everything(true)
	byFile.JoinConfiguration.Discovery = bootstrapv1.Discovery{
		TLSBootstrapToken: "abcdef.0123456789abcdef",
		File: bootstrapv1.FileDiscovery{KubeConfigPath: known, KubeConfig: bootstrapv1.FileDiscoveryKubeConfig{
			User: bootstrapv1.KubeConfigUser{Exec: bootstrapv1.KubeConfigAuthExec{Command: "/usr/bin/token"}},
		}},
	}
	specs["discovery by file"] = byFile
	noTaints := bootstrapv1.KubeadmConfigSpec{}
	noTaints.InitConfiguration.NodeRegistration.Taints = &[]corev1.Taint{}
	noTaints.JoinConfiguration.NodeRegistration.Taints = &[]corev1.Taint{}
	specs["no taints"] = noTaints

	for _, minor := range binaries.Kubeadm() {
		t.Run(minor, func(t *testing.T) {
			for name, spec := range specs {
				for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker} {
					in := input(t, join, "v"+minor+".0", spec)
					in.Cluster.Secrets["eu-1-etcd"] = in.Secrets[fleet.EtcdCA]
					in.Secrets[fleet.EtcdClient] = in.Secrets[fleet.EtcdCA]
					config := kubeadmConfig(t, boot(t, in))
					if err := accepts(t, minor, config); err != nil {
						t.Errorf("%s, %s: %v\n%s", name, join, err, config)
					}
				}
			}
		})
	}
}

// kubeadmConfig returns what kubeadm reads on the machine m, with a name for
// every expression that cloud-init evaluates.
func kubeadmConfig(t *testing.T, m machine) []byte {
	t.Helper()
	for _, path := range []string{"/run/kubeadm/kubeadm.yaml", "/run/kubeadm/kubeadm-join-config.yaml"} {
		if config := m.file(path); config != "" {
			return jinjaExpression.ReplaceAllLiteral([]byte(config), []byte("node-1"))
		}
	}
	t.Fatal("there is no configuration of kubeadm")
	return nil
}

// What is refused for a minor version is what its kubeadm refuses, and no other.
func TestKubeadmRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spec    bootstrapv1.ClusterConfiguration
		field   string   // the same as kubeadm reads it
		refused []string // minor versions
	}{
		"P-384": {
			spec:  bootstrapv1.ClusterConfiguration{EncryptionAlgorithm: bootstrapv1.EncryptionAlgorithmECDSAP384},
			field: "encryptionAlgorithm: ECDSA-P384", refused: []string{"1.33"},
		},
		"a gate off": {
			spec:  bootstrapv1.ClusterConfiguration{FeatureGates: map[string]bool{"ControlPlaneKubeletLocalMode": false}},
			field: "featureGates:\n  ControlPlaneKubeletLocalMode: false", refused: []string{"1.36"},
		},
		"a gate off before": {
			spec:  bootstrapv1.ClusterConfiguration{FeatureGates: map[string]bool{"WaitForAllControlPlaneComponents": false}},
			field: "featureGates:\n  WaitForAllControlPlaneComponents: false", refused: []string{"1.35", "1.36"},
		},
		"a gate off long ago": {
			spec:  bootstrapv1.ClusterConfiguration{FeatureGates: map[string]bool{"EtcdLearnerMode": false}},
			field: "featureGates:\n  EtcdLearnerMode: false", refused: []string{"1.33", "1.34", "1.35", "1.36"},
		},
		"gates that are on for good": {
			spec: bootstrapv1.ClusterConfiguration{FeatureGates: map[string]bool{
				"ControlPlaneKubeletLocalMode": true, "EtcdLearnerMode": true, "WaitForAllControlPlaneComponents": true,
			}},
		},
	} {
		for _, minor := range binaries.Kubeadm() {
			t.Run(name+" "+minor, func(t *testing.T) {
				version := "v" + minor + ".0"
				_, err := userData(input(t, fleet.JoinInit, version, bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: c.spec}))
				if refused := slices.Contains(c.refused, minor); refused != (fleet.KindOf(err) == "Invalid") {
					t.Fatalf("refused: %v, want %v", err, refused)
				}
				if err == nil {
					config := kubeadmConfig(t, boot(t, input(t, fleet.JoinInit, version, bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: c.spec})))
					if err := accepts(t, minor, config); err != nil {
						t.Errorf("%v\n%s", err, config)
					}
					return
				}
				own := "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: " + version + "\n" + c.field + "\n"
				if accepts(t, minor, []byte(own)) == nil {
					t.Errorf("kubeadm takes what is refused with: %v", err)
				}
			})
		}
	}
}

// TestEverythingIsEverything holds what the tests above and cloud-init are given
// against the API: a field that it gains is given as well.
func TestEverythingIsEverything(t *testing.T) {
	instead := []string{ // of which there is another, or which are written for a machine of their own
		".ClusterConfiguration.ControlPlaneEndpoint", ".ClusterConfiguration.CertificatesDir", ".ClusterConfiguration.Etcd.External",
		".ClusterConfiguration.ControllerManager.ExtraVolumes", ".ClusterConfiguration.Scheduler.ExtraVolumes",
		".JoinConfiguration.Discovery", ".JoinConfiguration.ControlPlane",
		".JoinConfiguration.NodeRegistration.Taints", ".InitConfiguration.NodeRegistration.Taints",
		".InitConfiguration.Timeouts", ".JoinConfiguration.Timeouts", ".Format", ".Ignition",
	}
	var missing []string
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		for i := range v.NumField() {
			f, name := v.Field(i), path+"."+v.Type().Field(i).Name
			switch {
			case slices.ContainsFunc(instead, func(s string) bool { return strings.HasPrefix(name, s) }):
			case f.IsZero():
				missing = append(missing, name)
			case f.Kind() == reflect.Struct:
				walk(name, f)
			}
		}
	}
	walk("", reflect.ValueOf(everything(true)))
	if len(missing) > 0 {
		t.Errorf("everything lacks %v", missing)
	}
}
