package vsphere_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/run/waits"
)

func TestMain(m *testing.M) { os.Exit(waits.Main(m)) }

// The rhythm of tests: real time passes, so it is short.
const tick, settle = 20 * time.Millisecond, 80 * time.Millisecond

// newProvider returns a provider that ends with the test.
func newProvider(t testing.TB, change func(o *vsphere.Options)) *vsphere.Provider {
	t.Helper()
	o := vsphere.Options{VCenter: vcenter.Options{Tick: tick, Rate: 10_000}, Settle: settle, Patience: 10 * time.Second, Secret: secret}
	if change != nil {
		change(&o)
	}
	p := vsphere.New(o)
	t.Cleanup(p.Close)
	return p
}

// newObject returns an object with spec, which has all defaults.
func newObject(t testing.TB, kind, name string, spec any) fleet.Object {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{GVK: schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}, Namespace: "prod", Name: name, Spec: text}
}

// account is the Secret of clusters.
var account = fleet.Key{Namespace: "prod", Name: "vsphere"}

// secret finds the account of clusters of other namespaces.
func secret(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
	if k.Name != account.Name {
		return nil, fleet.Errorf(fleet.NotFound, "find Secret", "there is none")
	}
	return administrator(), nil
}

func administrator() fleet.SecretData {
	return fleet.SecretData{"username": fleet.NewSecret([]byte(vspheretest.Administrator)), "password": fleet.NewSecret([]byte(vspheretest.Password))}
}

// A world is a vCenter with a cluster on it.
type world struct {
	*vspheretest.VCenter
	folders int
	other   *world // another one that its cluster is on
}

func newWorld(t testing.TB, o vspheretest.Options) *world {
	t.Helper()
	if o.Guest == nil {
		o.Guest = func(m vspheretest.Machine) []string {
			return []string{"10.0.0." + strings.TrimPrefix(m.Ref.Value, "vm-")}
		}
	}
	return &world{VCenter: vspheretest.New(t, o)}
}

// folder makes one of its own for a cluster: VMs of one name are in folders of their own.
func (w *world) folder(t testing.TB) string {
	t.Helper()
	w.folders++
	name := fmt.Sprintf("c%d", w.folders)
	c, err := w.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Logout(context.WithoutCancel(t.Context())) }()
	parent, err := find.NewFinder(c.Client, false).Folder(t.Context(), "/DC0/vm/fleet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.CreateFolder(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return "/DC0/vm/fleet/" + name
}

// machineSpec is that of machines in folder.
func (w *world) machineSpec(folder string, change func(s *api.VSphereMachineSpec)) *api.VSphereMachineSpec {
	s := &api.VSphereMachineSpec{PowerOffMode: api.PowerOffHard}
	s.Template, s.Datacenter, s.Folder = "/DC0/vm/templates/ubuntu-2204-kube-v1.34.0", "DC0", folder
	s.ResourcePool, s.Datastore = "/DC0/host/DC0_C0/Resources/DC0_C0_RP1", "LocalDS_0"
	s.NumCPUs, s.MemoryMiB, s.OS = 2, 2048, api.Linux
	s.Network.Devices = []api.NetworkDeviceSpec{{NetworkConfiguration: api.NetworkConfiguration{NetworkName: "DC0_DVPG0", DHCP4: new(true)}}}
	if change != nil {
		change(s)
	}
	return s
}

// cluster returns one with a control plane and workers in a folder of its own.
func (w *world) cluster(t testing.TB, change func(s *api.VSphereMachineSpec)) fleet.Cluster {
	t.Helper()
	folder := w.folder(t)
	spec := &api.VSphereClusterSpec{
		Server: w.Server(), Thumbprint: w.Thumbprint(), ControlPlaneEndpoint: api.APIEndpoint{Host: "10.0.0.200", Port: 6443},
		IdentityRef: api.VSphereIdentityReference{Kind: api.IdentitySecret, Name: account.Name},
	}
	c := fleet.Cluster{
		Fleet: "acme", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "vsphere", Infrastructure: newObject(t, "VSphereCluster", "eu-1", spec),
		ControlPlane: fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: "v1.34.0", Template: "1-cp"},
		Workers:      []fleet.Pool{{Name: "md-0", Role: fleet.RoleWorker, Replicas: 1, Version: "v1.34.0", Template: "1-md"}},
	}
	c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: administrator()}
	c.ControlPlane.Infrastructure = newObject(t, "VSphereMachineTemplate", "cp", w.machineSpec(folder, change))
	c.Workers[0].Infrastructure = newObject(t, "VSphereMachineTemplate", "md-0", w.machineSpec(folder, change))
	return c
}

// An upkeeper is a provider with the planner's part in it: what is Upkeep after a machine was
// asked for is done.
type upkeeper struct{ *vsphere.Provider }

// CreateMachine implements providers.Infrastructure.
func (u upkeeper) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	if err := u.Provider.CreateMachine(ctx, op, r); err != nil {
		return err
	}
	for range 100 {
		i, err := u.Provider.Observe(ctx, r.Cluster)
		if err != nil {
			return nil //nolint:nilerr // whoever looks next is told
		}
		if len(i.Upkeep) > 0 {
			return u.Provider.EnsureInfrastructure(ctx, "op-upkeep", r.Cluster)
		}
		for _, m := range i.Machines {
			if m.Name == r.Name && m.State != fleet.MachinePending {
				return nil
			}
		}
		if len(i.Failures) > 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond) // the clone runs
	}
	return nil
}
