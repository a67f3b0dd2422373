package kubeadm

import (
	"bytes"
	"encoding/base64"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	sigsyaml "sigs.k8s.io/yaml"

	"fairlead.dev/providers/distribution/cloudinit"
)

// hostile draws strings that YAML, Jinja or a shell could trip over.
func hostile() *rapid.Generator[string] {
	pieces := []string{
		"a", "b", " ", "  ", "\n", "\r\n", "\r", "\t", "'", `"`, `\`, "{{ x }}", "{{ x['y'] }}", `{{ x["y"] }}`, "{% if x %}", "{#", "#", ": ", "- ", "---\n", "...\n",
		"|", ">", "&a", "*a", "!!binary", "%", "@", "`", "~", "null", "yes", "0640", "1:30", "=", "<<", "\u0085", "\u2028", "\u2029", "\u00a0", "\ufeff", "\ufffe",
		"é", "☃", "🚢", "\x00", "\x1b", "\x7f", "\u009f",
	}
	return rapid.Custom(func(t *rapid.T) string {
		var s string
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces") {
			s += p
		}
		return s
	})
}

// whole draws those of them that are not refused.
func whole() *rapid.Generator[string] {
	return hostile().Filter(func(s string) bool { return !cloudinit.OpensComment(s) })
}

// What any reader of YAML, 1.1 or 1.2, finds is what was put in.
func TestPropertyTextSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := whole().Draw(t, "text")
		in := cloudinit.Config{
			WriteFiles: []cloudinit.File{{Path: cloudinit.Text(s), Content: cloudinit.Text(s)}},
			RunCmd:     []cloudinit.Text{cloudinit.Text(s), "after"},
			DiskSetup:  map[cloudinit.Text]cloudinit.Partitioning{cloudinit.Text(s): {Layout: true}},
			Mounts:     [][]cloudinit.Text{{cloudinit.Text(s), "after"}},
		}
		data, err := in.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for name, unmarshal := range map[string]func([]byte, any) error{
			"1.2": yaml.Unmarshal,
			"1.1": func(b []byte, v any) error { return sigsyaml.UnmarshalStrict(b, v) },
		} {
			var out struct {
				Files []struct {
					Path    string `json:"path"`
					Content string `json:"content"`
				} `json:"write_files" yaml:"write_files"`
				RunCmd    []string                  `json:"runcmd"`
				DiskSetup map[string]map[string]any `json:"disk_setup" yaml:"disk_setup"`
				Mounts    [][]string                `json:"mounts"`
			}
			if err := unmarshal(data, &out); err != nil {
				t.Fatalf("YAML %s: %v\n%s", name, err, data)
			}
			if out.Files[0].Path != s || out.Files[0].Content != s || out.RunCmd[0] != s || out.RunCmd[1] != "after" ||
				out.DiskSetup[s]["layout"] != true || out.Mounts[0][0] != s {
				t.Fatalf("YAML %s reads %+v, put in %q\n%s", name, out, s, data)
			}
		}
		again, err := in.Marshal()
		if err != nil || !bytes.Equal(data, again) {
			t.Fatalf("the same value gives other bytes: %v", err)
		}
	})
}

// kubeadm reads, from the file in the cloud-config, what was put in.
func TestPropertyKubeadmConfigSurvives(t *testing.T) {
	for _, s := range []string{"\t\n", " \n", "\n", "\n a", "  a\nb\n", "\u009f"} {
		checkKubeadmConfig(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { checkKubeadmConfig(t, whole().Draw(t, "text")) })
}

func checkKubeadmConfig(t rapid.TB, s string) {
	c, err := newConverter("v1.35.0")
	if err != nil {
		t.Fatal(err)
	}
	in := c.join(bootstrapv1.JoinConfiguration{NodeRegistration: bootstrapv1.NodeRegistrationOptions{
		Name: s, KubeletExtraArgs: []bootstrapv1.Arg{{Name: s, Value: &s}}, IgnorePreflightErrors: []string{s},
	}})
	var b bytes.Buffer
	if err := cloudinit.EncodeJSONAsYAML(&b, in); err != nil {
		t.Fatal(err)
	}
	data, err := cloudinit.Config{WriteFiles: []cloudinit.File{{Content: cloudinit.Text(b.String())}}}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var outer struct {
		Files []struct{ Content string } `yaml:"write_files"`
	}
	if err := yaml.Unmarshal(data, &outer); err != nil {
		t.Fatal(err)
	}
	var out joinConfiguration
	if err := sigsyaml.UnmarshalStrict([]byte(outer.Files[0].Content), &out); err != nil {
		t.Fatalf("%v\n%s", err, outer.Files[0].Content)
	}
	want := []any{map[string]any{"name": s, "value": s}}
	if d := cmp.Diff(want, out.NodeRegistration.KubeletExtraArgs); d != "" {
		t.Fatalf("arguments (-want +got):\n%s\n%s", d, outer.Files[0].Content)
	}
	if out.NodeRegistration.Name != s || out.NodeRegistration.IgnorePreflightErrors[0] != s {
		t.Fatalf("kubeadm reads %+v, put in %q", out.NodeRegistration, s)
	}
}

// Text with an expression either stands in the cloud-config as it was written,
// so that Jinja evaluates what the user wrote, or is refused.
func TestPropertyJinjaStaysOrIsRefused(t *testing.T) {
	expressions := []string{"{{ x }}", "{{ x['y'] }}", `{{ x["y"] }}`, `{{ x['y']["z"] }}`, "{% if x == 'y' %}", `{% if x == "\n" %}`}
	rapid.Check(t, func(t *rapid.T) {
		expression := rapid.SampledFrom(expressions).Draw(t, "expression")
		s := hostile().Draw(t, "before") + expression + hostile().Draw(t, "after")
		if cloudinit.BreaksJinja(s) || cloudinit.OpensComment(s) {
			return
		}
		data, err := cloudinit.Config{RunCmd: []cloudinit.Text{cloudinit.Text(s)}}.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte(expression)) {
			t.Fatalf("the expression %s of %q is changed:\n%s", expression, s, data)
		}
	})
}

