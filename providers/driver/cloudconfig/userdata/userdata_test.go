package userdata

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func metadata() Metadata {
	return Metadata{InstanceID: "0123456789abcdef", Name: "m-0", ProviderID: "hosts://pool/h0/0123456789abcdef", Pool: "pool", Host: "h0", Address: "10.0.0.1", FailureDomain: "rack1"}
}

func TestRead(t *testing.T) {
	const jinja = "## template: jinja\n#cloud-config\n"
	for name, c := range map[string]struct{ text, path, err string }{
		"Variable":     {text: jinja + "write_files: [{path: '/{{ ds.meta_data.provider_id }}', content: ''}]", path: "/hosts://pool/h0/0123456789abcdef"},
		"Hyphen":       {text: jinja + "write_files: [{path: \"/{{ ds.meta_data['local-hostname'] }}\", content: ''}]", path: "/m-0"},
		"Standard":     {text: jinja + "write_files: [{path: '/{{ v1.local_hostname }}/{{ instance_id }}/{{ local_hostname }}', content: ''}]", path: "/m-0/0123456789abcdef/m-0"},
		"Raw":          {text: jinja + "write_files: [{path: '/{% raw %}{{ x }}{% endraw %}', content: ''}]", path: "/{{ x }}"},
		"NoTemplate":   {text: "#cloud-config\nwrite_files: [{path: '/{{ x }}', content: ''}]", path: "/{{ x }}"},
		"Unknown":      {text: jinja + "write_files: [{path: '/{{ ds.meta_data.zone }}', content: ''}]", err: "ds.meta_data.zone"},
		"Statement":    {text: jinja + "{% if x %}{% endif %}", err: "more than a variable"},
		"Filter":       {text: jinja + "runcmd: ['{{ x | upper }}']", err: "more than a variable"},
		"NoConfig":     {text: "#!/bin/sh\n", err: "no cloud-config"},
		"NoYAML":       {text: "#cloud-config\n\tsecret", err: "no YAML"},
		"Module":       {text: "#cloud-config\napt: {}\n", err: "has apt"},
		"RelativePath": {text: "#cloud-config\nwrite_files: [{path: etc/x, content: ''}]", err: "not absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read([]byte(c.text), metadata())
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("read = %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil || got.WriteFiles[0].Path != c.path {
				t.Errorf("read = %+v, %v, want the path %q", got, err, c.path)
			}
		})
	}
}

// TestDocument: cloud-init gets the same variables under the same names.
func TestDocument(t *testing.T) {
	got := make(map[string]string)
	if err := yaml.UnmarshalStrict(metadata().Document(), &got); err != nil {
		t.Fatal(err)
	}
	if got["instance-id"] != "0123456789abcdef" || got["local-hostname"] != "m-0" {
		t.Errorf("meta-data = %q, want the names that cloud-init looks for", got)
	}
	for name, value := range metadata().jinja() {
		name, ok := strings.CutPrefix(name, "ds.meta_data.")
		if ok && got[name] != value && got[strings.ReplaceAll(name, "_", "-")] != value {
			t.Errorf("meta-data has no %s: %q", name, got)
		}
	}
}

func TestOnlyCloudInit(t *testing.T) {
	got, err := OnlyCloudInit([]byte("#cloud-config\nmounts: [[a, b]]\nntp: {servers: [a]}\nruncmd: [a]\n"), metadata())
	if want := []string{"ntp", "mounts"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("OnlyCloudInit = %q, %v, want %q", got, err, want)
	}
}

func TestScriptRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, err string }{
		"Encoding":    {"write_files: [{path: /a, encoding: rot13, content: ''}]", `no encoding "rot13"`},
		"Base64":      {"write_files: [{path: /a, encoding: b64, content: '%'}]", "not in b64"},
		"Gzip":        {"write_files: [{path: /a, encoding: gz+b64, content: 'YQ=='}]", "not in gz+b64"},
		"Permissions": {"write_files: [{path: /a, permissions: rwx, content: ''}]", "no octal number"},
		"Command":     {"runcmd: [{a: b}]", "runcmd[0]"},
		"User":        {"users: [root]", "users[0]"},
		"UserName":    {"users: [{name: 'a:b'}]", "users[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Script([]byte("#cloud-config\n"+c.text), metadata())
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Script = %v, want an error with %q", err, c.err)
			}
		})
	}
}
