package all_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/needs"
)

// TestDockerOverlays renders the overlays that Cluster API tests itself with, which are of its provider docker, each with
// the class that it names: 16 of 22 define what Fairlead can run. The others are refused for this reason.
func TestDockerOverlays(t *testing.T) {
	const extension = "it needs an extension of the Runtime SDK"
	refused := map[string]string{
		"cluster-template-ignition":                    "reads cloud-config",
		"cluster-template-kcp-scale-in":                `patch "kubeadmControlPlaneMaxSurge" sets spec.rollout.strategy.rollingUpdate.maxSurge: must be a whole number`, // the patch has a quotation mark too many
		"cluster-template-kcp-adoption/step1":          "a control-plane machine joins etcd and leaves it in an order that only a KubeadmControlPlane keeps",
		"cluster-template-topology-kubeadm-version":    extension,
		"cluster-template-topology-runtimesdk-v1beta1": extension,
		"cluster-template-upgrades-runtimesdk":         extension,
	}
	upstream := os.DirFS(needs.Corpus(t, "capi-e2e", "infrastructure-docker", "main"))
	overlays, err := fs.Glob(upstream, "*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := fs.Glob(upstream, "*/*/kustomization.yaml")
	if err != nil || len(overlays)+len(steps) != 22 {
		t.Fatalf("%d overlays, error %v; want 22", len(overlays)+len(steps), err)
	}
	for _, file := range append(overlays, steps...) {
		overlay := path.Dir(file)
		t.Run(overlay, func(t *testing.T) {
			clusters, problems := renderUpstream(t, upstream, overlay)
			want, bad := refused[overlay]
			switch {
			case !bad && len(problems) > 0:
				t.Errorf("problems:\n%s", strings.Join(problems, "\n"))
			case bad && !strings.Contains(strings.Join(problems, "\n"), want):
				t.Errorf("problems:\n%s\nwant %q", strings.Join(problems, "\n"), want)
			case !bad && clusters == 0 && overlay != "clusterclass-quick-start-kcp-only":
				t.Error("it defines no cluster")
			}
		})
	}
}

// renderUpstream renders a fleet of one overlay with the classes beside it.
func renderUpstream(t *testing.T, upstream fs.FS, overlay string) (clusters int, out []string) {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(upstream, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(upstream, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	class := "quick-start"
	for _, known := range []string{"quick-start-runtimesdk-v1beta1", "quick-start-runtimesdk"} {
		for name, f := range files {
			if path.Dir(name) == overlay && strings.Contains(string(f.Data), `"`+known+`"`) {
				class = known
			}
		}
	}
	files["class/kustomization.yaml"] = &fstest.MapFile{Data: []byte("namespace: default\nresources: [../clusterclass-" + class + ".yaml]\n")}
	include := overlay
	if overlay != "clusterclass-quick-start-kcp-only" {
		include += ", class"
	}
	files["fleet.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: up}\nspec:\n  clusters: {include: [" + include + "]}\n  substitute: " + upstreamValues)}

	limits, distributions := make(providers.Limits), all.Distributions(nil)
	for _, f := range all.Factories() {
		limits[f.Name] = providers.Limit{UserData: f.Limit, VirtualIP: f.VirtualIP}
	}
	drafter := providers.NewDrafter(limits)
	decoder := decode.New("up", kinds(t)).WithDraft(func(c *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
		d, err := distributions.Of(c)
		if err != nil {
			return err
		}
		return drafter.Draft(d, c, p, join)
	})
	f, err := render.New(render.Options{Decoder: decoder}).Render(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:0"}, upstreamTree{files})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Problems {
		out = append(out, p.String())
	}
	return len(f.Clusters), out
}

// upstreamValues are values of the variables that the overlays have.
const upstreamValues = `{
  CLUSTER_NAME: one, NAMESPACE: default, CLUSTER_CLASS_NAMESPACE: default, KUBERNETES_VERSION: "v1.34.1",
  CONTROL_PLANE_MACHINE_COUNT: 1, WORKER_MACHINE_COUNT: 2, SERVER: https://10.0.0.1, TOKEN: abc,
  DOCKER_SERVICE_DOMAIN: cluster.local, DOCKER_SERVICE_CIDRS: 10.128.0.0/12, DOCKER_POD_CIDRS: 192.168.0.0/16,
  DOCKER_SERVICE_IPV6_CIDRS: "fd00:100:64::/108", DOCKER_POD_IPV6_CIDRS: "fd00:100:96::/48",
  CNI_RESOURCES: {cni.yaml: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cni, namespace: kube-system}\n"},
}
`

// An upstreamTree is a sources.Tree of files that do not change.
type upstreamTree struct{ fs.FS }

// Digest implements sources.Tree.
func (u upstreamTree) Digest(name string) (string, error) {
	_, err := fs.Stat(u, name)
	return name, err
}
