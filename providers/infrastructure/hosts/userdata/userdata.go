// Package userdata turns the cloud-config of a machine into shell steps for a host:
// steps that hand it to the host's own cloud-init, or steps that do what it says
// where there is none. It reads what Fairlead's bootstrap provider writes, and
// refuses what it does not know.
package userdata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// Metadata are the variables of a machine, which user data names as
// {{ ds.meta_data.<name> }}.
type Metadata struct {
	InstanceID    string // of the claim: cloud-init runs once for each
	Name          string // of the machine and its Node
	ProviderID    fleet.ProviderID
	Pool, Host    string
	Address       string
	FailureDomain string
}

// NodeID is the provider id of a machine, in these variables.
const NodeID = "{{ ds.meta_data.provider_id }}"

// variables returns them by name.
func (m Metadata) variables() map[string]string {
	return map[string]string{
		"instance_id": m.InstanceID, "local_hostname": m.Name, "hostname": m.Name,
		"provider_id": string(m.ProviderID), "host_pool": m.Pool, "host_name": m.Host,
		"host_address": m.Address, "failure_domain": m.FailureDomain,
	}
}

// Document returns the meta-data of a NoCloud seed.
// Source: cloud-init, datasource NoCloud.
func (m Metadata) Document() []byte {
	out := make(map[string]string)
	for name, value := range m.variables() {
		out[name] = value
	}
	for _, name := range []string{"instance_id", "local_hostname"} { // its own names have hyphens
		out[strings.ReplaceAll(name, "_", "-")] = out[name]
		delete(out, name)
	}
	b, err := json.Marshal(out) // JSON is YAML
	if err != nil {
		panic(fmt.Sprintf("userdata: cannot marshal texts: %v", err))
	}
	return append(b, '\n')
}

// jinja returns the variables by the names that templates use.
func (m Metadata) jinja() map[string]string {
	out := make(map[string]string)
	for name, value := range m.variables() {
		out["ds.meta_data."+name] = value
	}
	for _, prefix := range []string{"", "v1."} { // cloud-init's standard names, with and without their version
		out[prefix+"instance_id"], out[prefix+"local_hostname"] = m.InstanceID, m.Name
	}
	return out
}

// A config is the part of cloud-init's configuration that Fairlead writes.
// Source: cloud-init, reference of modules.
type config struct {
	WriteFiles []file            `json:"write_files,omitempty"`
	BootCmd    []json.RawMessage `json:"bootcmd,omitempty"`
	RunCmd     []json.RawMessage `json:"runcmd,omitempty"`
	Users      []json.RawMessage `json:"users,omitempty"` // "default", or a user
	NTP        json.RawMessage   `json:"ntp,omitempty"`
	DiskSetup  json.RawMessage   `json:"disk_setup,omitempty"`
	FSSetup    json.RawMessage   `json:"fs_setup,omitempty"`
	Mounts     json.RawMessage   `json:"mounts,omitempty"`
}

type file struct {
	Path        string          `json:"path"`
	Encoding    string          `json:"encoding,omitempty"`
	Owner       string          `json:"owner,omitempty"`
	Permissions json.RawMessage `json:"permissions,omitempty"`
	Append      bool            `json:"append,omitempty"`
	Content     string          `json:"content"`
}

type user struct {
	Name              string   `json:"name"`
	Passwd            string   `json:"passwd,omitempty"`
	Gecos             string   `json:"gecos,omitempty"`
	Groups            string   `json:"groups,omitempty"`
	HomeDir           string   `json:"homedir,omitempty"`
	Inactive          string   `json:"inactive,omitempty"`
	LockPasswd        *bool    `json:"lock_passwd,omitempty"`
	Shell             string   `json:"shell,omitempty"`
	PrimaryGroup      string   `json:"primary_group,omitempty"`
	Sudo              string   `json:"sudo,omitempty"`
	SSHAuthorizedKeys []string `json:"ssh_authorized_keys,omitempty"`
}

// read reads data as cloud-init would. Its errors quote nothing of it: keys are in
// there.
func read(data []byte, m Metadata) (*config, error) {
	text := string(data)
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) == "## template: jinja" {
		var err error
		if text, err = render(rest, m.jinja()); err != nil {
			return nil, err
		}
		first, _, _ = strings.Cut(text, "\n")
	}
	if strings.TrimSpace(first) != "#cloud-config" {
		return nil, fmt.Errorf("the user data is no cloud-config")
	}
	var known map[string]json.RawMessage
	if err := documents.Unmarshal([]byte(text), &known, documents.BuiltLimits()); err != nil {
		return nil, fmt.Errorf("the user data is no YAML")
	}
	c := new(config)
	if err := documents.UnmarshalStrict([]byte(text), c, documents.BuiltLimits()); err != nil {
		for _, key := range slices.Sorted(maps.Keys(known)) {
			if !slices.Contains([]string{"write_files", "bootcmd", "runcmd", "users", "ntp", "disk_setup", "fs_setup", "mounts"}, key) {
				return nil, fmt.Errorf("the user data has %s, which is not supported", key)
			}
		}
		return nil, fmt.Errorf("the user data has a field that is not supported, or of another type")
	}
	for i, f := range c.WriteFiles {
		if !strings.HasPrefix(f.Path, "/") || strings.ContainsAny(f.Path, "\n\x00") {
			return nil, fmt.Errorf("write_files[%d]: the path %q is not absolute, or more than a line", i, f.Path)
		}
	}
	return c, nil
}

// OnlyCloudInit returns what of the user data only cloud-init does: its modules, in
// order; none means that a script does as well.
func OnlyCloudInit(data []byte, m Metadata) ([]string, error) {
	c, err := read(data, m)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, part := range []struct {
		name  string
		value json.RawMessage
	}{{"ntp", c.NTP}, {"disk_setup", c.DiskSetup}, {"fs_setup", c.FSSetup}, {"mounts", c.Mounts}} {
		if len(part.value) > 0 {
			out = append(out, part.name)
		}
	}
	return out, nil
}