func TestJinjaIsRefusedOnlyWhereItMustBe(t *testing.T) {
	for s, want := range map[string]bool{
		`echo {{ x["y"] }}`:              false,
		`echo '{{ x["y"] }}'`:            false,
		"{{ x['y'] }} {{ x[\"y\"] }}":    false,
		"a\n{{ x[\"y\"] }}\n":            false,
		"a \n{{ x['y'] }}\n":             false,
		"a \n{{ x.y }}\nb\r\n":           false,
		"a \n\"quoted\" {{ x.y }} \"b\"": false,
		"a \n{{ x[\"y\"] }}\n":           true,
		"a\r\n{% if x == \"y\" %}":       true,
		"a \n{{ x | join(\"\\n\") }}":    true,
		"a \n\"no expression\"":          false,
		"a\n{% if x == 'y' %}\n":         false,
		"a\n{% if x == \"y\" %}\n":       true,
	} {
		if got := cloudinit.BreaksJinja(s); got != want {
			t.Errorf("cloudinit.BreaksJinja(%q) is %v, want %v", s, got, want)
		}
	}
}

func TestOpensComment(t *testing.T) {
	for s, want := range map[string]bool{
		"a":                                  false,
		"${#a[@]}":                           true,
		"{# a #} b":                          false,
		"{# a #} ${#b}":                      true,
		"#} {#":                              true,
		"{#}":                                true,
		"{% raw %}${#a}{% endraw %}":         false,
		"{%- raw -%}\n${#a}\n{%- endraw -%}": false,
		"{% raw %}${#a}{% endraw %} ${#b}":   true,
		"{% raw %}${#a}":                     true,
	} {
		if got := cloudinit.OpensComment(s); got != want {
			t.Errorf("cloudinit.OpensComment(%q) is %v, want %v", s, got, want)
		}
	}
}

// Whatever the content and the encoding, the file that cloud-init writes is what the encoding says
// the content is. Content that is not in its encoding is refused.
func FuzzFileContent(f *testing.F) {
	f.Add("", []byte("plain\r\n \x00"))
	f.Add("", []byte{0xff, 0xfe})
	f.Add("base64", []byte("aGVsbG8="))
	f.Add("gzip", []byte{0x1f, 0x8b, 0x08, 0xff})
	f.Add("gzip+base64", []byte("H4sI"))
	f.Add("gzip+base64", []byte("H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="))
	f.Fuzz(func(t *testing.T, encoding string, content []byte) {
		e, c, err := encodeContent(bootstrapv1.Encoding(encoding), content)
		if err != nil {
			known := encoding == "" || encoding == "base64" || encoding == "gzip" || encoding == "gzip+base64"
			if known && utf8.Valid(content) && cloudinit.CheckEncoding(encoding, content) == nil && !cloudinit.HasJinja(string(content)) && !cloudinit.OpensComment(string(content)) {
				t.Fatalf("%q %q: %v", encoding, content, err)
			}
			return
		}
		data, err := cloudinit.Config{WriteFiles: []cloudinit.File{{Encoding: e, Content: c}}}.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Files []struct{ Encoding, Content string } `yaml:"write_files"`
		}
		if err := yaml.Unmarshal(data, &out); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		// What is left to undo after cloud-init undid base64 that was added here.
		got, left := []byte(out.Files[0].Content), out.Files[0].Encoding
		if left != encoding {
			if got, err = base64.StdEncoding.DecodeString(out.Files[0].Content); err != nil {
				t.Fatal(err)
			}
			left = map[string]string{"base64": "", "gzip+base64": "gzip"}[left]
		}
		if left != encoding || !bytes.Equal(got, content) {
			t.Fatalf("cloud-init reads %q %q, put in %q %q", left, got, encoding, content)
		}
	})
}
