package lab

import (
	"context"
	"errors"
)

// SeedEC2 has cloud-init ask the metadata service of EC2 when the machine starts the next time; it must be off. The
// service has the address that it has there, which AddAddress adds, and the machine is no instance by its firmware.
func (m *Machine) SeedEC2() error {
	if m.On() {
		return errors.New("machine " + m.Name + " is on: its disk cannot be written to from outside")
	}
	return m.write("etc/cloud/cloud.cfg.d/99_ec2.cfg", []byte("datasource_list: [Ec2, None]\ndatasource:\n  Ec2: {strict_id: false, metadata_urls: [\"http://169.254.169.254\"]}\n"), 0o644)
}

// AddAddress has the lab's side of the network answer at another address, until the lab goes.
func (l *Lab) AddAddress(ctx context.Context, address string) error {
	return ip(ctx, "-n "+l.Namespace()+" addr replace "+address+"/32 dev br0")
}
