package lab

import (
	"errors"
	"fmt"
)

// azureStandIns take the place of what a machine of the lab lacks to be a VM of Azure: firmware, which cloud-init does not
// read in a container, and a lease of DHCP with the address of the wire server (option 245). They are imported by Python
// before it runs cloud-init.
const azureStandIns = `from cloudinit import dmi
from cloudinit.net import ephemeral

firmware = {"chassis-asset-tag": "7783-7084-3265-9085-8269-3286-77", "system-uuid": "%s"}
dmi.read_dmi_data = firmware.get


class Lease(ephemeral.EphemeralDHCPv4):
    def obtain_lease(self):
        self.lease = {"interface": "eth0", "fixed-address": "%s", "unknown-245": "a8:3f:81:10"}
        return self.lease


ephemeral.EphemeralDHCPv4 = Lease
`

// SeedAzure has cloud-init be on a VM of Azure when the machine starts the next time; it must be off. It reads medium, the
// file ovf-env.xml, as if that were on the medium that a new VM finds, asks the metadata service and reports to the wire
// server. Both have the addresses that they have there, which AddAddress adds. The firmware has the id of the VM.
// Source: cloud-init, DataSourceAzure.py.
func (m *Machine) SeedAzure(id string, medium []byte) error {
	if m.On() {
		return errors.New("machine " + m.Name + " is on: its disk cannot be written to from outside")
	}
	const modules = "etc/cloud/lab"
	errs := []error{
		m.write("var/lib/cloud/seed/azure/ovf-env.xml", medium, 0o600),
		m.write("etc/cloud/cloud.cfg.d/99_azure.cfg", []byte("datasource_list: [Azure, None]\n"), 0o644),
		m.write(modules+"/sitecustomize.py", fmt.Appendf(nil, azureStandIns, id, m.Address), 0o644),
	}
	for _, unit := range cloudInitUnits() {
		errs = append(errs, m.write("etc/systemd/system/"+unit+".service.d/azure.conf", []byte("[Service]\nEnvironment=PYTHONPATH=/"+modules+"\n"), 0o644))
	}
	return errors.Join(errs...)
}

// cloudInitUnits are the services of cloud-init.
func cloudInitUnits() []string {
	return []string{"cloud-init-local", "cloud-init", "cloud-config", "cloud-final"}
}
