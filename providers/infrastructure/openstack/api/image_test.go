package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// overlay is a cluster of OpenStack whose machines are of image, with what else the
// overlay holds.
func overlay(image string, more ...string) []render.Object {
	docs := append([]string{
		`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: eu-1}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-1-cp}`, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: eu-1, namespace: prod}
spec:
  identityRef: {name: cloud, cloudName: openstack}
  managedSubnets: [{cidr: 10.6.0.0/24}]
  apiServer: {managedLoadBalancer: {}}
  bastion: {spec: {flavor: {id: "1"}, image: {imageRef: {name: jump}}}}`, `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec:
  replicas: 3
  version: v1.34.1
  kubeadmConfigSpec: {}
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: nodes}}}`, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: nodes, namespace: prod}
spec: {template: {spec: {flavor: {filter: {name: small}}, image: ` + image + `}}}`,
	}, more...)
	var out []render.Object
	for i, doc := range docs {
		out = append(out, render.Object{File: fmt.Sprintf("%d.yaml", i), YAML: []byte(doc)})
	}
	return out
}

// orc is an Image with spec, besides its credentials.
func orc(name, spec string) string {
	return "apiVersion: openstack.k-orc.cloud/v1alpha1\nkind: Image\nmetadata: {name: " + name + ", namespace: prod}\nspec:\n  cloudCredentialsRef: {secretName: cloud, cloudName: openstack}\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
}

const fromID = "8b1f3c52-6e0e-4f0c-9d52-f0c7f1b2a3d4"

func one(t *testing.T, objects []render.Object) *fleet.Cluster {
	t.Helper()
	clusters, problems := decode.New("f", api.Kinds()).Decode("o", objects)
	for _, p := range problems {
		t.Error(p)
	}
	if len(clusters) != 1 {
		t.Fatalf("%d clusters, want one", len(clusters))
	}
	return &clusters[0]
}

func jumpImage() string {
	return orc("jump", "managementPolicy: unmanaged\nimport: {filter: {name: debian-13}}")
}

