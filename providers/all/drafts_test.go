package all_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// drafted decodes text, and makes the user data of its machines.
func drafted(t testing.TB, text string) ([]fleet.Cluster, []string) {
	t.Helper()
	var objects []render.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
	}
	distributions, drafter := all.Distributions(nil), providers.NewDrafter(virtualIPs())
	decoder := decode.New("f", kinds(t)).WithDraft(func(c *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
		d, err := distributions.Of(c)
		if err != nil {
			return err
		}
		return drafter.Draft(d, c, p, join)
	})
	clusters, problems := decoder.Decode("clusters/eu-1", objects)
	var out []string
	for _, p := range problems {
		out = append(out, strings.Split(p.Object, " ")[0]+" "+p.Field+": "+p.Message)
	}
	return clusters, out
}

// virtualIPs are the limits of providers by which servers serve virtual addresses.
func virtualIPs() providers.Limits {
	limits := make(providers.Limits)
	for _, f := range all.Factories() {
		limits[f.Name] = providers.Limit{VirtualIP: f.VirtualIP}
	}
	return limits
}

// TestDrafts: manifests from which no machine can be made are refused, at the field that is
// wrong, for each distribution, pool and way to join. Other manifests are not.
func TestDrafts(t *testing.T) {
	const (
		secret  = "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: prod}\nstringData: {k: %q}\n"
		from    = "contentFrom: {secret: {name: s, key: k}}"
		config  = "kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}}"
		worker  = "spec: {template: {spec: {}}}"
		machine = "spec: {template: {spec: {serverConfig: {cloudProviderName: \"\"}}}}"
	)
	template := func(fields string) []string { return []string{worker, "spec: {template: {spec: {" + fields + "}}}"} }
	plane := func(fields string) []string { return []string{config, "kubeadmConfigSpec: {" + fields + "}"} }
	with := func(content string, change []string) []string {
		last := len(change) - 1
		change[last] += fmt.Sprintf(secret, content)
		return change
	}
	for name, tc := range map[string]struct {
		distribution string
		change       []string
		want         string // one problem; empty: none
	}{
		"kubeadm":                     {"kubeadm", nil, ""},
		"k3s":                         {"k3s", nil, ""},
		"rke2":                        {"rke2", nil, ""},
		"old Kubernetes":              {"kubeadm", []string{"v1.33.5", "v1.20.1"}, "KubeadmControlPlane spec.version: no machine can be made from this: kubeadm of Kubernetes v1.20.1 is not supported"},
		"Kubernetes 2":                {"kubeadm", []string{"v1.33.5", "v2.0.0"}, "MachineDeployment spec.template.spec.version: no machine can be made from this: kubeadm of Kubernetes v2.0.0"},
		"field of a newer kubeadm":    {"kubeadm", append(plane("clusterConfiguration: {apiServer: {extraEnvs: [{name: A, value: b}]}}"), "v1.33.5", "v1.30.1"), "KubeadmControlPlane spec.kubeadmConfigSpec.clusterConfiguration.apiServer.extraEnvs: no machine can be made from this: kubeadm has this from Kubernetes 1.31 on"},
		"field of init":               {"kubeadm", append(plane("initConfiguration: {timeouts: {discoverySeconds: 5}}"), "v1.33.5", "v1.30.1"), "spec.kubeadmConfigSpec.initConfiguration.timeouts.discoverySeconds"},
		"field of join":               {"kubeadm", append(plane("joinConfiguration: {nodeRegistration: {imagePullSerial: true}}"), "v1.33.5", "v1.30.1"), "spec.kubeadmConfigSpec.joinConfiguration.nodeRegistration.imagePullSerial"},
		"argument twice":              {"kubeadm", append(plane("clusterConfiguration: {apiServer: {extraArgs: [{name: a, value: b}, {name: a, value: c}]}}"), "v1.33.5", "v1.30.1"), "spec.kubeadmConfigSpec.clusterConfiguration.apiServer.extraArgs: no machine can be made from this: argument a twice"},
		"gate that is gone":           {"kubeadm", plane("clusterConfiguration: {featureGates: {EtcdLearnerMode: false}}"), "spec.kubeadmConfigSpec.clusterConfiguration.featureGates.EtcdLearnerMode"},
		"template":                    {"kubeadm", template("files: [{path: /a, contentFormat: Template, content: '{{ nope }}'}]"), "KubeadmConfigTemplate spec.template.spec.files[0].content: no machine can be made from this: template"},
		"statement that is open":      {"kubeadm", template("files: [{path: /a, content: '{% raw'}]"), "spec.template.spec.files[0]: no machine can be made from this: {% begins something of Jinja"},
		"statement in a command":      {"kubeadm", template("preKubeadmCommands: [a, 'echo {{ x']"), "spec.template.spec.preKubeadmCommands[1]: no machine can be made from this: {{ begins"},
		"device twice":                {"kubeadm", template("diskSetup: {partitions: [{device: /dev/a, layout: true}, {device: /dev/a, layout: true}]}"), "spec.template.spec.diskSetup.partitions[1].device"},
		"worker as control plane":     {"kubeadm", template("joinConfiguration: {controlPlane: {}}"), "spec.template.spec.joinConfiguration.controlPlane: no machine can be made from this: the machines of this pool are workers"},
		"Ignition in /run":            {"kubeadm", template("format: ignition, files: [{path: /run/a, content: a}]"), "spec.template.spec.files[0].path: no machine can be made from this: /run is empty"},
		"Ignition of a relative path": {"kubeadm", template("format: ignition, files: [{path: a, content: a}]"), "spec.template.spec.files[0].path: no machine can be made from this: must begin with /"},
		"Ignition's mount of nothing": {"kubeadm", template("format: ignition, mounts: [[nolabel, /data]]"), "spec.template.spec.mounts[0]"},
		"Ignition's own config":       {"kubeadm", template("format: ignition, ignition: {containerLinuxConfig: {additionalConfig: 'a: ['}}"), "spec.template.spec.ignition.containerLinuxConfig.additionalConfig"},
		"broken Secret":               {"kubeadm", with("{{ nope", template("files: [{path: /a, contentFormat: Template, "+from+"}]")), "spec.template.spec.files[0].contentFrom.secret: no machine can be made from this: the content is not a template"},
		"Secret in Ignition":          {"kubeadm", with("no base64!", template("format: ignition, files: [{path: /a, encoding: base64, "+from+"}]")), "spec.template.spec.files[0].encoding: no machine can be made from this: the content is not in base64"},
		"no base64":                   {"kubeadm", template("files: [{path: /a, encoding: base64, content: aGVsbG8}]"), "spec.template.spec.files[0].encoding: no machine can be made from this: the content is not in base64"},
		"no gzip":                     {"kubeadm", template("files: [{path: /a, encoding: gzip+base64, content: aGVsbG8=}]"), "spec.template.spec.files[0].encoding: no machine can be made from this: the content is not in gzip"},
		"no gzip of Ignition":         {"kubeadm", template("format: ignition, files: [{path: /a, encoding: gzip+base64, content: aGVsbG8=}]"), "spec.template.spec.files[0].encoding: no machine can be made from this: the content is not in gzip"},
		"empty gzip":                  {"kubeadm", template("files: [{path: /a, encoding: gzip, content: ''}, {path: /b, encoding: gzip+base64, content: ''}]"), ""},
		"empty gzip of RKE2":          {"rke2", template("files: [{path: /a, encoding: gzip, content: ''}]"), ""},
		"empty gzip of Ignition":      {"kubeadm", template("format: ignition, files: [{path: /a, encoding: gzip+base64, content: ''}]"), "spec.template.spec.files[0].encoding: no machine can be made from this: the content is empty, which Ignition cannot decompress"},
		"sealed Secret":               {"kubeadm", with("REDACTED", template("format: ignition, files: [{path: /a, encoding: base64, "+from+"}, {path: /b, encoding: gzip+base64, "+from+"}, {path: /c, contentFormat: Template, "+from+"}]")), ""},
		"sealed Secret of cloud-init": {"kubeadm", with("REDACTED", template("files: [{path: /a, encoding: base64, "+from+"}, {path: /b, encoding: gzip+base64, "+from+"}, {path: /c, contentFormat: Template, "+from+"}]")), ""},
		"external etcd":               {"kubeadm", plane("clusterConfiguration: {etcd: {external: {endpoints: ['https://10.0.0.5:2379'], caFile: /e/ca.crt, certFile: /e/c.crt, keyFile: /e/c.key}}}"), ""},
		"cluster that is deleted":     {"kubeadm", append(template("format: ignition, files: [{path: a, content: a}]"), "kind: Cluster\nmetadata: {", "kind: Cluster\nmetadata: {annotations: {fairlead.dev/delete: \"true\"}, "), ""},
		"file of K3s":                 {"k3s", []string{machine, strings.Replace(machine, "serverConfig", "files: [{path: /a, content: '{{ x'}], serverConfig", 1)}, "KThreesConfigTemplate spec.template.spec.files[0]: no machine can be made from this: {{ begins"},
		"server of K3s":               {"k3s", []string{"kthreesConfigSpec: {", "kthreesConfigSpec: {preK3sCommands: ['{{ x'], "}, "KThreesControlPlane spec.kthreesConfigSpec: no machine can be made from this: command \"{{ x\""},
		"no base64 of K3s":            {"k3s", []string{machine, strings.Replace(machine, "serverConfig", "files: [{path: /a, encoding: base64, content: aGVsbG8}], serverConfig", 1)}, "KThreesConfigTemplate spec.template.spec.files[0].encoding: no machine can be made from this: the content is not in base64"},
		"no gzip of RKE2":             {"rke2", template("files: [{path: /a, encoding: gzip, content: hello}]"), "RKE2ConfigTemplate spec.template.spec.files[0].encoding: no machine can be made from this: the content is not in gzip"},
		"file of RKE2":                {"rke2", template("files: [{path: /a, content: '{# x'}]"), "RKE2ConfigTemplate spec.template.spec.files[0]: no machine can be made from this: {# begins"},
		"server of RKE2":              {"rke2", []string{"  registrationMethod", "  files: [{path: /a, content: '{{ x'}]\n  registrationMethod"}, "RKE2ControlPlane spec.files[0]: no machine can be made from this: {{ begins"},
	} {
		t.Run(name, func(t *testing.T) {
			d := distributions()[tc.distribution]
			text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
			for i := 0; i < len(tc.change); i += 2 {
				changed := strings.ReplaceAll(text, tc.change[i], tc.change[i+1])
				if changed == text {
					t.Fatalf("the manifests have no %q", tc.change[i])
				}
				text = changed
			}
			clusters, problems := drafted(t, text)
			all := strings.Join(problems, "\n")
			if tc.want == "" && (len(problems) > 0 || len(clusters) != 1) || !strings.Contains(all, tc.want) || tc.want != "" && len(clusters) > 0 {
				t.Errorf("%d clusters, problems:\n%s\nwant %q", len(clusters), all, tc.want)
			}
		})
	}
}

