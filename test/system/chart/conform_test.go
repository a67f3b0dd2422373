package chart

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"fairlead.dev/test/lab/kube"
)

// Each golden file of the chart conforms to the schemas of the server, in which
// no field is unknown.
func TestKubeconform(t *testing.T) {
	kubeconform := program(t, "kubeconform")
	k := kube.Start(t)
	addForeign(t, k)
	schemas := writeSchemas(t, k)
	golden, err := filepath.Glob(values + "*.golden")
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	conforms := func(files ...string) (string, error) {
		args := []string{"-summary", "-schema-location", filepath.Join(schemas, "{{ .Group }}_{{ .ResourceAPIVersion }}_{{ .ResourceKind }}.json")}
		out, err := exec.CommandContext(t.Context(), kubeconform, append(args, files...)...).CombinedOutput()
		return string(out), err
	}
	out, err := conforms(golden...)
	if err != nil || !strings.Contains(out, "Invalid: 0, Errors: 0, Skipped: 0") {
		t.Errorf("%v: %s", err, out)
	}

	// What is wrong is found, so that the above means something.
	for name, edit := range map[string][2]string{
		"an unknown field":   {"automountServiceAccountToken: true", "automountServiceToken: true"},
		"a field's type":     {"replicas: 1", "replicas: one"},
		"a field of a field": {"readOnlyRootFilesystem: true", "readOnlyRoot: true"},
	} {
		b, err := os.ReadFile(values + "minimal.golden")
		if err != nil {
			t.Fatal(err)
		}
		wrong := strings.Replace(string(b), edit[0], edit[1], 1)
		if wrong == string(b) {
			t.Fatalf("%s: there is no %s in the golden file", name, edit[0])
		}
		file := filepath.Join(t.TempDir(), "wrong.yaml")
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := conforms(file); err == nil {
			t.Errorf("%s passes: %s", name, out)
		}
	}
}

// writeSchemas writes what the server says of its kinds as kubeconform reads it,
// a file each, and returns the folder.
func writeSchemas(t *testing.T, k *kube.Server) string {
	t.Helper()
	var api struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	const monitors = "com.coreos.monitoring.v1.ServiceMonitor"
	eventually(t, "the server tells of the APIs that were added", func() bool {
		b, err := kubernetes.NewForConfigOrDie(k.Config).RESTClient().Get().AbsPath("/openapi/v2").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &api); err != nil {
			t.Fatal(err)
		}
		return api.Definitions[monitors] != nil
	})
	dir := t.TempDir()
	write := func(name string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, d := range api.Definitions {
		tighten(d)
		kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
		for _, kind := range kinds {
			gvk := kind.(map[string]any)
			group, version := gvk["group"].(string), gvk["version"].(string)
			if group == "" {
				group = version // as kubeconform has it
			}
			write(group+"_"+version+"_"+strings.ToLower(gvk["kind"].(string))+".json", map[string]any{"$ref": "definitions.json#/definitions/" + name})
		}
	}
	write("definitions.json", map[string]any{"definitions": api.Definitions})
	return dir
}

// tighten lets no unknown field pass below s, and says in JSON Schema what
// Kubernetes says in formats.
func tighten(s map[string]any) {
	if s["format"] == "int-or-string" || s["x-kubernetes-int-or-string"] == true {
		clear(s)
		s["type"] = []any{"integer", "string"}
		return
	}
	delete(s, "format")
	if properties, ok := s["properties"].(map[string]any); ok {
		if s["additionalProperties"] == nil && s["x-kubernetes-preserve-unknown-fields"] == nil {
			s["additionalProperties"] = false
		}
		for p := range maps.Values(properties) {
			tighten(p.(map[string]any))
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := s[key].(map[string]any); ok {
			tighten(below)
		}
	}
}
