package lab

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
)

// SeedGuestinfo lays guestinfo of a VM of vSphere where cloud-init's data source VMware finds
// it when the machine starts the next time; it must be off. It is read from the environment
// (VMX_GUESTINFO, DataSourceVMware.py of cloud-init): the tool that asks a hypervisor is not
// there, and neither is the hypervisor. Values are those of ExtraConfig by their keys,
// guestinfo.metadata and others; an encoding that goes with one is kept.
func (m *Machine) SeedGuestinfo(values map[string]string) error {
	if m.On() {
		return errors.New("machine " + m.Name + " is on: its disk cannot be written to from outside")
	}
	if err := m.write("etc/cloud/guestinfo.env", []byte(guestinfo(values)), 0o600); err != nil {
		return err
	}
	if err := m.write("etc/cloud/cloud.cfg.d/99_vmware.cfg", []byte("datasource_list: [VMware, None]\n"), 0o644); err != nil {
		return err
	}
	for _, unit := range cloudInitUnits() {
		text := "[Service]\nEnvironmentFile=/etc/cloud/guestinfo.env\n"
		if err := m.write("etc/systemd/system/"+unit+".service.d/guestinfo.conf", []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// guestinfo is an environment of systemd: one line for each value, none of which has a line
// break in it, since what is not encoded is encoded here.
func guestinfo(values map[string]string) string {
	var b strings.Builder
	b.WriteString("VMX_GUESTINFO=1\n")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		if !strings.HasPrefix(key, "guestinfo.") || strings.HasSuffix(key, ".encoding") {
			continue
		}
		encoding := values[key+".encoding"]
		if encoding == "" {
			value, encoding = base64.StdEncoding.EncodeToString([]byte(value)), "base64"
		}
		name := "VMX_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		b.WriteString(name + "=" + value + "\n" + name + "_ENCODING=" + encoding + "\n")
	}
	return b.String()
}
