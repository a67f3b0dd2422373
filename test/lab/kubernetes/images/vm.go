package images

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A VM is what a virtual machine boots: the node image on a disk, and the kernel
// that is in it.
type VM struct {
	Disk           string // file: ext4 without partitions
	Kernel, Initrd string // files
	Kubectl        string // file, for use on the host
	Version        string // of Kubernetes that is in use
}

// vmFiles is what a virtual machine has other than a machine that shares its
// host's kernel and gets its network from there.
//
//go:embed all:vm
var vmFiles embed.FS

// bare returns the packages that only a machine with a kernel of its own needs.
func bare() []string { return []string{"linux-image-cloud-amd64", "initramfs-tools", "udev"} }

// driven returns the units, of those that are masked, that have work to do where
// there are devices, kernel modules and settings.
func driven() []string {
	return []string{
		"systemd-modules-load.service", "systemd-networkd-wait-online.service", "systemd-sysctl.service", "systemd-udev-settle.service",
		"systemd-udev-trigger.service", "systemd-udevd.service",
	}
}

// diskSize is that of a disk, in bytes; its file has holes.
const diskSize = 8 << 30

// layDisk lays the folders of a set over each other, as a machine of the lab has
// them, and makes a filesystem with all that. What it mounts goes with the
// namespace that it runs in.
const layDisk = `set -e
mount --make-rprivate /
mount -t tmpfs none "$STAGE"
mkdir "$STAGE/upper" "$STAGE/work" "$STAGE/root"
mount -t overlay overlay -o "lowerdir=$NODE:$ROOTFS,upperdir=$STAGE/upper,workdir=$STAGE/work" "$STAGE/root"
cd "$STAGE/root"
for unit in $DRIVEN; do rm "etc/systemd/system/$unit"; done
cp -R "$FILES/." .
ln -s /lib/systemd/system/systemd-networkd.service etc/systemd/system/multi-user.target.wants/
mkdir -p var/lib/containerd
mount --bind "$STORE" var/lib/containerd
mke2fs -q -t ext4 -L root -d . -E lazy_itable_init=1,lazy_journal_init=1 "$DISK"
`

// BuildVM makes the disk of a virtual machine from the current set, unless it is
// there. It needs root, mmdebstrap and e2fsprogs, and tells on progress what it does.
func BuildVM(ctx context.Context, progress io.Writer) (VM, error) {
	if os.Geteuid() != 0 {
		return VM{}, errors.New("the disk of a virtual machine is made by root: file owners are part of it")
	}
	set, err := Current()
	if err != nil {
		return VM{}, err
	}
	dir, err := Dir()
	if err != nil {
		return VM{}, err
	}
	m := &maker{progress: progress, dir: dir, versions: set.Versions}
	rootfs, err := m.debian(ctx, "vmroot", slices.Concat(packages(), bare()))
	if err != nil {
		return VM{}, err
	}
	files, err := embedded(vmFiles, "vm")
	if err != nil {
		return VM{}, err
	}
	made, err := m.folder("vm", []any{rootfs, set.Node, set.Store, files, driven(), layDisk}, func(dir string) error {
		return m.makeDisk(ctx, dir, rootfs, set, files)
	})
	if err != nil {
		return VM{}, err
	}
	vm := VM{
		Disk: filepath.Join(made, "disk.raw"), Kubectl: filepath.Join(set.Node, "opt/kubernetes", set.Versions[0], "kubectl"), Version: set.Versions[0],
	}
	if vm.Kernel, err = only(filepath.Join(rootfs, "boot/vmlinuz-*")); err != nil {
		return VM{}, err
	}
	vm.Initrd, err = only(filepath.Join(rootfs, "boot/initrd.img-*"))
	return vm, err
}

func (m *maker) makeDisk(ctx context.Context, dir, rootfs string, set Set, files map[string]string) error {
	work := filepath.Join(dir, "work")
	stage, layer, disk := filepath.Join(work, "stage"), filepath.Join(work, "files"), filepath.Join(dir, "disk.raw")
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := write(filepath.Join(layer, name), text, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(disk)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(diskSize), f.Close()); err != nil {
		return err
	}
	c := m.command(ctx, "", "unshare", "--mount", "sh", "-c", layDisk)
	c.Env = append(os.Environ(), "STAGE="+stage, "FILES="+layer, "DISK="+disk,
		"ROOTFS="+rootfs, "NODE="+set.Node, "STORE="+set.Store, "DRIVEN="+strings.Join(driven(), " "))
	if err := c.Run(); err != nil {
		return err
	}
	return os.RemoveAll(work)
}

// only returns the one file of a pattern.
func only(pattern string) (string, error) {
	files, err := filepath.Glob(pattern)
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("there are %d files %s, and one was expected", len(files), pattern)
	}
	if err != nil {
		return "", err
	}
	return files[0], nil
}
