package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/run/needs"
)

// block is what a guide has between fences.
var block = regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$")

// docs/operations/install.md works as written, as far as a cluster without nodes goes.
func TestInstallGuide(t *testing.T) {
	needs.Program(t, "kubectl", "the guide uses it")
	text, err := os.ReadFile("../../../docs/operations/install.md")
	if err != nil {
		t.Fatal(err)
	}
	k := kube.Start(t, kube.Own())
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("identity.txt", "AGE-SECRET-KEY-1\n")
	if err := os.Symlink(program(t, "helm"), filepath.Join(dir, "helm")); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1.2.3", "v1.2.4"} {
		cmd := exec.CommandContext(t.Context(), "go", "run", "./charts/pack", "-version", version, "-out", filepath.Join(dir, "bin"))
		cmd.Dir = "../../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ran, pushed := 0, 0
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		language, content := b[1], b[2]
		if language == "yaml" {
			if strings.HasPrefix(content, "# values.yaml\n") {
				write("values.yaml", content)
			}
			continue
		}
		if strings.HasPrefix(content, "make ") { // TestImage and the chart packed above
			continue
		}
		// No controller makes pods here that could be waited for.
		content = regexp.MustCompile(`(?m)^kubectl .* rollout status .*$`).ReplaceAllString(content, "")
		content = strings.ReplaceAll(content, "--rollback-on-failure --timeout 10m", "")
		if strings.Contains(content, "oci://") {
			content = strings.TrimSpace(strings.ReplaceAll(content, "oci://registry.example.com/", "oci://"+registry(t)+"/")) + " --plain-http\n"
			pushed++
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", content)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig, "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir,
			"HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, content, out)
		}
		ran++
		if strings.HasPrefix(content, "kubectl create namespace prod") {
			d, err := kubernetes.NewForConfigOrDie(k.Config).AppsV1().Deployments("fairlead-system").Get(t.Context(), "fairlead", metav1.GetOptions{})
			if err != nil || d.Spec.Template.Spec.Containers[0].Image != "registry.example.com/platform/fairlead:v1.2.3" {
				t.Errorf("after the installation: %v, %v", d.Spec, err)
			}
		}
	}
	if ran < 7 || pushed < 2 {
		t.Errorf("%d blocks of the guide were run, %d of them with a registry", ran, pushed)
	}
}
