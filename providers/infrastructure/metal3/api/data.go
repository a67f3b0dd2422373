package api

// Metal3DataTemplateSpec is the metadata and the network configuration that machines receive.
type Metal3DataTemplateSpec struct {
	ClusterName string       `json:"clusterName,omitempty"` // not used
	MetaData    *MetaData    `json:"metaData,omitempty"`
	NetworkData *NetworkData `json:"networkData,omitempty"`
}

// MetaData are keys of a machine's metadata, by where their values come from.
type MetaData struct {
	Strings     []MetaDataString     `json:"strings,omitempty"`
	ObjectNames []MetaDataObjectName `json:"objectNames,omitempty"`
	Indexes     []MetaDataIndex      `json:"indexes,omitempty"`
	Namespaces  []MetaDataNamespace  `json:"namespaces,omitempty"`
	// Each of a pool is of the one address that the machine has of it.
	IPAddressesFromPool []FromPool               `json:"ipAddressesFromPool,omitempty"`
	PrefixesFromPool    []FromPool               `json:"prefixesFromPool,omitempty"`
	GatewaysFromPool    []FromPool               `json:"gatewaysFromPool,omitempty"`
	DNSServersFromPool  []FromPool               `json:"dnsServersFromPool,omitempty"`
	FromHostInterfaces  []MetaDataHostInterface  `json:"fromHostInterfaces,omitempty"`
	FromLabels          []MetaDataFromLabel      `json:"fromLabels,omitempty"`
	FromAnnotations     []MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

// A MetaDataString is a key with its value.
type MetaDataString struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

// An ObjectKind is whose name, label or annotation is meant.
type ObjectKind string

// The objects. A Metal3Machine has the name, the labels and the annotations of its Machine
// here: there is no other object.
const (
	ObjectMachine       ObjectKind = "machine"
	ObjectMetal3Machine ObjectKind = "metal3machine"
	ObjectHost          ObjectKind = "baremetalhost"
)

// A MetaDataObjectName is a key whose value is the name of an object.
type MetaDataObjectName struct {
	Key    string     `json:"key,omitempty"`
	Object ObjectKind `json:"object,omitempty"`
}

// A MetaDataIndex is a key whose value is offset + index × step between prefix and suffix,
// where the index is the machine's among those of the template.
type MetaDataIndex struct {
	Key    string `json:"key,omitempty"`
	Offset *int32 `json:"offset,omitempty"`
	Step   int32  `json:"step,omitempty"` // default 1
	Prefix string `json:"prefix,omitempty"`
	Suffix string `json:"suffix,omitempty"`
}

// A MetaDataNamespace is a key whose value is the namespace of the machine.
type MetaDataNamespace struct {
	Key string `json:"key,omitempty"`
}

// A FromPool is a key whose value comes from a pool of addresses.
type FromPool struct {
	Key      string `json:"key,omitempty"`
	Name     string `json:"name,omitempty"`
	APIGroup string `json:"apiGroup,omitempty"`
	Kind     string `json:"kind,omitempty"`
}

// Ref returns the pool.
func (f FromPool) Ref() IPPoolReference {
	return IPPoolReference{Name: f.Name, Kind: f.Kind, APIGroup: f.APIGroup}
}

// A MetaDataHostInterface is a key whose value is the MAC address of a network card: that
// which inspection calls Interface, or that which the host boots from.
type MetaDataHostInterface struct {
	Key         string `json:"key,omitempty"`
	Interface   string `json:"interface,omitempty"`
	FromBootMAC *bool  `json:"fromBootMAC,omitempty"`
}

// A MetaDataFromLabel is a key whose value is that of a label.
type MetaDataFromLabel struct {
	Key    string     `json:"key,omitempty"`
	Object ObjectKind `json:"object,omitempty"`
	Label  string     `json:"label,omitempty"`
}

// A MetaDataFromAnnotation is a key whose value is that of an annotation.
type MetaDataFromAnnotation struct {
	Key        string     `json:"key,omitempty"`
	Object     ObjectKind `json:"object,omitempty"`
	Annotation string     `json:"annotation,omitempty"`
}

// A FromAnnotation names an annotation, whose value is the name of a pool or a MAC address.
type FromAnnotation struct {
	Object     ObjectKind `json:"object,omitempty"`
	Annotation string     `json:"annotation,omitempty"`
}

// An IPPoolReference names a pool: an IPPool of ipam.metal3.io unless it says otherwise.
type IPPoolReference struct {
	Name     string `json:"name,omitempty"`
	Kind     string `json:"kind,omitempty"`
	APIGroup string `json:"apiGroup,omitempty"`
}
