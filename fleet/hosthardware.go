package fleet

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// HostHardware is what inspection found of a host. What is not known is zero.
type HostHardware struct {
	Manufacturer string
	Product      string
	Serial       string
	BIOS         string // version
	BootMode     string
	Architecture string // as Kubernetes and BareMetalHost write it: x86_64, aarch64
	CPUModel     string
	CPUs         int // threads
	MemoryMiB    int
	Disks        []HostDisk // in the order of inspection
	NICs         []HostNIC  // in the order of inspection
	Hostname     string
}

// A HostDisk is a disk that inspection found.
type HostDisk struct {
	Name       string // as /dev/sda
	Bytes      int64
	Type       string // HDD, SSD, NVME; empty: not known
	Vendor     string
	Model      string
	Serial     string
	WWN        string
	HCTL       string
	Rotational bool
}

// A HostNIC is a network card that inspection found.
type HostNIC struct {
	Name  string // as eth0; empty where only the management controller was asked
	MAC   string
	IP    string
	Model string
	Gbps  int
	PXE   bool // the host boots from it
}

// Facts returns what people read and selectors go by, flat: the keys are those of h's parts,
// as cpu.arch, memory.mib, disks, disk.0.name, nic.1.mac. What is not known has no key.
func (h *HostHardware) Facts() map[string]string {
	if h == nil {
		return nil
	}
	f := facts{
		"vendor": h.Manufacturer, "product": h.Product, "serial": h.Serial, "bios.version": h.BIOS, "boot.mode": h.BootMode,
		"cpu.arch": h.Architecture, "cpu.model": h.CPUModel, "hostname": h.Hostname,
	}
	f.number("cpu.count", int64(h.CPUs))
	f.number("memory.mib", int64(h.MemoryMiB))
	f.number("disks", int64(len(h.Disks)))
	f.number("nics", int64(len(h.NICs)))
	for i, d := range h.Disks {
		p := "disk." + strconv.Itoa(i) + "."
		maps.Copy(f, facts{
			p + "name": d.Name, p + "type": d.Type, p + "vendor": d.Vendor, p + "model": d.Model, p + "serial": d.Serial, p + "wwn": d.WWN, p + "hctl": d.HCTL,
		})
		f.number(p+"bytes", d.Bytes)
	}
	for i, n := range h.NICs {
		p := "nic." + strconv.Itoa(i) + "."
		maps.Copy(f, facts{p + "name": n.Name, p + "mac": n.MAC, p + "ip": n.IP, p + "model": n.Model})
		f.number(p+"gbps", int64(n.Gbps))
	}
	maps.DeleteFunc(f, func(_, v string) bool { return v == "" })
	return f
}

type facts map[string]string

func (f facts) number(key string, n int64) {
	if n > 0 {
		f[key] = strconv.FormatInt(n, 10)
	}
}

// String is h in one line, as "64 CPUs, 256 GiB, 2 disks of 1.8 TB, 2 NICs"; empty: nothing
// is known.
func (h *HostHardware) String() string {
	if h == nil {
		return ""
	}
	var parts []string
	add := func(s string, known bool) {
		if known {
			parts = append(parts, s)
		}
	}
	add(counted(h.CPUs, "CPU"), h.CPUs > 0)
	add(strconv.Itoa(h.MemoryMiB>>10)+" GiB", h.MemoryMiB > 0)
	disks := make([]string, 0, len(h.Disks))
	for _, d := range h.Disks {
		disks = append(disks, strconv.FormatInt(d.Bytes/1e9, 10)+" GB")
	}
	slices.Sort(disks)
	add(counted(len(disks), "disk")+" of "+strings.Join(slices.Compact(disks), ", "), len(disks) > 0)
	add(counted(len(h.NICs), "NIC"), len(h.NICs) > 0)
	return strings.Join(parts, ", ")
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
