package charts

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// TestPageGuide: what docs/guides/fleet/page.md says of oauth2-proxy and an Ingress fits together: the proxy
// leads to the Service that the values make, by the name that the page answers to, and the
// Ingress leads to the proxy. Without these values there is no page.
func TestPageGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/guides/fleet/page.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/guides/fleet/page.md has %d blocks of YAML, want the values and the Ingress", len(blocks))
	}
	base, err := os.ReadFile("testdata/minimal.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values, shown map[string]any
	var ingress networkingv1.Ingress
	for at, from := range map[any][]byte{&values: base, &shown: []byte(blocks[0][1]), &ingress: []byte(blocks[1][1])} {
		if err := yaml.UnmarshalStrict(from, at); err != nil {
			t.Fatalf("%v in\n%s", err, from)
		}
	}
	chart, err := loader.LoadDir(Name)
	if err != nil {
		t.Fatal(err)
	}
	without, err := rendered(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range without {
		if strings.Contains(file, "page-listen") || strings.Contains(file, "fairlead-page") {
			t.Errorf("%s has a page that nobody asked for", name)
		}
	}
	maps.Copy(values, shown)
	with, err := rendered(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	host := ingress.Spec.Rules[0].Host
	for file, want := range map[string]string{
		"services.yaml":      "name: fairlead-page",
		"deployment.yaml":    "--page-host=" + host,
		"networkpolicy.yaml": "app.kubernetes.io/name: oauth2-proxy",
	} {
		if !strings.Contains(with[Name+"/templates/"+file], want) {
			t.Errorf("%s does not have %q:\n%s", file, want, with[Name+"/templates/"+file])
		}
	}
	if !strings.Contains(string(text), "--upstream=http://fairlead-page.fairlead-system.svc/\n") {
		t.Error("the proxy leads elsewhere")
	}
	if to := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name; to != "oauth2-proxy" || ingress.Spec.TLS[0].Hosts[0] != host || ingress.Namespace != "fairlead-system" {
		t.Errorf("the Ingress leads to %s, with TLS for %v, in %s", to, ingress.Spec.TLS[0].Hosts, ingress.Namespace)
	}
}
