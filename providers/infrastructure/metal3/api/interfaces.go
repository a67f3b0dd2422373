package api

import (
	"encoding/json"
	"errors"
	"slices"
)

var errNoDetails = errors.New("must be JSON with the hardware of a host, as status.hardware of a BareMetalHost has it")

// Interfaces returns the MAC addresses of the network cards that people say a host has, by their
// names; none where no annotation does.
func Interfaces(annotations map[string]string) (map[string]string, error) {
	text := annotations[HardwareAnnotation]
	if text == "" {
		return nil, nil
	}
	var details struct {
		NICs []struct {
			Name string `json:"name"`
			MAC  string `json:"mac"`
		} `json:"nics"`
	}
	if err := json.Unmarshal([]byte(text), &details); err != nil {
		return nil, errNoDetails
	}
	out := make(map[string]string)
	for _, n := range details.NICs {
		out[n.Name] = n.MAC
	}
	return out, nil
}

// NamesInterfaces reports whether machines are to be told of network cards by what inspection calls
// them. s may be nil.
func (s *Metal3DataTemplateSpec) NamesInterfaces() bool {
	if s == nil {
		return false
	}
	if s.MetaData != nil && slices.ContainsFunc(s.MetaData.FromHostInterfaces, func(f MetaDataHostInterface) bool { return f.Interface != "" }) {
		return true
	}
	if s.NetworkData == nil || s.NetworkData.Links == nil {
		return false
	}
	named := func(m *NetworkLinkEthernetMac) bool { return m != nil && m.FromHostInterface != "" }
	l := s.NetworkData.Links
	return slices.ContainsFunc(l.Ethernets, func(e NetworkDataLinkEthernet) bool { return named(e.MACAddress) }) ||
		slices.ContainsFunc(l.Bonds, func(b NetworkDataLinkBond) bool { return named(b.MACAddress) }) ||
		slices.ContainsFunc(l.Vlans, func(w NetworkDataLinkVlan) bool { return named(w.MACAddress) })
}
