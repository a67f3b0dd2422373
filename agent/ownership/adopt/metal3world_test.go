package adopt_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// An mstack is a cluster that Cluster API and its provider for Metal3 run, on a double of Ironic.
// The in-memory cloud runs what is on the hosts.
type mstack struct {
	*stack
	ironic *metal3test.Ironic
	hosts  map[string]*metal3test.Host // by the names of BareMetalHosts
}

// newMStack returns a cluster of three machines, with one host to spare. known: the management
// cluster has the Secret that says where Ironic is.
func newMStack(t *testing.T, known bool, o metal3test.Options) *mstack {
	t.Helper()
	return newMStackOn(newManagement(t), known, o, metal3Manifests, nil)
}

// newMStackOn is newMStack for a management cluster, and manifests with what their machines have of
// data templates.
func newMStackOn(m *management, known bool, o metal3test.Options, manifests string, data func(int, providers.AdoptedMachine) (string, map[string]string)) *mstack {
	t := m.T
	t.Helper()
	o.Double = true
	s := &mstack{&stack{world: newRunningOn(m), secrets: filepath.Join(t.TempDir(), "secrets")}, metal3test.New(t, o), make(map[string]*metal3test.Host)}
	s.defineHosts()
	open, err := adopt.Open(t.Context(), s.kube.Config) // which knows the kinds of hosts and pools
	if err != nil {
		t.Fatal(err)
	}
	s.open = open
	s.infra = "Metal3Machine"
	if known {
		s.secret("ironic", "Opaque", nil, s.ironicSecret(), nil)
	}
	for i, m := range s.machines {
		name := fmt.Sprintf("host-%d", i)
		if g, ok := o.Hardware.(*guests); ok {
			g.inside[s.ns+"-"+name] = s.vmOf(m.ID)
		}
		s.machines[i].ID = fleet.ProviderID("metal3://" + s.ns + "/" + name + "/" + string(m.Name))
		uid := s.bareMetalHost(name, string(m.Name))
		s.ironic.Deploy(t, s.hosts[name], metal3test.Deployment{Node: s.ns + "~" + name, Instance: uid, Drive: map[string]any{"user_data": "theirs"}})
		s.renameNode(string(m.Name), s.machines[i].ID)
	}
	s.bareMetalHost("spare", "")
	s.ironic.Deploy(t, s.hosts["spare"], metal3test.Deployment{Node: s.ns + "~spare"})
	s.data = data
	s.createAll(manifests)
	return s
}

