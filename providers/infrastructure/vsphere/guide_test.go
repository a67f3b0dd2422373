package vsphere_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// symptoms produces what the table of docs/guides/infrastructure/vsphere.md "When something is wrong" tells, by the
// words that a row begins with, and returns what people are told.
var symptoms = map[string]func(b *bench) string{
	"it is not there, or the user may not see it; there are: …": func(b *bench) string {
		return b.refused(func(s *api.VSphereMachineSpec) { s.Datastore = "no-such-store" })
	},
	"it is a datastore cluster (name one of its datastores, …, or a storage policy)": func(b *bench) string {
		folder, err := find.NewFinder(b.w.Local(), false).Folder(b.t.Context(), "/DC0/datastore")
		if err == nil {
			_, err = folder.CreateStoragePod(b.t.Context(), "gold")
		}
		if err != nil {
			b.t.Fatal(err)
		}
		return b.refused(func(s *api.VSphereMachineSpec) { s.Datastore = "gold" })
	},
	"it is of type ovf, and only a VM template can be cloned": func(b *bench) string {
		c, err := b.w.REST(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		m := library.NewManager(c)
		id, err := m.CreateLibrary(b.t.Context(), library.Library{Name: "images", Type: "LOCAL", Storage: []library.StorageBacking{{
			DatastoreID: b.w.Ref("/DC0/datastore/LocalDS_0").Value, Type: "DATASTORE",
		}}})
		if err == nil {
			_, err = m.CreateLibraryItem(b.t.Context(), library.Item{Name: "ubuntu", Type: library.ItemTypeOVF, LibraryID: id})
		}
		if err != nil {
			b.t.Fatal(err)
		}
		return b.refused(func(s *api.VSphereMachineSpec) { s.Template = "images/ubuntu" })
	},
	"several are meant (write the path of one)": func(b *bench) string {
		b.w.AddMachine("/DC0/vm/fleet", "twin")
		b.w.AddMachine("/DC0/vm/templates", "twin")
		return b.refused(func(s *api.VSphereMachineSpec) { s.Template = "twin" })
	},
	"has no tag … of category …": func(b *bench) string {
		c := b.w.selecting(b.t, b.w.zoned(b.t))
		b.retag("/DC0/host/DC0_C1", "k8s-zone", "zone-0-1", false)
		return told(newProvider(b.t, nil).EnsureInfrastructure(b.t.Context(), "op", &c))
	},
	"the user lacks … on …": func(b *bench) string {
		b.as(vspheretest.Grant{Path: "/"})
		return told(b.p.EnsureInfrastructure(b.t.Context(), "op", b.c))
	},
	"cloneMode is linkedClone and it has no snapshot": func(b *bench) string {
		return newBench(b.t, func(s *api.VSphereMachineSpec) {
			s.Template, s.CloneMode = "/DC0/vm/templates/flatcar-stable-kube-v1.34.0", api.LinkedClone
		}).failed()
	},
	"cloneMode is linkedClone, in which disks stay as large as in the template": func(b *bench) string {
		return newBench(b.t, func(s *api.VSphereMachineSpec) { s.DiskGiB, s.CloneMode = 100, api.LinkedClone }).failed()
	},
	"The name '…' already exists": func(b *bench) string {
		b.w.AddMachine(b.folder(), "m-0")
		return b.failed()
	},
	"Insufficient disk space on datastore '…'": func(b *bench) string {
		b.w.SetFull("/DC0/datastore/LocalDS_0", true)
		return b.failed()
	},
	"all of its … addresses are taken": func(b *bench) string {
		x := drawing(b.t, b.w, "acme", "eu-2", "10.7.0.10-10.7.0.11")
		x.ensure()
		x.runs(x.c.ControlPlane, "cp-0")
		y := drawing(b.t, b.w, "acme", "eu-3", "10.7.0.10-10.7.0.11")
		return told(y.p.EnsureInfrastructure(b.t.Context(), "op", y.c))
	},
	"it was given to the endpoint of cluster … from a pool": func(b *bench) string {
		x := drawing(b.t, b.w, "acme", "eu-2", "10.7.0.10-10.7.0.11")
		x.ensure()
		x.runs(x.c.ControlPlane, "cp-0")
		b.endpoint(func(s *api.VSphereClusterSpec) { s.ControlPlaneEndpoint.Host = x.observe().Endpoint.Host })
		return told(newProvider(b.t, nil).EnsureInfrastructure(b.t.Context(), "op", b.c))
	},
	"the control plane brings a program of its own that serves the endpoint": func(b *bench) string {
		x := drawing(b.t, b.w, "acme", "eu-2", "10.7.0.10")
		x.c.ControlPlane.Bootstrap.Spec = []byte(`{"files": [{"path": "/etc/kubernetes/manifests/kube-vip.yaml"}]}`)
		return told(x.p.EnsureInfrastructure(b.t.Context(), "op", x.c))
	},
	"cannot finish task VirtualMachine.powerOn of vCenter": func(b *bench) string {
		fault := b.w.FailTasks(vspheretest.TaskFault{Task: "PowerOnVM_Task", Fault: &types.InvalidVmConfig{Property: "hardware"}})
		b.t.Cleanup(fault.End)
		if err := b.ask("m-0"); err != nil {
			b.t.Fatal(err)
		}
		b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) > 0 })
		b.ensure()
		return b.until("it failed", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachineFailed }).Machines[0].Message
	},
	"fairlead.dev/tags is missing": func(b *bench) string {
		b.make("m-0")
		b.w.SetExtraConfig(b.vms("m-0")[0].Ref, map[string]string{"fairlead.dev/tags": ""})
		return b.until("the damage", func(i fleet.Infrastructure) bool { return i.Machines[0].Damaged != "" }).Machines[0].Damaged
	},
	"it is called like a machine of pool …, in a folder of these (rename … if it is none)": func(b *bench) string {
		b.w.AddMachine(b.folder(), string(b.c.MachineName(&b.c.Workers[0], 0)))
		return b.until("it is told", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 }).Machines[0].Damaged
	},
	"which these tags do not make": func(b *bench) string {
		b.make("m-0")
		b.w.SetExtraConfig(b.vms("m-0")[0].Ref, map[string]string{"fairlead.dev/tags": `{"fairlead-fleet":"another"}`})
		return b.until("the damage", func(i fleet.Infrastructure) bool { return i.Machines[0].Damaged != "" }).Machines[0].Damaged
	},
	"vCenter says that the VM is …": func(b *bench) string {
		b.make("m-0")
		b.w.Crash("/DC0/host/DC0_C0/" + b.vms("m-0")[0].Host)
		return b.until("it is silent", func(i fleet.Infrastructure) bool { return i.Machines[0].Silent }).Machines[0].Message
	},
	"the VM is suspended": func(b *bench) string {
		b.make("m-0")
		b.w.Edit(b.vms("m-0")[0].Ref, types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStateSuspended})
		return b.until("it is suspended", func(i fleet.Infrastructure) bool { return i.Machines[0].Message != "" }).Machines[0].Message
	},
	"its certificate has not the thumbprint …, but …": func(b *bench) string {
		c := b.w.cluster(b.t, nil)
		spec, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			b.t.Fatal(err)
		}
		spec.Thumbprint = strings.Repeat("00:", 31) + "00"
		c.Infrastructure = newObject(b.t, "VSphereCluster", "eu-1", spec)
		c.Infrastructure.Secrets = b.c.Infrastructure.Secrets
		return told(newProvider(b.t, nil).EnsureInfrastructure(b.t.Context(), "op", &c))
	},
	"incorrect user name or password": func(b *bench) string {
		b.p = newProvider(b.t, nil)
		b.w.SetPassword(vspheretest.Administrator, "another")
		_, err := b.p.Observe(b.t.Context(), b.c)
		return told(err)
	},
}