// TestDraftsOfNodegroups: a node group of EKS with an image of people is refused if its machines can have no user data.
func TestDraftsOfNodegroups(t *testing.T) {
	const text = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedCluster, name: eu-1}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AWSManagedControlPlane, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedCluster
metadata: {name: eu-1, namespace: prod}
spec: {}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: eu-1, namespace: prod}
spec: {region: eu-central-1, version: v1.34.1}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: eu-1-pool-0, namespace: prod}
spec:
  clusterName: eu-1
  template:
    spec:
      clusterName: eu-1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: NodeadmConfig, name: eu-1-pool-0}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedMachinePool, name: eu-1-pool-0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: eu-1-pool-0, namespace: prod}
spec: {awsLaunchTemplate: {ami: {id: ami-1}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: NodeadmConfig
metadata: {name: eu-1-pool-0, namespace: prod}
spec: {preNodeadmCommands: [uname]}
`
	if clusters, problems := drafted(t, text); len(problems) > 0 || len(clusters) != 1 {
		t.Errorf("problems: %q", problems)
	}
	const want = "NodeadmConfig spec.preNodeadmCommands[0]: no machine can be made from this: {{ begins"
	if _, problems := drafted(t, strings.Replace(text, "[uname]", "['{{ x']", 1)); len(problems) != 1 || !strings.HasPrefix(problems[0], want) {
		t.Errorf("problems: %q, want %q", problems, want)
	}
}

// TestDraftsOfNetworks: ranges of pods and services with which kubeadm init fails are refused.
func TestDraftsOfNetworks(t *testing.T) {
	const (
		pods, services = "192.168.0.0/16", "10.96.0.0/12"
		config         = "kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}}"
		masks          = "kubeadmConfigSpec: {clusterConfiguration: {controllerManager: {extraArgs: [{name: node-cidr-mask-size-ipv4, value: '28'}]}}}"
		none           = "kubeadmConfigSpec: {clusterConfiguration: {controllerManager: {extraArgs: [{name: allocate-node-cidrs, value: 'false'}]}}}"
		v6             = services + ", 'fd00:1::/112'"
	)
	for name, tc := range map[string]struct {
		change []string
		want   string // one problem; empty: none
	}{
		"two families":         {[]string{pods, pods + ", 'fd00::/48'", services, v6}, ""},
		"three":                {[]string{services, v6 + ", 10.0.0.0/20"}, "serviceSubnet: no machine can be made from this: the services of the Cluster have two ranges of one IP family"},
		"one family twice":     {[]string{pods, pods + ", 10.0.0.0/16"}, "podSubnet: no machine can be made from this: the pods of the Cluster have two ranges of one IP family"},
		"few services":         {[]string{services, "10.96.0.0/29"}, "serviceSubnet: no machine can be made from this: the services of the Cluster have the range 10.96.0.0/29, and kubeadm needs at least 10 addresses"},
		"some services":        {[]string{services, "10.96.0.0/28"}, ""},
		"many services":        {[]string{services, "10.96.0.0/11"}, "serviceSubnet: no machine can be made from this: the services of the Cluster have the range 10.96.0.0/11, and kubeadm takes 2^20"},
		"many services of v6":  {[]string{services, services + ", 'fd00:1::/107'"}, "serviceSubnet: no machine can be made from this: the services of the Cluster have the range fd00:1::/107"},
		"newer Kubernetes":     {[]string{services, "10.96.0.0/11", "v1.33.5", "v1.34.1"}, ""},
		"less than a node":     {[]string{pods, "192.168.0.0/25"}, "podSubnet: no machine can be made from this: the pods of the Cluster have the range 192.168.0.0/25, which is smaller than that of a node"},
		"one node":             {[]string{pods, "192.168.0.0/24"}, ""},
		"small nodes":          {[]string{pods, "192.168.0.0/25", config, masks}, ""},
		"ranges of a plugin":   {[]string{pods, "192.168.0.0/25", config, none}, ""},
		"too many nodes":       {[]string{pods, "192.0.0.0/7"}, "podSubnet: no machine can be made from this: the pods of the Cluster have the range 192.0.0.0/7, and kubeadm takes 65536"},
		"too many nodes of v6": {[]string{pods, pods + ", 'fd00::/47'"}, "podSubnet: no machine can be made from this: the pods of the Cluster have the range fd00::/47"},
	} {
		t.Run(name, func(t *testing.T) {
			d := distributions()["kubeadm"]
			text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
			for i := 0; i < len(tc.change); i += 2 {
				if !strings.Contains(text, tc.change[i]) {
					t.Fatalf("the manifests have no %q", tc.change[i])
				}
				text = strings.ReplaceAll(text, tc.change[i], tc.change[i+1])
			}
			clusters, problems := drafted(t, text)
			if tc.want == "" && (len(problems) > 0 || len(clusters) != 1) ||
				tc.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], "KubeadmControlPlane spec.kubeadmConfigSpec.clusterConfiguration.networking."+tc.want)) {
				t.Errorf("%d clusters, problems:\n%s\nwant %q", len(clusters), strings.Join(problems, "\n"), tc.want)
			}
		})
	}
}

// TestDraftsOfWorkersElsewhere: workers of a hosted control plane are checked, too.
func TestDraftsOfWorkersElsewhere(t *testing.T) {
	d := distributions()["kubeadm"]
	base := fmt.Sprintf(clusterManifests, "ExternalControlPlane", d.older, d.bootstrap)
	base = strings.Replace(base, "apiGroup: controlplane.cluster.x-k8s.io, kind: ExternalControlPlane", "apiGroup: fairlead.dev, kind: ExternalControlPlane", 1)
	base += "apiVersion: fairlead.dev/v1alpha1\nkind: ExternalControlPlane\nmetadata: {name: eu-1-cp, namespace: prod}\nspec: {controlPlaneEndpoint: {host: eu.planes.example.com}}\n---\n" +
		"apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nmetadata: {name: w, namespace: prod}\nspec: {template: {spec: {files: [{path: /a, content: '%s'}]}}}\n"
	if clusters, problems := drafted(t, fmt.Sprintf(base, "fine")); len(problems) > 0 || len(clusters) != 1 {
		t.Errorf("%d clusters, problems %v", len(clusters), problems)
	}
	if _, problems := drafted(t, fmt.Sprintf(base, "{{ x")); len(problems) != 1 || !strings.Contains(problems[0], "spec.template.spec.files[0]: no machine") {
		t.Errorf("problems %v", problems)
	}
}

// TestUnmade: each look at a cluster knows the pools and ways to join of which no machine can be
// made, for each distribution and format, and a plan removes no machine for them. Here a Secret
// breaks a file of all pools.
func TestUnmade(t *testing.T) {
	const (
		config   = "kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}}"
		template = "spec: {template: {spec: {}}}"
		k3s      = "spec: {template: {spec: {serverConfig: {cloudProviderName: \"\"}}}}"
		file     = "files: [{path: /etc/motd, %scontentFrom: {secret: {name: s, key: k}}}]"
	)
	for name, tc := range map[string]struct {
		distribution string
		broken       string // content of the Secret
		field        string // of files
		change       []string
	}{
		"kubeadm":           {"kubeadm", "{{ nope", "contentFormat: Template, ", []string{config, "kubeadmConfigSpec: {%s}", template, "spec: {template: {spec: {%s}}}"}},
		"kubeadm, Ignition": {"kubeadm", "aGVsbG8", "encoding: base64, ", []string{config, "kubeadmConfigSpec: {format: ignition, %s}", template, "spec: {template: {spec: {format: ignition, %s}}}"}},
		"k3s":               {"k3s", "aGVsbG8", "encoding: base64, ", []string{"kthreesConfigSpec: {", "kthreesConfigSpec: {%s, ", k3s, "spec: {template: {spec: {%s}}}"}},
		"rke2":              {"rke2", "aGVsbG8", "encoding: base64, ", []string{"  registrationMethod", "  %s\n  registrationMethod", template, "spec: {template: {spec: {%s}}}"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := distributions()[tc.distribution]
			text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
			for i := 0; i < len(tc.change); i += 2 {
				changed := strings.Replace(text, tc.change[i], fmt.Sprintf(tc.change[i+1], fmt.Sprintf(file, tc.field)), 1)
				if changed == text {
					t.Fatalf("the manifests have no %q", tc.change[i])
				}
				text = changed
			}
			unmade := func(content string) map[string]bool {
				var objects []render.Object
				for doc := range strings.SplitSeq(text+fmt.Sprintf("\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: prod}\nstringData: {k: %q}\n", content), "\n---\n") {
					objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
				}
				clusters, problems := decode.New("f", kinds(t)).Decode("clusters/eu-1", objects)
				if len(clusters) != 1 {
					t.Fatal(problems)
				}
				c, out := &clusters[0], make(map[string]bool)
				impl, err := all.Distributions(nil).Of(c)
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range providers.NewDrafter(nil).Unmade(impl, c, fleet.Endpoint{}) {
					p, _ := c.Pool(u.Pool)
					out[string(p.Role)+" "+string(u.Join)] = true
				}
				return out
			}
			want := map[string]bool{"control-plane Init": true, "control-plane ControlPlane": true, "worker Worker": true}
			if diff := cmp.Diff(want, unmade(tc.broken)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := unmade("aGVsbG8="); len(got) > 0 {
				t.Errorf("with a good Secret: %v", got)
			}
		})
	}
}

// TestDraftsOfVirtualAddresses: servers that have the address of the endpoint by turns listen at its
// port, since nothing leads from one port to another.
func TestDraftsOfVirtualAddresses(t *testing.T) {
	const (
		inMemory = "backend: {inMemory: {}}"
		virtual  = "backend: {inMemory: {virtualIP: {}}}, controlPlaneEndpoint: {host: 10.0.0.7, port: %d}"
		network  = "clusterNetwork: {"
		config   = "kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}}"
		first    = "kubeadmConfigSpec: {initConfiguration: {localAPIEndpoint: {bindPort: 7443}}}"
		joining  = "kubeadmConfigSpec: {joinConfiguration: {controlPlane: {localAPIEndpoint: {bindPort: 7443}}}}"
		both     = "kubeadmConfigSpec: {initConfiguration: {localAPIEndpoint: {bindPort: 7443}}, joinConfiguration: {controlPlane: {localAPIEndpoint: {bindPort: 7443}}}}"
		brought  = "kubeadmConfigSpec: {files: [{path: /etc/kubernetes/manifests/vip.yaml, content: 'value: 10.0.0.7'}], initConfiguration: {localAPIEndpoint: {bindPort: 7443}}}"
		k3s      = "kthreesConfigSpec: {"
	)
	at := func(port int, change ...string) []string {
		return append([]string{inMemory, fmt.Sprintf(virtual, port)}, change...)
	}
	for name, tc := range map[string]struct {
		distribution string
		change       []string
		want         string // of each problem; empty: none
	}{
		"6443":                          {"kubeadm", at(6443), ""},
		"another port of the endpoint":  {"kubeadm", at(443), "its port is 443, but the API server of the machine listens at 6443"},
		"another port of the first":     {"kubeadm", at(6443, config, first), "its port is 6443, but the API server of the machine listens at 7443"},
		"one server, of the first":      {"kubeadm", at(7443, "replicas: 3", "replicas: 1", config, first), ""},
		"three, of the first":           {"kubeadm", at(7443, config, first), "its port is 7443, but the API server of the machine listens at 6443"},
		"another port of joining ones":  {"kubeadm", at(6443, config, joining), "its port is 6443, but the API server of the machine listens at 7443"},
		"another port of all":           {"kubeadm", at(7443, config, both), ""},
		"port of the network":           {"kubeadm", []string{inMemory, "backend: {inMemory: {virtualIP: {}}}", network, network + "apiServerPort: 443, "}, "its port is 443, but"},
		"port of the Cluster":           {"kubeadm", at(6443, network, "controlPlaneEndpoint: {host: 10.0.0.8, port: 8443}\n  "+network), "its port is 8443, but"},
		"name in the Cluster":           {"kubeadm", []string{inMemory, "backend: {inMemory: {virtualIP: {}}}", network, "controlPlaneEndpoint: {host: api.example.com, port: 6443}\n  " + network}, "it is no address"},
		"people's own":                  {"kubeadm", at(6443, config, brought), ""},
		"load balancer at another port": {"kubeadm", []string{inMemory, inMemory + ", controlPlaneEndpoint: {host: 10.0.0.7, port: 443}", config, first}, ""},
		"K3s":                           {"k3s", at(6443), ""},
		"K3s at another port":           {"k3s", at(443), "its port is 443, but"},
		"K3s at the port of endpoint":   {"k3s", at(7443, "serverConfig: {", "serverConfig: {httpsListenPort: '7443', "), ""},
		"RKE2":                          {"rke2", at(6443), ""},
		"RKE2 at another port":          {"rke2", at(9345), "its port is 9345, but"},
	} {
		t.Run(name, func(t *testing.T) {
			d := distributions()[tc.distribution]
			text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
			for i := 0; i < len(tc.change); i += 2 {
				changed := strings.Replace(text, tc.change[i], tc.change[i+1], 1)
				if changed == text {
					t.Fatalf("the manifests have no %q", tc.change[i])
				}
				text = changed
			}
			clusters, problems := drafted(t, text)
			if tc.want == "" && (len(problems) > 0 || len(clusters) != 1) || tc.want != "" && len(problems) == 0 {
				t.Errorf("%d clusters, problems %q", len(clusters), problems)
			}
			for _, p := range problems {
				if !strings.Contains(p, "no machine can be made from this") || !strings.Contains(p, tc.want) {
					t.Errorf("problem %q, want %q", p, tc.want)
				}
			}
		})
	}
}

// TestUnmadeOfOneServer: a control plane of one machine is not refused for the port of those that join, and none can
// join, so that the machine that is there is kept.
func TestUnmadeOfOneServer(t *testing.T) {
	const first = "kubeadmConfigSpec: {initConfiguration: {localAPIEndpoint: {bindPort: 7443}}}"
	d := distributions()["kubeadm"]
	text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
	text = strings.NewReplacer(
		"replicas: 3", "replicas: 1", "kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}}", first,
		"backend: {inMemory: {}}}\n---", "backend: {inMemory: {virtualIP: {}}}, controlPlaneEndpoint: {host: 10.0.0.7, port: 7443}}\n---",
	).Replace(text)
	clusters, problems := drafted(t, text)
	if len(clusters) != 1 {
		t.Fatal(problems)
	}
	c := &clusters[0]
	impl, err := all.Distributions(nil).Of(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]fleet.Endpoint{"of the manifests": {}, "that is there": {Host: "10.0.0.7", Port: 7443}} {
		got := providers.NewDrafter(virtualIPs()).Unmade(impl, c, e)
		if len(got) != 1 || got[0].Join != fleet.JoinControlPlane || !strings.Contains(got[0].Why, "its port is 7443, but the API server of the machine listens at 6443") {
			t.Errorf("endpoint %s: %+v", name, got)
		}
	}
}

// BenchmarkDrafts decodes one cluster without and with its user data, and makes user data of all
// its machines as each look at it does.
func BenchmarkDrafts(b *testing.B) {
	d := distributions()["kubeadm"]
	c := d.cluster(b)
	text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
	var objects []render.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
	}
	distribution, drafter := all.Distributions(nil)["KubeadmControlPlane"], providers.NewDrafter(nil)
	plain := decode.New("f", kinds(b))
	for name, decoder := range map[string]*decode.Decoder{
		"decoded": plain,
		"drafted": plain.WithDraft(func(c *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
			return drafter.Draft(distribution, c, p, join)
		}),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				decoder.Decode("clusters/eu-1", objects)
			}
		})
	}
	b.Run("unmade", func(b *testing.B) {
		for b.Loop() {
			drafter.Unmade(distribution, &c, fleet.Endpoint{})
		}
	})
}
