// Package userdata turns the cloud-config of a machine into shell steps for a host:
// steps that hand it to the host's own cloud-init, or steps that do what it says
// where there is none. It reads what Fairlead's bootstrap provider writes, and
// refuses what it does not know.
package userdata

import (
	"encoding/json"
	"fmt"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/cloudconfig"
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

// read reads data as cloud-init would, and refuses what the steps do not do.
func read(data []byte, m Metadata) (*cloudconfig.Config, error) {
	return cloudconfig.Reader{Variables: m.jinja(), Strict: true}.Read(data)
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