// vmOf is the id of the VM in the in-memory cloud that a machine is.
func (s *mstack) vmOf(id fleet.ProviderID) string {
	s.Helper()
	vms, err := s.world.cloud.VMs(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(vms, func(v inmemory.VM) bool { return v.Provider == id })
	if i < 0 {
		s.Fatalf("no VM is %s", id)
	}
	return vms[i].ID
}

func (s *mstack) ironicSecret() fleet.SecretData {
	out := make(fleet.SecretData)
	for k, v := range map[string]string{
		"endpoint": s.ironic.URL(), "username": metal3test.User, "password": metal3test.Password, "ca.crt": string(s.ironic.CA()),
	} {
		out[k] = fleet.NewSecret([]byte(v))
	}
	return out
}

// defineHosts creates the kinds that baremetal-operator and the provider for addresses bring.
func (s *mstack) defineHosts() {
	s.Helper()
	for _, k := range []struct{ group, kind, plural string }{
		{"metal3.io", "BareMetalHost", "baremetalhosts"},
		{"metal3.io", "HostFirmwareSettings", "hostfirmwaresettings"},
		{"metal3.io", "HostFirmwareComponents", "hostfirmwarecomponents"},
		{"metal3.io", "HardwareData", "hardwaredata"},
		{"ipam.metal3.io", "IPPool", "ippools"},
		{"ipam.metal3.io", "IPClaim", "ipclaims"},
		{"ipam.metal3.io", "IPAddress", "ipaddresses"},
	} {
		for _, o := range objects(s.T, fmt.Sprintf(anyCRD, k.plural, k.group, k.group, k.kind, k.kind, k.plural, strings.ToLower(k.kind))) {
			crds := s.api.Resource(o.GroupVersionKind().GroupVersion().WithResource("customresourcedefinitions"))
			if _, err := crds.Create(s.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				s.Fatal(err)
			}
		}
	}
	s.define("")
}

// bareMetalHost adds a host, with its BareMetalHost as the controllers leave it, and returns the UID
// of that. machine is the one that has it; empty: none.
func (s *mstack) bareMetalHost(name, machine string) string {
	s.Helper()
	h := s.ironic.AddHost(s.ns + "-" + name)
	s.hosts[name] = h
	s.secret(name+"-bmc", "Opaque", nil, fleet.SecretData{
		"username": fleet.NewSecret([]byte(metal3test.BMCUser)), "password": fleet.NewSecret([]byte(h.Password())),
	}, nil)
	spec := map[string]any{
		"online": true, "bootMACAddress": h.MAC(), "bootMode": "UEFI", "automatedCleaningMode": "disabled", "architecture": "x86_64",
		"bmc": map[string]any{"address": h.BMC(), "credentialsName": name + "-bmc"},
	}
	state := "available"
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "spec": spec}}
	o.SetLabels(map[string]string{"rack": "a"})
	if machine != "" {
		state = "provisioned"
		maps.Copy(spec, map[string]any{
			"consumerRef": map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": machine, "namespace": s.ns},
			"image":       map[string]any{"url": s.ironic.ImageURL(), "checksum": s.ironic.ImageSHA256(), "checksumType": "sha256", "format": "raw"},
			"userData":    map[string]any{"name": machine, "namespace": s.ns},
			"metaData":    map[string]any{"name": machine + "-metadata", "namespace": s.ns},
			"networkData": map[string]any{"name": machine + "-networkdata", "namespace": s.ns},
		})
		label(o, "cluster.x-k8s.io/cluster-name", s.upstream.cluster)
		label(o, "infrastructure.cluster.x-k8s.io/node-reuse", "control-plane")
		note(o, "clusterctl.cluster.x-k8s.io/block-move", "")
	}
	o.SetName(name)
	o.SetNamespace(s.ns)
	o.SetFinalizers([]string{"baremetalhost.metal3.io"})
	o.Object["status"] = map[string]any{"operationalStatus": "OK", "poweredOn": machine != "", "provisioning": map[string]any{"state": state}}
	made := s.create(o)
	for _, kind := range []string{"HostFirmwareSettings", "HardwareData"} {
		of := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "metal3.io/v1alpha1", "kind": kind, "spec": map[string]any{}}}
		of.SetName(name)
		of.SetNamespace(s.ns)
		_, err := s.api.Resource(schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1", Resource: strings.ToLower(kind)}).Namespace(s.ns).Create(s.Context(), of, metav1.CreateOptions{})
		if err != nil {
			s.Fatal(err)
		}
	}
	return string(made.GetUID())
}

// metal3Machine creates the infrastructure of a Machine, which is ready, with its index and its
// address. Half of its Metal3Data are as older versions make them: their templates own them.
func (u *upstream) metal3Machine(of *unstructured.Unstructured, m providers.AdoptedMachine) {
	u.Helper()
	i := slices.IndexFunc(u.machines, func(x providers.AdoptedMachine) bool { return x.Name == m.Name })
	make := func(by *unstructured.Unstructured, version, kind, name string, spec, status map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}
		if status != nil {
			o.Object["status"] = status
		}
		o.SetName(name)
		o.SetNamespace(u.ns)
		return u.create(u.owned(o, by))
	}
	const infra, ipam = "infrastructure.cluster.x-k8s.io/v1beta2", "ipam.metal3.io/v1alpha1"
	spec := map[string]any{"providerID": string(m.ID), "image": map[string]any{"url": "http://10.0.0.1/node.raw", "checksum": strings.Repeat("0", 64), "checksumType": "sha256"}}
	machine := make(of, infra, "Metal3Machine", string(m.Name), spec, nil)
	templateName, at := "nodes", map[string]string{"nodes": fmt.Sprintf("10.7.0.%d", 10+i)}
	if u.data != nil {
		templateName, at = u.data(i, m)
	}
	template := map[string]any{"name": templateName, "namespace": u.ns}
	claim := make(machine, infra, "Metal3DataClaim", string(m.Name), map[string]any{"template": template}, nil)
	owner := claim
	if i%2 == 1 {
		owner = objects(u.T, "apiVersion: "+infra+"\nkind: Metal3DataTemplate\nmetadata: {name: nodes, uid: \"42\"}\n")[0]
	}
	name := fmt.Sprintf("%s-%d", templateName, i)
	data := make(owner, infra, "Metal3Data", name, map[string]any{
		"claim": map[string]any{"name": string(m.Name), "namespace": u.ns}, "index": int64(i), "template": template,
	}, nil)
	for of, a := range at {
		pool, address := map[string]any{"name": of, "namespace": u.ns}, name+"-"+of+"-address"
		ip := make(data, ipam, "IPClaim", name+"-"+of, map[string]any{"pool": pool}, map[string]any{"address": map[string]any{"name": address, "namespace": u.ns}})
		make(ip, ipam, "IPAddress", address, map[string]any{"claim": map[string]any{"name": ip.GetName()}, "pool": pool, "address": a, "prefix": int64(24)}, nil)
	}
}

