package machine

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// A Host has the known facts about the host of a machine.
type Host struct {
	Namespace, Name     string
	UUID                string // of its node in Ironic
	Labels, Annotations map[string]string
	BootMAC             string
	// NICs are the MAC addresses of its network cards by what inspection calls them.
	NICs map[string]string
}

// A Machine is what Git and the plan say of a machine.
type Machine struct {
	Name                fleet.MachineName
	Labels, Annotations map[string]string
	Index               int32 // among the machines of its data template; see NextIndex
}

// An Address is what a machine has of a pool.
type Address struct {
	Prefix  netip.Prefix // the address, with the length of its network's prefix
	Gateway netip.Addr   // not valid: there is none
	DNS     []netip.Addr
}

// Data is what metadata and network data are made from.
type Data struct {
	Host      Host
	Machine   Machine
	Addresses map[api.IPPoolReference]Address // of Pools
}

// NextIndex returns the lowest index that is not taken.
// Source: CAPM3, baremetal/metal3datatemplate_manager.go.
func NextIndex(taken map[int32]bool) int32 {
	var n int32
	for taken[n] {
		n++
	}
	return n
}

// A ConfigDrive is what Ironic makes a volume of for a machine. A struct of Ironic's client
// has the same JSON.
// Source: Ironic's API, PUT /v1/nodes/{id}/states/provision, configdrive, since 1.56.
type ConfigDrive struct {
	MetaData    map[string]string `json:"meta_data"`
	NetworkData *NetworkData      `json:"network_data,omitempty"`
	UserData    string            `json:"user_data,omitempty"`
}

// JSON returns d as Ironic takes it: equal values give equal text.
func (d *ConfigDrive) JSON() (json.RawMessage, error) { return json.Marshal(d) }

// ConfigDrive returns what the machine finds when it boots; t may be nil.
func (d *Data) ConfigDrive(t *api.Metal3DataTemplateSpec, userData string) (*ConfigDrive, error) {
	meta, err := d.MetaData(t)
	if err != nil {
		return nil, err
	}
	network, err := d.NetworkData(t)
	if err != nil {
		return nil, err
	}
	return &ConfigDrive{MetaData: meta, NetworkData: network, UserData: userData}, nil
}

// MetaData returns the metadata of the machine: that of every host, then what t says, then
// what the machine's provider id is made of.
// Source: baremetal-operator, getConfigDrive; CAPM3, renderMetaData.
func (d *Data) MetaData(t *api.Metal3DataTemplateSpec) (map[string]string, error) {
	out := map[string]string{
		"uuid": d.Host.UUID, "metal3-namespace": d.Host.Namespace, "metal3-name": d.Host.Name,
		"name": d.Host.Name, "local-hostname": d.Host.Name, "local_hostname": d.Host.Name,
	}
	if t != nil && t.MetaData != nil {
		if err := d.template(out, t.MetaData); err != nil {
			return nil, err
		}
	}
	out["providerid"] = strings.TrimPrefix(string(ProviderID(d.Host.Namespace, d.Host.Name, d.Machine.Name)), IDPrefix)
	return out, nil
}

// template writes what m says into out.
func (d *Data) template(out map[string]string, m *api.MetaData) error {
	for _, e := range m.FromHostInterfaces {
		mac, err := d.interfaceMAC(e)
		if err != nil {
			return err
		}
		out[e.Key] = mac
	}
	if err := d.fromPools(out, m); err != nil {
		return err
	}
	for _, e := range m.Indexes {
		var offset int32
		if e.Offset != nil {
			offset = *e.Offset
		}
		n := int64(offset) + int64(d.Machine.Index)*int64(cmp.Or(e.Step, 1))
		out[e.Key] = e.Prefix + strconv.FormatInt(n, 10) + e.Suffix
	}
	for _, e := range m.Namespaces {
		out[e.Key] = d.Host.Namespace
	}
	for _, e := range m.ObjectNames {
		if out[e.Key] = string(d.Machine.Name); e.Object == api.ObjectHost {
			out[e.Key] = d.Host.Name
		}
	}
	for _, e := range m.FromLabels {
		if out[e.Key] = d.Machine.Labels[e.Label]; e.Object == api.ObjectHost {
			out[e.Key] = d.Host.Labels[e.Label]
		}
	}
	for _, e := range m.FromAnnotations {
		out[e.Key] = d.annotation(api.FromAnnotation{Object: e.Object, Annotation: e.Annotation})
	}
	for _, e := range m.Strings {
		out[e.Key] = e.Value
	}
	return nil
}

// fromPools writes what comes from pools into out. Servers of DNS are separated by commas;
// CAPM3 takes the field, and writes nothing.
func (d *Data) fromPools(out map[string]string, m *api.MetaData) error {
	for _, l := range []struct {
		list  []api.FromPool
		value func(Address) string
	}{
		{m.IPAddressesFromPool, func(a Address) string { return a.Prefix.Addr().String() }},
		{m.PrefixesFromPool, func(a Address) string { return strconv.Itoa(a.Prefix.Bits()) }},
		{m.GatewaysFromPool, func(a Address) string { return text(a.Gateway) }},
		{m.DNSServersFromPool, func(a Address) string {
			var list []string
			for _, s := range a.DNS {
				list = append(list, s.String())
			}
			return strings.Join(list, ",")
		}},
	} {
		for _, e := range l.list {
			a, err := d.address(e.Ref())
			if err != nil {
				return err
			}
			out[e.Key] = l.value(a)
		}
	}
	return nil
}

// text returns an address, or nothing of one that is not valid.
func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// interfaceMAC returns the MAC address that e names.
func (d *Data) interfaceMAC(e api.MetaDataHostInterface) (string, error) {
	if e.FromBootMAC == nil || !*e.FromBootMAC {
		return d.nic(e.Interface)
	}
	if d.Host.BootMAC == "" {
		return "", d.failed("it is not known which network card it boots from (write spec.bootMACAddress of the BareMetalHost)")
	}
	return d.Host.BootMAC, nil
}

// nic returns the MAC address of a network card.
func (d *Data) nic(name string) (string, error) {
	if mac := d.Host.NICs[name]; mac != "" {
		return mac, nil
	}
	if len(d.Host.NICs) == 0 {
		return "", d.failed("no network cards are known by name (inspection by a ramdisk finds them: inspectionMode: agent)")
	}
	var known []string
	for n := range d.Host.NICs {
		known = append(known, n)
	}
	slices.Sort(known)
	return "", d.failed("it has no network card %s, but %s", name, strings.Join(known, ", "))
}

// annotation returns the value of an annotation, empty where there is none.
func (d *Data) annotation(a api.FromAnnotation) string {
	if a.Object == api.ObjectHost {
		return d.Host.Annotations[a.Annotation]
	}
	return d.Machine.Annotations[a.Annotation]
}

// address returns what the machine has of a pool.
func (d *Data) address(ref api.IPPoolReference) (Address, error) {
	a, ok := d.Addresses[ref]
	if !ok {
		return Address{}, d.failed("it has no address of %s %s yet", ref.Kind, ref.Name)
	}
	return a, nil
}

// failed says why there is no data for the machine on the host.
func (d *Data) failed(format string, args ...any) error {
	op := "make the data of machine " + string(d.Machine.Name) + " on host " + d.Host.Namespace + "/" + d.Host.Name
	return fleet.Errorf(fleet.Invalid, op, format, args...)
}
