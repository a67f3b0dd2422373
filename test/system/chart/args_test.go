package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/providers/all"
)

// What the chart tells the agent are commands and flags that the program has,
// with values that they take.
func TestArgumentsAreFlagsOfTheAgent(t *testing.T) {
	golden, err := filepath.Glob(values + "*.golden")
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range golden {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			if !bytes.Contains(document, []byte("\nkind: Deployment\n")) {
				continue
			}
			found = true
			var d appsv1.Deployment
			if err := yaml.Unmarshal(document, &d); err != nil {
				t.Fatal(err)
			}
			command, rest, err := cli.New(cli.Program{Version: "v1.2.3", Built: wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}}, cli.Streams{}).Find(d.Spec.Template.Spec.Containers[0].Args)
			if err != nil || command.Name() != "agent" {
				t.Errorf("%s: the command is %v: %v", file, command, err)
				continue
			}
			if err := command.ParseFlags(rest); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			if left := command.Flags().Args(); len(left) > 0 {
				t.Errorf("%s: the agent takes no arguments such as %v", file, left)
			}
		}
		if !found {
			t.Errorf("%s has no Deployment", file)
		}
	}
}