// adoption returns an Adoption of the cluster by a program of its own, which is over with the test.
// edit may change its options.
func (s *mstack) adoption(edit func(*adopt.Options)) *adopt.Adoption {
	s.Helper()
	return s.world.adoption(func(o *adopt.Options) {
		p := metal3.New(metal3.Options{
			Ironic: ironic.Options{Rate: 100_000}, Tick: noSharing, Settle: 60 * time.Millisecond, Secret: o.Secrets.GetSecret,
		})
		s.Cleanup(p.Close)
		o.Look = newOperator(s.T, newFleet, s.store, p).reconciler(o.Secrets).Look
		o.Infrastructure = func(string) (providers.Infrastructure, error) { return p, nil }
		if edit != nil {
			edit(o)
		}
	})
}

// flags are those of every command that asks Ironic.
func (s *mstack) flags() []string {
	return []string{"--secrets", s.secrets, "--metal3-tick", "50ms", "--metal3-settle", "300ms", "--metal3-rate", "10000"}
}

// nodes returns the nodes of Ironic as text, without their marks, and the marks by their names.
func (s *mstack) nodes() (map[string]string, map[string]map[string]any) {
	s.Helper()
	all, marks := make(map[string]string), make(map[string]map[string]any)
	listed, _ := s.ironic.Ask(s.T, http.MethodGet, "/v1/nodes?limit=1000", nil)["nodes"].([]any)
	for _, v := range listed {
		n := v.(map[string]any)
		name := fmt.Sprint(n["name"])
		extra, _ := n["extra"].(map[string]any)
		info, _ := n["instance_info"].(map[string]any)
		if kept, ok := extra["fairlead"].(map[string]any); ok {
			marks[name], _ = kept["tags"].(map[string]any)
		}
		driver, _ := n["driver_info"].(map[string]any)
		delete(driver, "fairlead_prepared")
		delete(extra, "fairlead")
		delete(info, "fairlead")
		delete(n, "reservation")
		maps.DeleteFunc(n, func(_ string, v any) bool { return v == nil })
		text, err := json.Marshal(n)
		if err != nil {
			s.Fatal(err)
		}
		all[name] = string(text)
	}
	return all, marks
}

// states are what hosts really do.
func (s *mstack) states() map[string]metal3test.State {
	out := make(map[string]metal3test.State)
	for name, h := range s.hosts {
		out[name] = h.State()
	}
	return out
}

// hostPauses are the pauses of BareMetalHosts, by their names.
func (s *mstack) hostPauses() map[string]string {
	s.Helper()
	list, err := s.bareMetalHosts().List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	out := make(map[string]string)
	for _, o := range list.Items {
		if by, ok := o.GetAnnotations()["baremetalhost.metal3.io/paused"]; ok {
			out[o.GetName()] = by
		}
	}
	return out
}

// bareMetalHosts are the hosts of the management cluster.
func (s *mstack) bareMetalHosts() dynamic.ResourceInterface {
	return s.resource(schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}, s.ns)
}

// editHost changes a BareMetalHost, and returns what changes it back.
func (s *mstack) editHost(name string, status bool, v any, path ...string) (restore func()) {
	s.Helper()
	gvk := schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}
	var before any
	put := func(o map[string]any, v any) {
		if v == nil {
			unstructured.RemoveNestedField(o, path...)
			return
		}
		_ = unstructured.SetNestedField(o, v, path...)
	}
	s.change(gvk, name, status, func(o map[string]any) {
		before, _, _ = unstructured.NestedFieldCopy(o, path...)
		put(o, v)
	})
	return func() { s.change(gvk, name, status, func(o map[string]any) { put(o, before) }) }
}
