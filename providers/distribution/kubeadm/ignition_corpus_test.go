package kubeadm_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/needs"
)

// The Flatcar templates of other projects give configs that Ignition takes, with
// the drop-ins of kubeadm.service and the commands that fill in kubeadm.yml.
func TestIgnitionCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(needs.Corpus(t, "capo", "templates"), "cluster-template-flatcar*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	variable := regexp.MustCompile(`(\$?)\$\{(\w+)[^}]*\}`)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		filled := variable.ReplaceAllStringFunc(string(raw), func(s string) string {
			if strings.HasPrefix(s, "$$") {
				return s[1:]
			}
			if strings.Contains(s, ":=true") {
				return "true"
			}
			return "v1.35.0"
		})
		seen := 0
		for doc := range strings.SplitSeq(filled, "\n---\n") {
			var o struct {
				Kind string
				Spec struct {
					KubeadmConfigSpec bootstrapv1.KubeadmConfigSpec
					Template          struct {
						Spec bootstrapv1.KubeadmConfigSpec
					}
				}
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				continue // kinds of the provider
			}
			spec, joins := o.Spec.KubeadmConfigSpec, []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane}
			switch o.Kind {
			case "KubeadmControlPlane":
			case "KubeadmConfigTemplate":
				spec, joins = o.Spec.Template.Spec, []fleet.Join{fleet.JoinWorker}
			default:
				continue
			}
			for _, join := range joins {
				seen++
				c := ignite(t, input(t, join, "v1.35.0", spec))
				var unit, dropin bool
				for _, u := range c.Systemd.Units {
					if u.Name == "kubeadm.service" {
						unit = u.Contents != nil && *u.Enabled
						dropin = len(u.Dropins) == 1 && strings.Contains(*u.Dropins[0].Contents, "EnvironmentFile=/run/metadata/flatcar")
					}
				}
				if !unit || !dropin {
					t.Errorf("%s %s: unit %v, drop-in %v", filepath.Base(file), join, unit, dropin)
				}
				if yml := igniteFile(t, c, "/etc/kubeadm.yml"); !strings.Contains(yml, "name: '${COREOS_OPENSTACK_HOSTNAME}'") {
					t.Errorf("%s %s: kubeadm.yml:\n%s", filepath.Base(file), join, yml)
				}
			}
		}
		if seen != 3 {
			t.Errorf("%s: %d machines", file, seen)
		}
	}
}
