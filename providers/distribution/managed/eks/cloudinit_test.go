package eks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/test/run/needs"
)

// python is that of the distribution, which has the modules of cloud-init.
const python = "/usr/bin/python3"

// TestCloudInitReadsTheParts: cloud-init renders the part that is for it, and passes over that of nodeadm.
func TestCloudInitReadsTheParts(t *testing.T) {
	needs.Program(t, "cloud-init", "apt-get install cloud-init")
	if err := exec.CommandContext(t.Context(), python, "-c", "import cloudinit").Run(); err != nil {
		t.Skip(err)
	}
	for name, content := range map[string]string{"ASCII": "a", "other characters": strings.Repeat("ü ☃ 🚢", 100)} {
		t.Run(name, func(t *testing.T) {
			in := input(pool(t, fmt.Sprintf(`{files: [{path: /etc/a, content: %q}], preNodeadmCommands: ["echo {{ v1.instance_id }}"], kubelet: {config: {maxPods: 58}}}`, content)))
			data, err := eks.Distribution{}.UserData(in)
			if err != nil {
				t.Fatal(err)
			}
			got := readByCloudInit(t, data.Content.Reveal())
			if d := cmp.Diff([]string{"application/node.eks.aws", "text/jinja2 handled"}, got.Parts); d != "" {
				t.Errorf("parts, -want +got:\n%s", d)
			}
			if c := got.Config; len(c) != 1 || len(c[0].RunCmd) != 1 || c[0].RunCmd[0] != "echo i-1" || len(c[0].Files) != 1 || c[0].Files[0].Content != content {
				t.Errorf("it reads %+v", c)
			}
		})
	}
}

// TestOtherCharacters: user data is ASCII, also if what is in it is not. That of before stays as it was.
func TestOtherCharacters(t *testing.T) {
	for content, encoded := range map[string]bool{"a": false, "ü ☃": true} {
		data, err := eks.Distribution{}.UserData(input(pool(t, `{files: [{path: /etc/a, content: "`+content+`"}]}`)))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data.Content.Reveal())
		if strings.ContainsFunc(text, func(r rune) bool { return r > 127 }) || strings.Contains(text, "\nContent-Transfer-Encoding: base64\n") != encoded || strings.Contains(text, "content: 'a'") == encoded {
			t.Errorf("it is\n%s", text)
		}
	}
}

// seen is what cloud-init reads.
type seen struct {
	Parts  []string
	Config []struct {
		RunCmd []string                         `json:"runcmd"`
		Files  []struct{ Path, Content string } `json:"write_files"`
	}
}

func readByCloudInit(t *testing.T, data []byte) (got seen) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "user-data"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/parts.py", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}
