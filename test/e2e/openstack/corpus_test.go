package openstack_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/run/needs"
)

// corpusTemplates are the templates of CAPO's releases that a fleet takes as
// they are, with the number of control-plane machines that they have.
var corpusTemplates = []struct {
	name, image string
	cp          int
}{
	{"cluster-template", "ubuntu", 1},
	{"cluster-template-capi-v1beta1", "ubuntu", 1},
	{"cluster-template-without-lb", "ubuntu", 1},
	{"cluster-template-flatcar", "flatcar", 1},
	{"cluster-template-flatcar-sysext", "flatcar", 1},
}

// TestCorpus: the cluster templates of the OpenStack provider of Cluster API
// provision unchanged, with values for their variables.
func TestCorpus(t *testing.T) {
	dir := needs.Corpus(t, "capo", "templates")
	w := newWorld(t)
	h := w.newShip("corpus")
	values := func(c cluster, image string) string {
		var b strings.Builder
		b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: values\n  annotations:\n    fairlead.dev/substitute: \"true\"\ndata:\n")
		for name, value := range map[string]string{
			"CLUSTER_NAME": c.Name, "KUBERNETES_VERSION": older,
			"CONTROL_PLANE_MACHINE_COUNT": fmt.Sprint(c.CP), "WORKER_MACHINE_COUNT": fmt.Sprint(c.Workers),
			"OPENSTACK_CLOUD": "openstack", "OPENSTACK_CLOUD_YAML_B64": base64.StdEncoding.EncodeToString(w.cloudsYAML()),
			"OPENSTACK_CLOUD_CACERT_B64": base64.StdEncoding.EncodeToString([]byte("\n")), // of who has none
			"OPENSTACK_DNS_NAMESERVERS":  "9.9.9.9", "OPENSTACK_EXTERNAL_NETWORK_ID": w.publicNetwork(),
			"OPENSTACK_FAILURE_DOMAIN": "az1", "OPENSTACK_SSH_KEY_NAME": "ops",
			"OPENSTACK_CONTROL_PLANE_MACHINE_FLAVOR": "m1.tiny", "OPENSTACK_NODE_MACHINE_FLAVOR": "m1.tiny",
			"OPENSTACK_IMAGE_NAME": image, "OPENSTACK_FLATCAR_IMAGE_NAME": image, "FLATCAR_IMAGE_NAME": image,
			"OPENSTACK_IMAGE_NAME_UPGRADE_FROM": image,
		} {
			fmt.Fprintf(&b, "  %s: %q\n", name, value)
		}
		return b.String()
	}
	var all []cluster
	for _, x := range corpusTemplates {
		text, err := os.ReadFile(filepath.Join(dir, x.name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		c := cluster{Name: "c" + strings.TrimPrefix(x.name, "cluster-template"), CP: x.cp, Workers: 1}
		overlay := filepath.Join("clusters", c.namespace(), c.Name)
		h.repo.write(filepath.Join(overlay, "template.yaml"), string(text))
		h.repo.write(filepath.Join(overlay, "values.yaml"), values(c, x.image))
		h.repo.write(filepath.Join(overlay, "kustomization.yaml"),
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: prod\nresources:\n- template.yaml\n- values.yaml\n")
		all = append(all, c)
	}
	h.repo.push("templates of others")
	h.waitComplete(all...)
	for _, c := range all {
		h.repo.write(filepath.Join("clusters", c.namespace(), c.Name, "kustomization.yaml"),
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: prod\nresources:\n- template.yaml\n- values.yaml\n"+
				"patches:\n- target:\n    kind: Cluster\n  patch: |\n    - op: add\n      path: /metadata/annotations\n      value: {fairlead.dev/delete: \"true\"}\n")
	}
	h.repo.push("delete")
	for _, c := range all {
		h.waitDeleted(c)
	}
	w.wantNothingLeft()
}
