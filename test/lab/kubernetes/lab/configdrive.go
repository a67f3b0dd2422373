package lab

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// SeedConfigDrive lays the files of a config drive where cloud-init's data source ConfigDrive
// finds them when the machine starts the next time; it must be off. A drive on a disk of its
// own reads the same (seed/config_drive, DataSourceConfigDrive.py of cloud-init). Files are
// those of openstack/latest by their names: meta_data.json, user_data, network_data.json.
func (m *Machine) SeedConfigDrive(files map[string]string) error {
	if m.On() {
		return errors.New("machine " + m.Name + " is on: its disk cannot be written to from outside")
	}
	const seed = "var/lib/cloud/seed/config_drive/openstack/latest/"
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || strings.Contains(name, "/") {
			return errors.New("a config drive has no file " + name)
		}
		if err := m.write(seed+name, []byte(files[name]), 0o600); err != nil {
			return err
		}
	}
	return m.write("etc/cloud/cloud.cfg.d/99_configdrive.cfg", []byte("datasource_list: [ConfigDrive, None]\n"), 0o644)
}
