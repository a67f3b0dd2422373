package kubeadm

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
)

// machine fills in what is about the machine and not about kubeadm: time,
// users, disks and mounts.
func (w *writer) machine(out *cloudinit.Config) error {
	if n := w.spec.NTP; n.IsDefined() {
		out.NTP = &cloudinit.NTP{Enabled: n.Enabled, Servers: cloudinit.Texts(n.Servers)}
	}
	for i, u := range w.spec.Users {
		converted, err := w.user(u)
		if err != nil {
			return &fleet.FieldError{Field: fmt.Sprintf("users[%d]", i), Item: u.Name, Err: err}
		}
		out.Users = append(out.Users, converted)
	}
	for i, p := range w.spec.DiskSetup.Partitions {
		if out.DiskSetup == nil {
			out.DiskSetup = make(map[cloudinit.Text]cloudinit.Partitioning)
		}
		if _, ok := out.DiskSetup[cloudinit.Text(p.Device)]; ok {
			return fleet.FieldErrorf(fmt.Sprintf("diskSetup.partitions[%d].device", i), "%s is partitioned twice", p.Device)
		}
		out.DiskSetup[cloudinit.Text(p.Device)] = cloudinit.Partitioning{
			TableType: cloudinit.Text(p.TableType),
			Layout:    layout(p),
			Overwrite: p.Overwrite,
		}
	}
	for _, f := range w.spec.DiskSetup.Filesystems {
		out.FSSetup = append(out.FSSetup, cloudinit.Filesystem{
			Label:      cloudinit.Text(f.Label),
			Filesystem: cloudinit.Text(f.Filesystem),
			Device:     cloudinit.Text(f.Device),
			Partition:  cloudinit.Text(f.Partition),
			Overwrite:  f.Overwrite,
			ReplaceFS:  cloudinit.Text(f.ReplaceFS),
			ExtraOpts:  cloudinit.Texts(f.ExtraOpts),
		})
	}
	for _, m := range w.spec.Mounts {
		out.Mounts = append(out.Mounts, cloudinit.Texts(m))
	}
	return nil
}

func (w *writer) user(u bootstrapv1.User) (cloudinit.User, error) {
	passwd := u.Passwd
	if u.PasswdFrom.IsDefined() {
		content, err := w.secret(u.PasswdFrom.Secret.Name, u.PasswdFrom.Secret.Key)
		if err == nil && !utf8.Valid(content) {
			err = errors.New("the password is not UTF-8 text")
		}
		if err != nil {
			return cloudinit.User{}, fleet.FieldErrorf("passwdFrom.secret", "%w", err)
		}
		passwd = string(content)
	}
	var inactive cloudinit.Text
	if u.Inactive != nil && *u.Inactive {
		// cloud-init wants the days between the end of the password and that of
		// the account, and takes no notice of a bool.
		inactive = "0"
	}
	return cloudinit.User{
		Name:              cloudinit.Text(u.Name),
		Passwd:            cloudinit.Text(passwd),
		Gecos:             cloudinit.Text(u.Gecos),
		Groups:            cloudinit.Text(u.Groups),
		HomeDir:           cloudinit.Text(u.HomeDir),
		Inactive:          inactive,
		LockPasswd:        u.LockPassword,
		Shell:             cloudinit.Text(u.Shell),
		PrimaryGroup:      cloudinit.Text(u.PrimaryGroup),
		Sudo:              cloudinit.Text(u.Sudo),
		SSHAuthorizedKeys: cloudinit.Texts(u.SSHAuthorizedKeys),
	}, nil
}

// layout returns cloud-init's layout: a list of percentages, with a partition
// type where the user names one, or whether there is one partition at all.
func layout(p bootstrapv1.Partition) any {
	if len(p.DiskLayout) == 0 {
		return p.Layout != nil && *p.Layout
	}
	list := make([]any, 0, len(p.DiskLayout))
	for _, d := range p.DiskLayout {
		if d.PartitionType == "" {
			list = append(list, d.Percentage)
			continue
		}
		var code any = cloudinit.Text(partitionType(d.PartitionType))
		// cloud-init's schema wants a number where the code looks like one.
		if n, err := strconv.Atoi(partitionType(d.PartitionType)); err == nil && n >= 10 {
			code = n
		}
		list = append(list, []any{d.Percentage, code})
	}
	return list
}

// partitionType returns the MBR code of a name, or what it is given: people
// write codes as well.
func partitionType(name string) string {
	switch name {
	case bootstrapv1.PartitionTypeLinux:
		return "83"
	case bootstrapv1.PartitionTypeLinuxSwap:
		return "82"
	case bootstrapv1.PartitionTypeLinuxRAID:
		return "fd"
	case bootstrapv1.PartitionTypeLVM:
		return "8e"
	case bootstrapv1.PartitionTypeFat32:
		return "0c"
	case bootstrapv1.PartitionTypeNTFS:
		return "07"
	case bootstrapv1.PartitionTypeLinuxExtended:
		return "85"
	}
	return name
}