// TestImageRef: what an Image says becomes part of the machine that names it, as if
// people had written it there where they can.
func TestImageRef(t *testing.T) {
	made := "resource: {content: {diskFormat: qcow2, download: {url: https://images.test/%s.qcow2}}}"
	for name, tc := range map[string]struct {
		image string // of the machines
		node  string // the Image
		want  string // of the machines, once decoded
	}{
		"by id":            {`{imageRef: {name: node}}`, "managementPolicy: unmanaged\nimport: {id: " + fromID + "}", `{"id":"` + fromID + `"}`},
		"by name":          {`{imageRef: {name: node}}`, "managementPolicy: unmanaged\nimport: {filter: {name: ubuntu, tags: [b, a]}}", `{"filter":{"name":"ubuntu","tags":["a","b"]}}`},
		"by visibility":    {`{imageRef: {name: node}}`, "managementPolicy: unmanaged\nimport: {filter: {name: ubuntu, visibility: community}}", `{"imageRef":{"name":"12bd0db9045cab5e913b"}}`},
		"made":             {`{imageRef: {name: node}}`, fmt.Sprintf(made, "a"), `{"imageRef":{"name":"c1eef202b14b67f095b7"}}`},
		"no reference":     {`{filter: {name: ubuntu}}`, fmt.Sprintf(made, "a"), `{"filter":{"name":"ubuntu"}}`},
		"explicit default": {`{imageRef: {name: node}}`, "managementPolicy: managed\nmanagedOptions: {onDelete: delete}\nresource: {name: node, content: {containerFormat: bare, diskFormat: qcow2, download: {url: https://images.test/a.qcow2}}}", `{"imageRef":{"name":"c1eef202b14b67f095b7"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := one(t, overlay(tc.image, jumpImage(), orc("node", tc.node)))
			var got struct{ Image json.RawMessage }
			if err := json.Unmarshal(c.ControlPlane.Infrastructure.Spec, &got); err != nil {
				t.Fatal(err)
			}
			if string(got.Image) != tc.want {
				t.Errorf("image = %s, want %s", got.Image, tc.want)
			}
			spec, err := api.ReadCluster(c.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			if f := spec.Bastion.Spec.Image.Filter; f == nil || *f.Name != "debian-13" {
				t.Errorf("image of the bastion = %+v", spec.Bastion.Spec.Image)
			}
			if n := len(c.Companions); n != 2 {
				t.Errorf("%d companions, want both Images", n)
			}
		})
	}
}

// TestImageTemplate: what servers boot from is in the hash of the template, and
// nothing else of an Image is.
func TestImageTemplate(t *testing.T) {
	hash := func(image string, more ...string) fleet.TemplateHash {
		t.Helper()
		return one(t, overlay(image, append(more, jumpImage())...)).ControlPlane.Template
	}
	node := func(more string) string {
		return "resource: {content: {diskFormat: qcow2, download: {url: https://images.test/a.qcow2}}" + more + "}"
	}
	ref := `{imageRef: {name: node}}`
	made := hash(ref, orc("node", node("")))
	same := map[string]fleet.TemplateHash{
		"another name":          hash(ref, orc("node", node(", name: other"))),
		"tags":                  hash(ref, orc("node", node(", tags: [a]"))),
		"visibility":            hash(ref, orc("node", node(", visibility: private"))),
		"an Image called so":    hash(`{imageRef: {name: renamed}}`, orc("renamed", node(""))),
		"what becomes of it":    hash(ref, orc("node", node("")+"\nmanagedOptions: {onDelete: detach}")),
		"an image beside it":    hash(ref, orc("node", node("")), orc("more", node(", name: x"))),
		"the default container": hash(ref, orc("node", "resource: {content: {containerFormat: bare, diskFormat: qcow2, download: {url: https://images.test/a.qcow2}}}")),
	}
	for what, h := range same {
		if h != made {
			t.Errorf("%s: machines are replaced", what)
		}
	}
	for what, h := range map[string]fleet.TemplateHash{
		"another url":  hash(ref, orc("node", strings.ReplaceAll(node(""), "a.qcow2", "b.qcow2"))),
		"properties":   hash(ref, orc("node", node(", properties: {hardware: {qemuGuestAgent: true}}"))),
		"another hash": hash(ref, orc("node", "resource: {content: {diskFormat: qcow2, download: {url: https://images.test/a.qcow2, hash: {algorithm: md5, value: 0c839612eb3f2469420f2ccae990827f}}}}")),
	} {
		if h == made {
			t.Errorf("%s: no machine is replaced", what)
		}
	}
	byName := hash(`{filter: {name: ubuntu}}`)
	if got := hash(ref, orc("node", "managementPolicy: unmanaged\nimport: {filter: {name: ubuntu}}")); got != byName {
		t.Error("an Image that exists is not what its filter is")
	}
	// Without any Image a reference is the image that Glance calls so, as it ever was.
	plain := one(t, dropBastion(overlay(`{imageRef: {name: ubuntu}}`))).ControlPlane.Template
	if plain != byName {
		t.Error("a reference where there are no Images is not the image of that name")
	}
}

// dropBastion takes the bastion, which names an Image, out of an overlay.
func dropBastion(objects []render.Object) []render.Object {
	for i := range objects {
		text := string(objects[i].YAML)
		if at := strings.Index(text, "  bastion:"); at >= 0 {
			objects[i].YAML = []byte(text[:at])
		}
	}
	return objects
}

// TestImageRefProblems: an Image that is not there, or not as it has to be, is told by
// object and field, and only where it is named.
func TestImageRefProblems(t *testing.T) {
	made := "resource: {content: {diskFormat: qcow2, download: {url: https://images.test/a.qcow2%s}}%s}"
	for name, tc := range map[string]struct {
		image, node string
		want        []string // of the one problem
	}{
		"missing": {
			`{imageRef: {name: nod}}`, fmt.Sprintf(made, "", ""),
			[]string{"3.yaml", "OpenStackMachineTemplate prod/nodes", "spec.template.spec.image.imageRef.name", "holds no Image of that name", "it holds jump, node"},
		},
		"unknown field": {
			`{imageRef: {name: node}}`, fmt.Sprintf(made, "", ", nam: x"),
			[]string{"Image prod/node", "spec.resource.nam", "unknown field"},
		},
		"packed": {
			`{imageRef: {name: node}}`, fmt.Sprintf(made, ", decompress: gz", ""),
			[]string{"Image prod/node", "spec.resource.content.download.decompress", "is not supported", "give the URL of the unpacked image"},
		},
		"a hash that Glance does not tell": {
			`{imageRef: {name: node}}`, fmt.Sprintf(made, ", hash: {algorithm: sha256, value: ab}", ""),
			[]string{"Image prod/node", "spec.resource.content.download.hash.algorithm", "give the md5 or sha512"},
		},
		"a password": {
			`{imageRef: {name: node}}`, "resource: {content: {diskFormat: raw, download: {url: https://a:b@images.test/a}}}",
			[]string{"Image prod/node", "spec.resource.content.download.url", "no password may be in Git"},
		},
		"protected": {
			`{imageRef: {name: node}}`, fmt.Sprintf(made, "", ", protected: true"),
			[]string{"Image prod/node", "spec.resource.protected", "make managedOptions.onDelete detach"},
		},
		"both": {
			`{imageRef: {name: node}}`, fmt.Sprintf(made, "", "") + "\nimport: {id: " + fromID + "}",
			[]string{"Image prod/node", "spec.import", "make managementPolicy unmanaged"},
		},
		"a filter for everything": {
			`{imageRef: {name: node}}`, "managementPolicy: unmanaged\nimport: {filter: {}}",
			[]string{"Image prod/node", "spec.import.filter", "would match everything"},
		},
		"our tags": {
			`{imageRef: {name: node}}`, fmt.Sprintf(made, "", `, tags: ["fairlead.dev:fleet=x"]`),
			[]string{"Image prod/node", "spec.resource.tags[0]", "say whose the image is"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decode.New("f", api.Kinds()).Decode("o", overlay(tc.image, jumpImage(), orc("node", tc.node)))
			if len(problems) != 1 {
				t.Fatalf("problems = %v, want one", problems)
			}
			for _, word := range tc.want {
				if text := problems[0].String(); !strings.Contains(text, word) {
					t.Errorf("problem = %s\nwant it to say %q", text, word)
				}
			}
		})
	}
}

// TestImageKind: every field that the resource controller has, is known.
func TestImageKind(t *testing.T) {
	c := one(t, overlay(`{imageRef: {name: node}}`, jumpImage(), orc("node", `
managementPolicy: managed
managedOptions: {onDelete: detach}
resource:
  name: node-1
  protected: true
  tags: [b, a]
  visibility: private
  properties:
    architecture: x86_64
    hypervisorType: qemu
    minDiskGB: 10
    minMemoryMB: 512
    operatingSystem: {distro: ubuntu, version: "24.04"}
    hardware: {cpuSockets: 1, cpuCores: 2, cpuThreads: 1, cpuPolicy: shared, cpuThreadPolicy: prefer, cdromBus: scsi, diskBus: virtio, scsiModel: virtio-scsi, vifModel: virtio, rngModel: virtio, qemuGuestAgent: true}
  content:
    containerFormat: bare
    diskFormat: qcow2
    download:
      url: https://images.test/node.qcow2
      hash: {algorithm: md5, value: 0c839612eb3f2469420f2ccae990827f}`)))
	for _, o := range c.Companions {
		if o.Name != "node" {
			continue
		}
		s, err := api.ReadImage(o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff([]string{"a", "b"}, s.Resource.Tags); diff != "" {
			t.Error(diff)
		}
		// They are on servers and images: another value makes all images anew.
		if s.Essence() != "bfa743b8b897d0bb344e" || s.Key() != "b6ba4e59922f91e167f6" {
			t.Errorf("essence %s, key %s", s.Essence(), s.Key())
		}
		return
	}
	t.Error("the Image is no companion")
}

// TestImageRefs: each of several references is resolved, in both versions.
func TestImageRefs(t *testing.T) {
	objects := overlay(`{imageRef: {name: node}}`, jumpImage(), orc("node", "managementPolicy: unmanaged\nimport: {id: "+fromID+"}"))
	for i := range objects {
		text := string(objects[i].YAML)
		if strings.Contains(text, "kind: OpenStackMachineTemplate") {
			text = strings.ReplaceAll(text, "infrastructure.cluster.x-k8s.io/v1beta2", "infrastructure.cluster.x-k8s.io/v1beta1")
			objects[i].YAML = []byte(strings.ReplaceAll(text, "flavor: {filter: {name: small}}", "flavor: small"))
		}
	}
	m, err := api.ReadMachine(one(t, objects).ControlPlane.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	if m.Image.ID == nil || *m.Image.ID != fromID {
		t.Errorf("image = %+v", m.Image)
	}
}
