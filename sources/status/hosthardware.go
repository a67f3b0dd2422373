package status

import "fairlead.dev/fleet"

// hostHardware is what inspection found, as BareMetalHost has it.
// Source: baremetal-operator, apis/metal3.io/v1alpha1, HardwareDetails.
type hostHardware struct {
	SystemVendor *hostVendor   `json:"systemVendor,omitempty"`
	Firmware     *hostFirmware `json:"firmware,omitempty"`
	RAMMebibytes int           `json:"ramMebibytes,omitempty"`
	CPU          *hostCPU      `json:"cpu,omitempty"`
	Storage      []hostStorage `json:"storage,omitempty"`
	NICs         []hostNIC     `json:"nics,omitempty"`
	Hostname     string        `json:"hostname,omitempty"`
}

type hostVendor struct {
	Manufacturer string `json:"manufacturer,omitempty"`
	ProductName  string `json:"productName,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
}

type hostFirmware struct {
	BIOS hostBIOS `json:"bios"`
}

type hostBIOS struct {
	Version string `json:"version,omitempty"`
}

type hostCPU struct {
	Arch  string `json:"arch,omitempty"`
	Model string `json:"model,omitempty"`
	Count int    `json:"count,omitempty"`
}

type hostStorage struct {
	Name         string `json:"name,omitempty"`
	Type         string `json:"type,omitempty"`
	Rotational   bool   `json:"rotational,omitempty"`
	SizeBytes    int64  `json:"sizeBytes,omitempty"`
	Vendor       string `json:"vendor,omitempty"`
	Model        string `json:"model,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
	WWN          string `json:"wwn,omitempty"`
	HCTL         string `json:"hctl,omitempty"`
}

type hostNIC struct {
	Name      string `json:"name,omitempty"`
	Model     string `json:"model,omitempty"`
	MAC       string `json:"mac,omitempty"`
	IP        string `json:"ip,omitempty"`
	SpeedGbps int    `json:"speedGbps,omitempty"`
	PXE       bool   `json:"pxe,omitempty"`
}

func hardwareOf(h *fleet.HostHardware) *hostHardware {
	if h == nil {
		return nil
	}
	f := &hostHardware{RAMMebibytes: h.MemoryMiB, Hostname: h.Hostname}
	if v := (hostVendor{h.Manufacturer, h.Product, h.Serial}); v != (hostVendor{}) {
		f.SystemVendor = &v
	}
	if h.BIOS != "" {
		f.Firmware = &hostFirmware{hostBIOS{h.BIOS}}
	}
	if c := (hostCPU{h.Architecture, h.CPUModel, h.CPUs}); c != (hostCPU{}) {
		f.CPU = &c
	}
	for _, d := range h.Disks {
		f.Storage = append(f.Storage, hostStorage{d.Name, d.Type, d.Rotational, d.Bytes, d.Vendor, d.Model, d.Serial, d.WWN, d.HCTL})
	}
	for _, n := range h.NICs {
		f.NICs = append(f.NICs, hostNIC{n.Name, n.Model, n.MAC, n.IP, n.Gbps, n.PXE})
	}
	return f
}

func (f *hostHardware) fleet(bootMode string) *fleet.HostHardware {
	if f == nil {
		return nil
	}
	h := &fleet.HostHardware{BootMode: bootMode, MemoryMiB: f.RAMMebibytes, Hostname: f.Hostname}
	if v := f.SystemVendor; v != nil {
		h.Manufacturer, h.Product, h.Serial = v.Manufacturer, v.ProductName, v.SerialNumber
	}
	if f.Firmware != nil {
		h.BIOS = f.Firmware.BIOS.Version
	}
	if c := f.CPU; c != nil {
		h.Architecture, h.CPUModel, h.CPUs = c.Arch, c.Model, c.Count
	}
	for _, s := range f.Storage {
		h.Disks = append(h.Disks, fleet.HostDisk{
			Name: s.Name, Bytes: s.SizeBytes, Type: s.Type, Vendor: s.Vendor, Model: s.Model, Serial: s.SerialNumber, WWN: s.WWN, HCTL: s.HCTL, Rotational: s.Rotational,
		})
	}
	for _, n := range f.NICs {
		h.NICs = append(h.NICs, fleet.HostNIC{Name: n.Name, MAC: n.MAC, IP: n.IP, Model: n.Model, Gbps: n.SpeedGbps, PXE: n.PXE})
	}
	return h
}
