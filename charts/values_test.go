package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Values that cannot be meant are refused, by a message that says which and why.
func TestRefusedValues(t *testing.T) {
	for name, tc := range map[string]struct {
		set  string
		want string
	}{
		"no image":                  {"image.repository=", "image.repository is empty"},
		"tag of nobody":             {"image.tag=", "image.tag is empty, and this chart is a folder of the source code"},
		"no source":                 {"source.url=", "source.url is empty"},
		"unknown key":               {"replica=2", "additional properties 'replica' not allowed"},
		"unknown key inside":        {"agent.intervall=1m", "additional properties 'intervall' not allowed"},
		"no number":                 {"replicas=two", "replicas"},
		"no duration":               {"agent.interval=30", "agent/interval"},
		"no log level":              {"agent.logLevel=verbose", "'debug', 'info', 'warn', 'error'"},
		"no pull policy":            {"image.pullPolicy=Sometimes", "image/pullPolicy"},
		"tag in the repository":     {"image.repository=x/y:z", "image/repository"},
		"digest":                    {"image.digest=sha256:short", "image/digest"},
		"a folder as a source":      {"source.url=./fleet", "source/url"},
		"a password in the URL":     {"source.url=https://me:secret@git.example.com/f.git", "source.url holds a password"},
		"and of the status":         {"status.repository=https://me:secret@git.example.com/f.git", "status.repository holds a password"},
		"a token in the URL":        {"source.url=https://secret@git.example.com/f.git", "source.url holds a user name or a token"},
		"and in that of status":     {"status.repository=https://secret@git.example.com/f.git", "status.repository holds a user name or a token"},
		"some namespaces and all":   {"rbac.namespaces={a},rbac.allNamespaces=true", "are both set"},
		"a token in clear":          {"metrics.token.existingSecret=t", "metrics.token.existingSecret without metrics.tls.existingSecret"},
		"clients without TLS":       {"metrics.tls.clients=true", "metrics.tls.clients without metrics.tls.existingSecret"},
		"open webhook":              {"webhook.enabled=true", "webhook.enabled without webhook.existingSecret"},
		"open autoscaler":           {"autoscaler.enabled=true", "autoscaler.enabled without autoscaler.existingSecret"},
		"keys and no signature":     {"status.requestKeys.existingSecret=k", "status.requestKeys without status.signing"},
		"ingress to nothing":        {"webhook.ingress.enabled=true", "enable the webhook, or disable its ingress and route"},
		"ingress without a host":    {"webhook.enabled=true,webhook.existingSecret=s,webhook.ingress.enabled=true", "webhook.ingress.host is empty"},
		"route without a gateway":   {"webhook.enabled=true,webhook.existingSecret=s,webhook.httpRoute.enabled=true", "webhook.httpRoute.parentRefs is empty"},
		"no Gateway API":            {"webhook.enabled=true,webhook.existingSecret=s,webhook.httpRoute.enabled=true,webhook.httpRoute.parentRefs[0].name=g", "needs the API gateway.networking.k8s.io/v1"},
		"no Prometheus operator":    {"metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.enabled needs the API monitoring.coreos.com/v1"},
		"nor for rules":             {"metrics.prometheusRule.enabled=true", "metrics.prometheusRule.enabled needs the API"},
		"egress without API":        {"networkPolicy.enabled=true,networkPolicy.egress.enabled=true", "networkPolicy.egress.apiServer.cidrs is empty"},
		"egress to nothing":         {"networkPolicy.enabled=true,networkPolicy.egress.enabled=true,networkPolicy.egress.apiServer.cidrs={10.0.0.1/32}", "networkPolicy.egress.rules is empty"},
		"CIDR":                      {"networkPolicy.egress.apiServer.cidrs={kubernetes}", "networkPolicy/egress/apiServer/cidrs/0"},
		"shards":                    {"shards=4,replicas=2", "Remove shards from the values"},
		"forge that is not planned": {"forge.kind=azure", `forge.kind is "azure", whose pull requests are not planned: remove forge from the values`},
		"forge of one company":      {"forge.kind=bitbucket", `forge.kind is "bitbucket", whose pull requests are not planned`},
		"forge of that company":     {"forge.kind=bitbucket-data-center", `forge.kind is "bitbucket-data-center", whose pull requests are not planned`},
		"no forge":                  {"forge.kind=gitlub", `forge.kind is "gitlub": must be one of gitea, github, gitlab`},
		"argument without a dash":   {"extraArgs={--openstack-rate,slow}", `extraArgs holds "slow"`},
		"namespace twice":           {"rbac.namespaces={a,a}", "rbac/namespaces"},
		"namespace that cannot be":  {"rbac.namespaces={A_b}", "rbac/namespaces/0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, err := template(t, "--values", "testdata/minimal.values.yaml", "--set", tc.set)
			if err == nil || !strings.Contains(errs, tc.want) {
				t.Errorf("--set %s: %v\n%s\nwant a refusal that says %q", tc.set, err, errs, tc.want)
			}
			if strings.Contains(errs, "secret@") {
				t.Error("the refusal shows the password")
			}
		})
	}
}

