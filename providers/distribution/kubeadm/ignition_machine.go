package kubeadm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
)

// ignitionMachine fills in the settings of the machine that are not kubeadm's.
func (w *writer) ignitionMachine(out *types.Config, files *ignitionFiles) error {
	var passwords []string // users who log in with one
	for i, u := range w.spec.Users {
		converted, err := w.ignitionUser(u)
		if err != nil {
			return &fleet.FieldError{Field: fmt.Sprintf("users[%d]", i), Item: u.Name, Err: err}
		}
		out.Passwd.Users = append(out.Passwd.Users, converted)
		if u.Sudo != "" {
			// sudo reads no file with a dot in its name.
			path := "/etc/sudoers.d/" + strings.ReplaceAll(u.Name, ".", "_")
			files.own(cloudinit.File{Path: cloudinit.Text(path), Owner: rootOwner, Permissions: "0440", Content: cloudinit.Text(u.Name + " " + u.Sudo + "\n")})
		}
		if u.LockPassword != nil && !*u.LockPassword {
			passwords = append(passwords, u.Name)
		}
	}
	if len(passwords) > 0 {
		files.own(cloudinit.File{
			Path: "/etc/ssh/sshd_config.d/20-password-authentication.conf", Owner: rootOwner, Permissions: "0600",
			Content: cloudinit.Text("Match User " + strings.Join(passwords, ",") + "\n  PasswordAuthentication yes\n"),
		})
	}
	if n := w.spec.NTP; n.IsDefined() && (n.Enabled == nil || *n.Enabled) {
		ignitionTime(n.Servers, out, files)
	}
	if err := w.ignitionDisks(&out.Storage); err != nil {
		return err
	}
	for i, m := range w.spec.Mounts {
		if err := w.ignitionMount(m, out); err != nil {
			return fleet.FieldErrorf(fmt.Sprintf("mounts[%d]", i), "%w", err)
		}
	}
	return nil
}

func (w *writer) ignitionUser(in bootstrapv1.User) (types.PasswdUser, error) {
	if in.Inactive != nil && *in.Inactive {
		return types.PasswdUser{}, fleet.FieldErrorf("inactive", "Ignition cannot make an account inactive: run usermod in preKubeadmCommands")
	}
	u, err := w.user(in)
	if err != nil {
		return types.PasswdUser{}, err
	}
	out := types.PasswdUser{
		Name: in.Name, Gecos: optional(in.Gecos), HomeDir: optional(in.HomeDir), Shell: optional(in.Shell),
		PrimaryGroup: optional(in.PrimaryGroup),
	}
	for g := range strings.SplitSeq(in.Groups, ",") {
		if g = strings.TrimSpace(g); g != "" {
			out.Groups = append(out.Groups, types.Group(g))
		}
	}
	for _, k := range in.SSHAuthorizedKeys {
		out.SSHAuthorizedKeys = append(out.SSHAuthorizedKeys, types.SSHAuthorizedKey(k))
	}
	hash := string(u.Passwd)
	if hash != "" && in.LockPassword != nil && *in.LockPassword {
		hash = "!" + hash // as passwd --lock writes it
	}
	out.PasswordHash = optional(hash)
	return out, nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ignitionTime sets the servers of time for both systems: Flatcar has ntpd,
// which is off as it comes, and Fedora CoreOS has chronyd, which is on.
func ignitionTime(servers []string, out *types.Config, files *ignitionFiles) {
	yes := true
	out.Systemd.Units = append(out.Systemd.Units, types.Unit{Name: "ntpd.service", Enabled: &yes})
	if len(servers) == 0 {
		return
	}
	var ntp, chrony strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&ntp, "server %s\n", s)
		fmt.Fprintf(&chrony, "server %s iburst\n", s)
	}
	ntp.WriteString("restrict default nomodify nopeer noquery notrap limited kod\nrestrict 127.0.0.1\nrestrict [::1]\n")
	chrony.WriteString("driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\n")
	files.own(cloudinit.File{Path: "/etc/ntp.conf", Owner: rootOwner, Permissions: "0644", Content: cloudinit.Text(ntp.String())})
	files.own(cloudinit.File{Path: "/etc/chrony.conf", Owner: rootOwner, Permissions: "0644", Content: cloudinit.Text(chrony.String())})
}

