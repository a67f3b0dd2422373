package kubeadm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/needs"
)

// instanceData is what cloud-init knows of the machine that renders.
const instanceData = `{"ds":{"meta_data":{"hostname":"node-1","local-hostname":"node-1","zone":"a"}},"v1":{"local_hostname":"node-1"}}`

// renderCloudConfig runs cloud-init's own Jinja over user data. It skips the
// test where cloud-init is not installed.
func renderCloudConfig(t *testing.T, userData []byte) []byte {
	t.Helper()
	needs.Program(t, "cloud-init", "apt-get install cloud-init")
	dir := t.TempDir()
	data, file := filepath.Join(dir, "instance-data.json"), filepath.Join(dir, "user-data")
	for name, content := range map[string][]byte{data: []byte(instanceData), file: userData} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "cloud-init", "devel", "render", "-i", data, file)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("cloud-init devel render: %v\n%s", err, stderr.String())
	}
	return bytes.TrimPrefix(stdout.Bytes(), []byte("## template: jinja\n"))
}

var jinjaStatement = regexp.MustCompile(`\{%.*?%\}`)

func TestCloudInitAcceptsGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*-everything.yaml")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			userData, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rendered := filepath.Join(t.TempDir(), "rendered")
			if err := os.WriteFile(rendered, renderCloudConfig(t, userData), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), "cloud-init", "schema", "--config-file", rendered).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Valid cloud-config") {
				t.Errorf("cloud-init schema: %v\n%s", err, out)
			}
		})
	}
}

// The reader here is cloud-init's: Jinja, then PyYAML.
func TestCloudInitReadsHostileContent(t *testing.T) {
	hostile := map[string]string{
		"expression in double quotes": "host={{ ds.meta_data[\"local-hostname\"] }}\n",
		"expression in single quotes": "{{ ds.meta_data['local-hostname'] }}",
		"both quotes":                 "echo '{{ ds.meta_data[\"local-hostname\"] }}'",
		"trailing spaces":             "a  \nb \n\n\n",
		"leading spaces":              "  a\n b",
		"carriage returns":            "a\r\nb\r\n",
		"unicode":                     "ünï ☃ 🚢 \u2028 \u0085 \ufeff\n",
		"control":                     "\x00\x01\x1b[0m\x7f",
		"booleans":                    "on",
		"value":                       "=",
		"sexagesimal":                 "190:20:30",
		"merge":                       "<<",
		"date":                        "2026-11-21",
		"comment":                     "a # b",
		"mapping":                     "a: b",
		"document":                    "---\na\n...\n",
		"quotes":                      `'"''""\`,
		"tabs":                        "\ta\n\t\tb",
		"empty":                       "",
		"newline":                     "\n",
		"statement at the end":        "a\n{% if v1 %}b{% endif %}\n",
		"space control":               "{%- if v1 -%}a\nb{%- endif -%}\n",
		"raw":                         "{% raw %}${#a[@]} {{ b }}{% endraw %}\n",
	}
	want := map[string]string{}
	var spec bootstrapv1.KubeadmConfigSpec
	for name, content := range hostile {
		spec.Files = append(spec.Files, bootstrapv1.File{Path: "/" + name, Content: content})
		content = strings.ReplaceAll(content, `{{ ds.meta_data["local-hostname"] }}`, "node-1")
		content = jinjaStatement.ReplaceAllString(content, "")
		want["/"+name] = strings.ReplaceAll(content, `{{ ds.meta_data['local-hostname'] }}`, "node-1")
	}
	u, err := userData(input(t, fleet.JoinWorker, "v1.35.0", spec))
	if err != nil {
		t.Fatal(err)
	}
	// A join configuration for the worker stands among the files.
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c",
		"import json,sys,yaml; print(json.dumps({f['path']: f['content'] for f in yaml.safe_load(sys.stdin.buffer)['write_files']}))")
	cmd.Stdin = bytes.NewReader(renderCloudConfig(t, u.Content.Reveal()))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for path := range got {
		if strings.HasPrefix(path, "/run/") {
			delete(got, path)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("cloud-init reads other content (-want +got):\n%s", d)
	}
}
