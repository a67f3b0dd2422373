package inmemory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// ignition returns c as an Ignition config: its commands as a script that ends
// with kubeadm, and kubeadm's configuration where Ignition has it.
func (c *config) ignition(drop string) string {
	var files []string
	add := func(path, mode, content string) {
		text, _ := json.Marshal("data:;base64," + b64(content))
		octal := 0
		_, _ = fmt.Sscanf(mode, "%o", &octal)
		files = append(files, fmt.Sprintf(`{"path":%q,"mode":%d,"contents":{"source":%s}}`, path, octal, text))
	}
	for _, path := range c.order {
		if strings.HasPrefix(path, pkiPath) {
			add(path, c.modes[path], c.files[path])
			continue
		}
		add("/etc/kubeadm.yml", "0640", strings.ReplaceAll(c.files[path], "{{ ds.meta_data.local_hostname }}", "${COREOS_OPENSTACK_HOSTNAME}"))
	}
	kubeadm := strings.Fields(c.commands[0])[1]
	script := append([]string{"#!/bin/bash", "set -e"}, c.commands[1:]...)
	add("/etc/kubeadm.sh", "0700", strings.Join(append(script, "kubeadm "+kubeadm+" --config /etc/kubeadm.yml"), "\n"))
	unit, _ := json.Marshal("[Unit]\nConditionPathExists=/etc/kubeadm.yml\n[Service]\nExecStart=/bin/bash /etc/kubeadm.sh\n[Install]\nWantedBy=multi-user.target\n")
	drops, _ := json.Marshal([]map[string]string{{"name": "10.conf", "contents": drop}})
	return fmt.Sprintf(`{"ignition":{"version":"3.3.0"},"storage":{"files":[%s]},"systemd":{"units":[{"name":"kubeadm.service","enabled":true,"contents":%s,"dropins":%s}]}}`,
		strings.Join(files, ","), unit, drops)
}

func (l *lab) bootIgnition(name, data string) VM {
	l.t.Helper()
	v, err := l.CreateVM(l.t.Context(), VMSpec{Name: name, Network: l.network.ID, Tags: labTags, Version: "v1.34.1", UserData: []byte(data), Timing: l.timing})
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

const agentDrop = "[Service]\nEnvironmentFile=/run/metadata/flatcar\n"

// substitute are the commands that people fill in kubeadm.yml with.
func substitute() []string {
	return []string{
		"export COREOS_OPENSTACK_HOSTNAME=${COREOS_OPENSTACK_HOSTNAME%.*}",
		"envsubst < /etc/kubeadm.yml > /etc/kubeadm.yml.tmp", "mv /etc/kubeadm.yml.tmp /etc/kubeadm.yml",
	}
}

// TestBootIgnition: a machine with an Ignition config makes a cluster, and its
// Node has the name that the commands find out.
func TestBootIgnition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		c := l.pki.initConfig(l.network.Endpoint)
		c.commands = append(c.commands, substitute()...)
		v := l.bootIgnition("cp-0", c.ignition(agentDrop))
		synctest.Wait()
		if got := l.ready("cp-0"); got != "True" {
			t.Fatalf("ready = %s; console: %s", got, l.machine(v.ID).Message)
		}
		l.token(nil)
		j := l.pki.joinConfig(l.network.Endpoint, true)
		j.commands = append(j.commands, substitute()...)
		w := l.bootIgnition("cp-1", j.ignition(agentDrop))
		synctest.Wait()
		if got := l.ready("cp-1"); got != "True" {
			t.Fatalf("ready = %s; console: %s", got, l.machine(w.ID).Message)
		}
	})
}

// TestWrongIgnition: what would not boot there does not boot here.
func TestWrongIgnition(t *testing.T) {
	for name, tc := range map[string]struct {
		drop   string
		spoil  func(*config)
		change func(string) string
		want   string // of the console
		node   string // that comes up all the same, under a wrong name
	}{
		"version 2":      {change: func(s string) string { return strings.Replace(s, "3.3.0", "2.3.0", 1) }, want: `unsupported config version "2.3.0"`},
		"no JSON":        {change: func(s string) string { return s[:len(s)-1] }, want: "ignition: failed to fetch config"},
		"unit is off":    {change: func(s string) string { return strings.Replace(s, `"enabled":true`, `"enabled":false`, 1) }, want: "no unit runs a script"},
		"unit is masked": {change: func(s string) string { return strings.Replace(s, `"enabled":true`, `"enabled":true,"mask":true`, 1) }, want: "no unit runs a script"},
		"no script": {change: func(s string) string {
			return strings.Replace(s, `"path":"/etc/kubeadm.sh"`, `"path":"/etc/other.sh"`, 1)
		}, want: "no unit runs a script"},
		"condition": {change: func(s string) string {
			return strings.Replace(s, "ConditionPathExists=/etc/kubeadm.yml", "ConditionPathExists=/etc/x", 1)
		}, want: "no unit runs a script"},
		"broken data":   {change: func(s string) string { return strings.Replace(s, "data:;base64,", "data:;base64,%25", 1) }, want: "illegal base64"},
		"moves nothing": {spoil: func(c *config) { c.commands = append(c.commands, "mv /etc/x /etc/y") }, want: "mv: cannot stat '/etc/x'"},
		"reads nothing": {spoil: func(c *config) { c.commands = append(c.commands, "envsubst < /etc/x > /etc/y") }, want: "/etc/x: No such file"},
		"domain stays": {
			drop: agentDrop, spoil: func(c *config) { c.commands = append(c.commands, substitute()[1:]...) }, node: "cp-0.novalocal",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, CloudOptions{})
				c := l.pki.initConfig(l.network.Endpoint)
				if tc.spoil != nil {
					tc.spoil(c)
				}
				data := c.ignition(tc.drop)
				if tc.change != nil {
					data = tc.change(data)
				}
				v := l.bootIgnition("cp-0", data)
				synctest.Wait()
				if got := l.machine(v.ID).Message; !strings.Contains(got, tc.want) {
					t.Errorf("console = %q, want it to say %q", got, tc.want)
				}
				if l.ready("cp-0") != "absent" {
					t.Error("it became a Node of its own name")
				}
				if tc.node != "" && l.ready(tc.node) != "True" {
					t.Errorf("%s is %s", tc.node, l.ready(tc.node))
				}
			})
		})
	}
}

func TestReadIgnition(t *testing.T) {
	d, err := readIgnition([]byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[
{"path":"/plain","mode":384,"contents":{"source":"data:,a%20b%2Bc%0A"}},
{"path":"/twice","contents":{"source":"data:,a"},"append":[{"source":"data:,b"}]},
{"path":"/gzip","contents":{"compression":"gzip","source":"data:;base64,H4sIAAAAAAAA/8tIzcnJBwCGphA2BQAAAA=="}},
{"path":"/far","contents":{"source":"https://example.com/"}}]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for path, f := range d.files {
		got[path] = fmt.Sprintf("%s %#o", f.content, f.mode)
	}
	want := map[string]string{"/plain": "a b+c\n 0600", "/twice": "ab 0644", "/gzip": "hello 0644", "/far": " 0644"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files: %s", diff)
	}
}
