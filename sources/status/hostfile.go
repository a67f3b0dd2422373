package status

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// Annotations of a host's file: what BareMetalHost has no field for.
const (
	hostProviderAnnotation = "fairlead.dev/provider"
	hostClustersAnnotation = "fairlead.dev/clusters" // whose reports tell of it
	hostClusterAnnotation  = "fairlead.dev/cluster"  // that has it
	hostFleetAnnotation    = "fairlead.dev/fleet"    // that has it, another one
	hostInstanceAnnotation = "fairlead.dev/instance"
	hostGoneAnnotation     = "fairlead.dev/gone"
	hostHeldAnnotation     = "fairlead.dev/held"
	hostNextAnnotation     = "fairlead.dev/next"
	hostWhyAnnotation      = "fairlead.dev/next-reason"
	hostWaitsAnnotation    = "fairlead.dev/waits"
	hostSinceAnnotation    = "fairlead.dev/since"
)

// hostFile is a BareMetalHost, as people and tools of Metal3 read it.
type hostFile struct {
	typeMeta
	Metadata hostMeta   `json:"metadata"`
	Spec     hostSpec   `json:"spec"`
	Status   hostStatus `json:"status"`
}

type hostMeta struct {
	Namespace         string            `json:"namespace"`
	Name              string            `json:"name"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	CreationTimestamp string            `json:"creationTimestamp,omitempty"`
}

type hostSpec struct {
	BMC            *hostBMC `json:"bmc,omitempty"`
	BootMACAddress string   `json:"bootMACAddress,omitempty"`
	Online         bool     `json:"online"`
	// ConsumerRef is the machine that has it, as CAPM3 calls it.
	ConsumerRef *hostConsumer `json:"consumerRef,omitempty"`
}

type hostBMC struct {
	Address string `json:"address"`
}

type hostConsumer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

type hostStatus struct {
	OperationalStatus string           `json:"operationalStatus,omitempty"`
	ErrorType         string           `json:"errorType,omitempty"`
	ErrorMessage      string           `json:"errorMessage"`
	PoweredOn         *bool            `json:"poweredOn,omitempty"` // absent: not known
	Provisioning      hostProvisioning `json:"provisioning"`
	Hardware          *hostHardware    `json:"hardware,omitempty"`
}

type hostProvisioning struct {
	State    string `json:"state"`
	ID       string `json:"ID"`
	BootMode string `json:"bootMode,omitempty"`
}

// encodeHost returns the file of h, of which the reports of the clusters by tell.
func encodeHost(h fleet.Host, by []fleet.Key) ([]byte, error) {
	f := hostFile{
		typeMeta: hostKind.meta(),
		Metadata: hostMeta{Namespace: h.Namespace, Name: h.Name, Labels: h.Labels, Annotations: hostAnnotations(h, by), CreationTimestamp: timeText(h.Enrolled)},
		Spec:     hostSpec{BootMACAddress: h.BootMAC, Online: h.Online},
		Status: hostStatus{
			OperationalStatus: h.OperationalStatus(), ErrorType: string(h.TroubleIn), ErrorMessage: h.Trouble,
			Provisioning: hostProvisioning{State: string(h.State), ID: h.ID}, Hardware: hardwareOf(h.Hardware),
		},
	}
	if h.BMC != "" {
		f.Spec.BMC = &hostBMC{h.BMC}
	}
	if c := h.Consumer; c.Machine != "" {
		f.Spec.ConsumerRef = &hostConsumer{"infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine", c.Cluster.Namespace, string(c.Machine)}
	}
	if h.Power != fleet.HostPowerUnknown {
		on := h.Power == fleet.HostOn
		f.Status.PoweredOn = &on
	}
	if h.Hardware != nil {
		f.Status.Provisioning.BootMode = h.Hardware.BootMode
	}
	return hostKind.encode("host "+h.Key().String(), f)
}

func hostAnnotations(h fleet.Host, by []fleet.Key) map[string]string {
	names := make([]string, 0, len(by))
	for _, k := range by {
		names = append(names, k.String())
	}
	gone, cluster := "", ""
	if h.Gone {
		gone = "true"
	}
	if h.Consumer.Cluster != (fleet.Key{}) {
		cluster = h.Consumer.Cluster.String()
	}
	out := make(map[string]string)
	for k, v := range map[string]string{
		hostProviderAnnotation: h.Provider, hostClustersAnnotation: strings.Join(names, ","), hostClusterAnnotation: cluster,
		hostFleetAnnotation: string(h.Consumer.Fleet), hostInstanceAnnotation: h.Consumer.Instance, hostGoneAnnotation: gone,
		hostHeldAnnotation: h.Held, hostNextAnnotation: h.Next.Do, hostWhyAnnotation: h.Next.Why, hostWaitsAnnotation: h.Waits,
		hostSinceAnnotation: timeText(h.Since),
	} {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

// readHost reads the file at p.
func readHost(t fs.FS, p string) cachedHost {
	b, err := fs.ReadFile(t, p)
	c := cachedHost{sum: sha256.Sum256(b)}
	if err == nil {
		c.host, c.by, err = decodeHost(b)
	}
	if err == nil {
		err = checkHost(p, c.host)
	}
	if err != nil {
		c.err = unreadable(p, err)
	}
	return c
}

// decodeHost is the inverse of encodeHost.
func decodeHost(b []byte) (fleet.Host, []fleet.Key, error) {
	var f hostFile
	if err := hostKind.decode(b, &f); err != nil {
		return fleet.Host{}, nil, err
	}
	a := f.Metadata.Annotations
	h := fleet.Host{
		Namespace: f.Metadata.Namespace, Name: f.Metadata.Name, Provider: a[hostProviderAnnotation], State: fleet.HostState(f.Status.Provisioning.State),
		ID: f.Status.Provisioning.ID, Online: f.Spec.Online, Gone: a[hostGoneAnnotation] == "true",
		Consumer: fleet.HostConsumer{Fleet: fleet.ID(a[hostFleetAnnotation]), Instance: a[hostInstanceAnnotation]},
		Trouble:  f.Status.ErrorMessage, TroubleIn: fleet.HostTrouble(f.Status.ErrorType),
		Held: a[hostHeldAnnotation], Next: fleet.HostStep{Do: a[hostNextAnnotation], Why: a[hostWhyAnnotation]}, Waits: a[hostWaitsAnnotation],
		Labels: f.Metadata.Labels, BootMAC: f.Spec.BootMACAddress, Hardware: f.Status.Hardware.fleet(f.Status.Provisioning.BootMode),
	}
	if f.Spec.BMC != nil {
		h.BMC = f.Spec.BMC.Address
	}
	if on := f.Status.PoweredOn; on != nil {
		h.Power = map[bool]fleet.HostPower{true: fleet.HostOn, false: fleet.HostOff}[*on]
	}
	if f.Spec.ConsumerRef != nil {
		h.Consumer.Machine = fleet.MachineName(f.Spec.ConsumerRef.Name)
	}
	var errs []error
	if name := a[hostClusterAnnotation]; name != "" {
		var err error
		h.Consumer.Cluster, err = fleet.ParseKey(name)
		errs = append(errs, err)
	}
	for at, text := range map[*time.Time]string{&h.Enrolled: f.Metadata.CreationTimestamp, &h.Since: a[hostSinceAnnotation]} {
		errs = append(errs, readTime(at, text))
	}
	var by []fleet.Key
	for name := range strings.SplitSeq(a[hostClustersAnnotation], ",") {
		if k, err := fleet.ParseKey(name); err == nil {
			by = append(by, k)
		}
	}
	slices.SortFunc(by, fleet.Key.Compare)
	return h, by, errors.Join(errs...)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func readTime(at *time.Time, text string) (err error) {
	if text != "" {
		*at, err = time.Parse(time.RFC3339, text)
	}
	return err
}