// A chart above may have this one under a condition and share values.
func TestAsAPartOfAnotherChart(t *testing.T) {
	if _, errs, err := template(t, "--values", "testdata/minimal.values.yaml", "--set", "enabled=true,global.site=north"); err != nil {
		t.Error(errs)
	}
}

// A value of values.yaml, with the comment above it.
type value struct{ path, initial, comment string }

// values.yaml, values.schema.json and README.md say the same.
func TestValuesAreDocumented(t *testing.T) {
	content, err := os.ReadFile("fairlead/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		t.Fatal(err)
	}
	values := valuesOf(t, root.Content[0], "")

	var schema node
	content, err = os.ReadFile("fairlead/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	described := make(map[string]string)
	schema.walk(t, "", described)
	for _, ofCharts := range []string{"global", "enabled"} { // of a chart above
		delete(described, ofCharts)
	}
	for _, v := range values {
		if d, ok := described[v.path]; !ok || d != v.comment {
			t.Errorf("%s: values.yaml says %q, values.schema.json %q", v.path, v.comment, d)
		}
	}
	for path := range described {
		if !slices.ContainsFunc(values, func(v value) bool { return v.path == path || strings.HasPrefix(path, v.path+".") }) {
			t.Errorf("values.schema.json has %s, values.yaml does not", path)
		}
	}
	readme(t, values)
}

// valuesOf returns the values below n that have a comment. Each that holds no
// others must have one.
func valuesOf(t *testing.T, n *yaml.Node, above string) (all []value) {
	t.Helper()
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, below := n.Content[i], n.Content[i+1]
		path := strings.TrimPrefix(above+"."+key.Value, ".")
		lines := strings.Split(key.HeadComment, "\n\n")
		comment := strings.Join(strings.Fields(strings.ReplaceAll(lines[len(lines)-1], "#", " ")), " ")
		switch {
		case comment != "":
			initial, err := json.Marshal(plain(t, below))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, value{path, string(initial), comment})
		case below.Kind == yaml.MappingNode && len(below.Content) > 0:
			all = append(all, valuesOf(t, below, path)...)
		default:
			t.Errorf("values.yaml: %s has no comment", path)
		}
	}
	return all
}

func plain(t *testing.T, n *yaml.Node) (v any) {
	t.Helper()
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// node is a part of values.schema.json.
type node struct {
	Type        any             `json:"type"`
	Description string          `json:"description"`
	Properties  map[string]node `json:"properties"`
	Additional  json.RawMessage `json:"additionalProperties"`
}

func (n node) walk(t *testing.T, path string, described map[string]string) {
	t.Helper()
	if n.Description != "" {
		described[path] = n.Description
	}
	if len(n.Properties) > 0 && string(n.Additional) != "false" {
		t.Errorf("values.schema.json: %q lets unknown keys pass", path)
	}
	for key, below := range n.Properties {
		below.walk(t, strings.TrimPrefix(path+"."+key, "."), described)
	}
}

const begin, end = "<!-- values: go test ./charts -update -->\n", "<!-- end -->\n"

func readme(t *testing.T, values []value) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| value | default | |\n|---|---|---|\n")
	for _, v := range values {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v.path, v.initial, strings.ReplaceAll(v.comment, "|", "\\|"))
	}
	const file = "fairlead/README.md"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table between %q and %q", file, begin, end)
	}
	golden(t, file, before+begin+b.String()+end+after)
}