// refused returns why machines of a pool with this change cannot be.
func (b *bench) refused(change func(s *api.VSphereMachineSpec)) string {
	b.t.Helper()
	c := b.w.cluster(b.t, change)
	return told(newProvider(b.t, nil).EnsureInfrastructure(b.t.Context(), "op", &c))
}

// failed asks for a machine, and returns why there is none.
func (b *bench) failed() string {
	b.t.Helper()
	if err := b.ask("m-0"); err != nil {
		return told(err)
	}
	return b.until("the failure", func(i fleet.Infrastructure) bool { return len(i.Failures) == 1 }).Failures[0].Message
}

// folder is that of the machines.
func (b *bench) folder() string {
	b.t.Helper()
	m, err := api.ReadMachine(b.c.Workers[0].Infrastructure)
	if err != nil {
		b.t.Fatal(err)
	}
	return m.Folder
}

func told(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestTroubleshooting: each message that the guide lists is what people are told.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/guides/infrastructure/vsphere.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## When something is wrong\n")
	table, _, _ = strings.Cut(table, "\n## ")
	words := regexp.MustCompile("`([^`]+)`")
	var rows []string
	for _, row := range strings.Split(table, "\n| ")[2:] {
		symptom, _, _ := strings.Cut(row, " | ")
		quotes := words.FindAllStringSubmatch(symptom, -1)
		if len(quotes) == 0 {
			t.Errorf("the row quotes no message: %s", row)
			continue
		}
		name := quotes[0][1]
		rows = append(rows, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			produce := symptoms[name]
			if produce == nil {
				t.Fatal("nothing here produces it")
			}
			got := produce(newBench(t, nil))
			rest := got
			for _, q := range quotes {
				for part := range strings.SplitSeq(q[1], "…") {
					_, after, ok := strings.Cut(rest, part)
					if !ok {
						t.Errorf("people are told %q, the guide has %q", got, q[1])
					}
					rest = after
				}
			}
		})
	}
	if all := slices.Sorted(maps.Keys(symptoms)); !slices.Equal(slices.Sorted(slices.Values(rows)), all) {
		t.Errorf("the guide has the rows\n%s\nproduced are\n%s", strings.Join(slices.Sorted(slices.Values(rows)), "\n"), strings.Join(all, "\n"))
	}
}
