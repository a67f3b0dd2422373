package cloudconfig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/driver/cloudconfig"
)

const template = "## template: jinja\n#cloud-config\n"

func variables() map[string]string {
	return map[string]string{"v1.local_hostname": "m-0", "ds.meta_data.local_hostname": "m-1"}
}

// TestRead: what a template becomes, for both ways of reading.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ text, lenient, strict string }{
		"plain":     {"#cloud-config\nruncmd: ['{{ x }}']", "{{ x }}", ""},
		"variable":  {template + "runcmd: ['{{ v1.local_hostname }}']", "m-0", ""},
		"spaces":    {template + "runcmd: ['a {{- v1.local_hostname -}} b']", "a m-0 b", ""},
		"hyphen":    {template + "runcmd: [\"{{ ds.meta_data['local-hostname'] }}\"]", "m-1", ""},
		"raw":       {template + "runcmd: ['{% raw %}{{ x }}{% endraw %}']", "{{ x }}", ""},
		"raw block": {template + "runcmd:\n- |\n  {% raw %}\n  {{ x }}\n  {% endraw %}\n  y", "{{ x }}\ny", ""},
		"missing":   {template + "runcmd: ['{{ ds.meta_data.moon }}']", "CI_MISSING_JINJA_VAR/moon", "asks for {{ ds.meta_data.moon }}"},
		"statement": {template + "{% if x %}{% endif %}", "error: more than a variable", "more than a variable"},
		"comment":   {template + "runcmd: ['${#a[@]}']", "error: more than a variable", "more than a variable"},
		"filter":    {template + "runcmd: ['{{ x | upper }}']", "error: more than a variable", "more than a variable"},
		"script":    {"#!/bin/sh\n", "error: no cloud-config", "no cloud-config"},
		"no YAML":   {"#cloud-config\n\tsecret", "error: no YAML", "no YAML"},
		"module":    {"#cloud-config\napt: {}\nruncmd: [a]", "a", "has apt"},
		"field":     {"#cloud-config\nwrite_files: [{path: /a, defer: true}]\nruncmd: [a]", "a", "a field that is not supported"},
		"path":      {"#cloud-config\nwrite_files: [{path: etc/x}]\nruncmd: [a]", "a", "not absolute"},
		"list":      {"#cloud-config\nruncmd: [[ls, -l]]", "ls -l", ""},
		"map":       {"#cloud-config\nruncmd: [{a: b}]", "error: neither a string nor a list", "neither a string nor a list"},
	} {
		for _, strict := range []bool{false, true} {
			want := c.lenient
			if strict && c.strict != "" {
				want = "error: " + c.strict
			}
			got, err := line(cloudconfig.Reader{Variables: variables(), Strict: strict}, c.text)
			expected, fails := strings.CutPrefix(want, "error: ")
			switch {
			case fails && (err == nil || !strings.Contains(err.Error(), expected) || strings.Contains(err.Error(), "secret")):
				t.Errorf("%s, strict %t: %v, want an error with %q", name, strict, err, expected)
			case !fails && (err != nil || got != expected):
				t.Errorf("%s, strict %t: %q, %v, want %q", name, strict, got, err, expected)
			}
		}
	}
}

// line returns the first command of text.
func line(r cloudconfig.Reader, text string) (string, error) {
	c, err := r.Read([]byte(text))
	if err != nil {
		return "", err
	}
	return c.RunCmd[0].Line(func(word string) string { return word })
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]error{
		"":                     cloudconfig.ErrFormat,
		"## template: jinja":   cloudconfig.ErrFormat,
		template + "{% x %}":   cloudconfig.ErrTemplate,
		"#cloud-config\na: b:": cloudconfig.ErrYAML,
	} {
		for _, strict := range []bool{false, true} {
			if _, err := (cloudconfig.Reader{Strict: strict}).Read([]byte(text)); !errors.Is(err, want) {
				t.Errorf("reading %q, strict %t: %v, want %v", text, strict, err, want)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	const zipped = "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==" // "hello"
	for name, c := range map[string]struct{ file, want, err string }{
		"plain":            {"content: a", "-rw-r--r-- a", ""},
		"mode":             {"content: b, permissions: '0600'", "-rw------- b", ""},
		"mode with prefix": {"content: b, permissions: '0o600'", "-rw------- b", ""},
		"mode as number":   {"content: b, permissions: 0640", "-rw-r----- b", ""},
		"base64":           {"content: Ynl0ZXM=, encoding: b64", "-rw-r--r-- bytes", ""},
		"gzip":             {"content: " + zipped + ", encoding: GZIP+base64", "-rw-r--r-- hello", ""},
		"unknown encoding": {"content: a, encoding: rot13", "", `no encoding "rot13"`},
		"broken base64":    {"content: '%', encoding: base64", "", "not in base64"},
		"broken gzip":      {"content: YQ==, encoding: gz+b64", "", "not in gz+b64"},
		"mode in words":    {"content: a, permissions: rw", "", "no octal number"},
		"mode as list":     {"content: a, permissions: [6]", "", "no number"},
	} {
		got := cloudconfig.Files([]byte("write_files: [{path: /a, " + c.file + "}]"))
		if len(got) != 1 {
			t.Errorf("%s: %d files, want one", name, len(got))
			continue
		}
		content, err := got[0].Decoded()
		mode, err2 := got[0].Mode()
		err = errors.Join(err, err2)
		switch text := mode.String() + " " + string(content); {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want an error with %q", name, err, c.err)
		case c.err == "" && (err != nil || text != c.want):
			t.Errorf("%s: %q, %v, want %q", name, text, err, c.want)
		}
	}
}

func TestUsers(t *testing.T) {
	c, err := cloudconfig.Reader{Strict: true}.Read([]byte("#cloud-config\nusers: [default, {name: a}, {name: b, lock_passwd: false}]"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.NewUsers()
	no := false
	if d := cmp.Diff([]cloudconfig.User{{Name: "a"}, {Name: "b", LockPasswd: &no}}, got); d != "" || err != nil {
		t.Errorf("users: %v, %s", err, d)
	}
}