func (w *writer) ignitionDisks(out *types.Storage) error {
	const way = ": use storage.disks of ignition.containerLinuxConfig.additionalConfig"
	for i, p := range w.spec.DiskSetup.Partitions {
		field := fmt.Sprintf("diskSetup.partitions[%d]", i)
		if len(p.DiskLayout) > 0 {
			return fleet.FieldErrorf(field+".diskLayout", "Ignition knows sizes in MiB and no percentages%s", way)
		}
		if p.TableType != "" && p.TableType != "gpt" {
			return fleet.FieldErrorf(field+".tableType", "Ignition makes gpt tables alone")
		}
		disk := types.Disk{Device: p.Device, WipeTable: p.Overwrite}
		if p.Layout != nil && *p.Layout {
			disk.Partitions = []types.Partition{{Number: 1}}
		}
		out.Disks = append(out.Disks, disk)
	}
	for i, f := range w.spec.DiskSetup.Filesystems {
		field := fmt.Sprintf("diskSetup.filesystems[%d]", i)
		if f.Partition != "" {
			return fleet.FieldErrorf(field+".partition", "Ignition wants the partition itself as the device, like /dev/vdb1")
		}
		if f.ReplaceFS != "" {
			return fleet.FieldErrorf(field+".replaceFS", "Ignition cannot do this: use overwrite")
		}
		made := types.Filesystem{
			Device: f.Device, Format: optional(f.Filesystem), Label: optional(f.Label), WipeFilesystem: f.Overwrite,
		}
		for _, o := range f.ExtraOpts {
			made.Options = append(made.Options, types.FilesystemOption(o))
		}
		out.Filesystems = append(out.Filesystems, made)
	}
	return nil
}

// ignitionMount adds a unit for a mount: a device, a path, a type or not, and any number of
// options. The two numbers at the end of a line of fstab say nothing to systemd.
func (w *writer) ignitionMount(m bootstrapv1.MountPoints, out *types.Config) error {
	if len(m) < 2 {
		return errors.New("a mount has a device and a path, and a type and options after them if you want")
	}
	kind, rest := "", m[2:]
	if len(m) == 6 && isNumber(m[4]) && isNumber(m[5]) {
		rest = m[2:4]
	} else if len(m) == 5 && isNumber(m[4]) {
		rest = m[2:4]
	}
	if len(rest) > 0 && isFilesystemType(rest[0]) {
		kind, rest = rest[0], rest[1:]
	}
	what, where := mountDevice(m[0], w.spec.DiskSetup.Filesystems), m[1]
	if what == "" && isWithoutDevice(kind) {
		what = m[0]
	}
	if what == "" {
		return fmt.Errorf("%q is no device, no LABEL, UUID, PARTLABEL or PARTUUID, and no label of diskSetup.filesystems", m[0])
	}
	if !strings.HasPrefix(where, "/") {
		return fmt.Errorf("%q is no path to mount at: it must begin with /", where)
	}
	options := strings.Trim(strings.Join(rest, ","), ",")
	target := "[Install]\nRequiredBy=local-fs.target\n"
	if slices.Contains(strings.Split(options, ","), "nofail") {
		target = "[Install]\nWantedBy=local-fs.target\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=Mount of %s\nBefore=local-fs.target\n\n[Mount]\nWhat=%s\nWhere=%s\n", m[0], what, where)
	if kind != "" {
		fmt.Fprintf(&b, "Type=%s\n", kind)
	}
	if options != "" {
		fmt.Fprintf(&b, "Options=%s\n", options)
	}
	b.WriteString("\n" + target)
	enabled, contents := true, b.String()
	out.Systemd.Units = append(out.Systemd.Units, types.Unit{
		Name: unit.UnitNamePathEscape(where) + ".mount", Enabled: &enabled, Contents: &contents,
	})
	// Ignition mounts the new file systems, so that files below are written to them.
	for i, f := range out.Storage.Filesystems {
		if f.Device == what && f.Path == nil {
			out.Storage.Filesystems[i].Path = &where
		}
	}
	return nil
}

// plainLabel matches labels that udev writes into a path unchanged.
var plainLabel = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

// mountDevice returns the device that a line of fstab means, "" where none is.
func mountDevice(what string, made []bootstrapv1.Filesystem) string {
	label := strings.TrimPrefix(what, "LABEL=")
	for _, f := range made {
		if f.Label == label && label != "" {
			return f.Device
		}
	}
	if strings.HasPrefix(what, "/") {
		return what
	}
	tag, value, ok := strings.Cut(what, "=")
	if ok && slices.Contains([]string{"LABEL", "UUID", "PARTLABEL", "PARTUUID"}, tag) && plainLabel.MatchString(value) {
		return "/dev/disk/by-" + strings.ToLower(tag) + "/" + value
	}
	return ""
}

// isNumber reports whether s is a number of fstab: whether dump saves the file system, or when
// fsck checks it.
func isNumber(s string) bool { return len(s) == 1 && s[0] >= '0' && s[0] <= '9' }

// isWithoutDevice reports whether the source of a mount of this type is a share, a tag or a name.
func isWithoutDevice(kind string) bool {
	return slices.Contains([]string{"none", "tmpfs", "ramfs", "hugetlbfs", "overlay", "nfs", "nfs4", "9p", "virtiofs", "ceph", "glusterfs", "lustre"}, kind) ||
		strings.HasPrefix(kind, "fuse")
}

// isFilesystemType reports whether s is a type of file systems that Linux mounts, and no option.
func isFilesystemType(s string) bool {
	return slices.Contains([]string{
		"auto", "none", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "jfs", "reiserfs", "erofs", "squashfs",
		"vfat", "msdos", "exfat", "ntfs", "ntfs3", "iso9660", "udf", "tmpfs", "ramfs", "hugetlbfs", "overlay",
		"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "gfs2", "ocfs2", "glusterfs", "lustre",
	}, s) || strings.HasPrefix(s, "fuse")
}
