package vcenter

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	vcenterapi "github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"

	_ "github.com/vmware/govmomi/pbm/simulator"  // storage policies
	_ "github.com/vmware/govmomi/vapi/simulator" // tags
)

// tag makes a category and a tag in it.
func (w *world) makeTag(c *Client, category, name string) (id string) {
	w.t.Helper()
	err := c.rest(w.t.Context(), "make a tag", func(ctx context.Context, r *rest.Client) error {
		m := tags.NewManager(r)
		in, err := m.CreateCategory(ctx, &tags.Category{Name: category, Cardinality: "MULTIPLE"})
		if err != nil {
			return err
		}
		id, err = m.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: in})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func TestTags(t *testing.T) {
	w := newWorld(t, Options{})
	c, ctx := w.client(), t.Context()
	id := w.makeTag(c, "k8s-zone", "z1")
	vm := w.vm("DC0_H0_VM0").Self
	for range 2 {
		if err := c.AttachTags(ctx, vm, []string{id}); err != nil {
			t.Fatal(err)
		}
	}
	want := Tag{ID: id, Name: "z1", Category: "k8s-zone"}
	if got, err := c.TagIDsOf(ctx, vm); err != nil || !slices.Equal(got, []string{id}) {
		t.Errorf("their ids are %v, %v", got, err)
	}
	if got, err := c.Tag(ctx, id); err != nil || *got != want {
		t.Errorf("the tag is %v, %v", got, err)
	}
	if _, err := c.Tag(ctx, strings.Replace(id, "z1", "z2", 1)+"x"); !NotFound(err) {
		t.Errorf("a tag that is not there: %v", err)
	}
}

// TestRESTSession: it is opened once, and again where it ended.
func TestRESTSession(t *testing.T) {
	w := newWorld(t, Options{})
	c, ctx := w.client(), t.Context()
	vm := w.vm("DC0_H0_VM0").Self
	for range 2 {
		if _, err := c.TagIDsOf(ctx, vm); err != nil {
			t.Fatal(err)
		}
	}
	ask, login := "POST /rest/com/vmware/cis/tagging/tag-association", "POST /rest/com/vmware/cis/session"
	if got := w.called(); got != strings.Join([]string{"RetrieveServiceContent Login", login, ask, ask}, " ") {
		t.Errorf("two questions called %s", got)
	}
	c.restful.SessionID("ended")
	if _, err := c.TagIDsOf(ctx, vm); err != nil {
		t.Fatal(err)
	}
	if got := w.called(); got != strings.Join([]string{ask, login, ask}, " ") {
		t.Errorf("after the session ended it called %s", got)
	}
	c.Close()
	if got := w.called(); got != "DELETE /rest/com/vmware/cis/session Logout" {
		t.Errorf("closing called %s", got)
	}
}

func TestPolicies(t *testing.T) {
	w := newWorld(t, Options{}, func(m *simulator.Model) { m.Datastore = 2 })
	c, ctx := w.client(), t.Context()
	id, err := c.Policy(ctx, "vSAN Default Storage Policy")
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	w.called()
	if same, err := c.Policy(ctx, id); err != nil || same != id || w.called() != "" {
		t.Errorf("by id it is %s, %v", same, err)
	}
	if _, err := c.Policy(ctx, "gold"); !NotFound(err) || !strings.HasPrefix(err.Error(), "cannot find storage policy gold: it is not there, or the user may not see it (StorageProfile.View); there are: ") || !strings.Contains(err.Error(), "vSAN Default Storage Policy") {
		t.Error(err)
	}
	i := w.inventory()
	var all []*Entity
	for _, e := range i.all {
		if e.Kind == KindDatastore {
			all = append(all, e)
		}
	}
	w.endSessions()
	w.called()
	got, err := c.Compatible(ctx, id, all)
	if err != nil || len(got) != 2 {
		t.Errorf("compatible are %v, %v", got, err)
	}
	if got := w.called(); !strings.Contains(got, "PbmCheckRequirements Login PbmCheckRequirements") && !strings.Contains(got, "PbmRetrieveServiceContent Login") {
		t.Errorf("after the session ended it called %s", got)
	}
}

func TestBackings(t *testing.T) {
	w := newWorld(t, Options{}, func(m *simulator.Model) { m.OpaqueNetwork = 1 })
	c := w.client()
	i := w.inventory()
	dc, _ := i.Datacenter("")
	for name, want := range map[string]func(types.BaseVirtualDeviceBackingInfo) bool{
		"VM Network": func(b types.BaseVirtualDeviceBackingInfo) bool {
			n, ok := b.(*types.VirtualEthernetCardNetworkBackingInfo)
			return ok && n.DeviceName == "VM Network" && n.Network != nil
		},
		"DC0_DVPG0": func(b types.BaseVirtualDeviceBackingInfo) bool {
			n, ok := b.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
			return ok && n.Port.PortgroupKey != "" && n.Port.SwitchUuid != ""
		},
		"DC0_NSX0": func(b types.BaseVirtualDeviceBackingInfo) bool {
			n, ok := b.(*types.VirtualEthernetCardOpaqueNetworkBackingInfo)
			return ok && n.OpaqueNetworkId != ""
		},
	} {
		network, err := i.Network(dc, nil, name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Backing(t.Context(), network)
		if err != nil || !want(b) {
			t.Errorf("%s is connected to by %+v, %v", name, b, err)
		}
	}
	if _, err := c.Backing(t.Context(), dc); toldOf(err) != "Invalid: cannot connect a network card to /DC0: it is a Datacenter" {
		t.Error(err)
	}
}

// TestLibrary: an item that is a VM template is the VM behind it; an OVF has none.
func TestLibrary(t *testing.T) {
	w := newWorld(t, Options{})
	c, ctx := w.client(), t.Context()
	vm := w.vm("DC0_H0_VM0")
	err := c.rest(ctx, "fill a library", func(ctx context.Context, r *rest.Client) error {
		m := library.NewManager(r)
		id, err := m.CreateLibrary(ctx, library.Library{Name: "images", Type: "LOCAL", Storage: []library.StorageBacking{{DatastoreID: vm.Datastore[0].Value, Type: "DATASTORE"}}})
		if err != nil {
			return err
		}
		if _, err := m.CreateLibraryItem(ctx, library.Item{Name: "ova", Type: library.ItemTypeOVF, LibraryID: id}); err != nil {
			return err
		}
		_, err = vcenterapi.NewManager(r).CreateTemplate(ctx, vcenterapi.Template{
			Name: "ubuntu", Library: id, SourceVM: vm.Self.Value,
			Placement: &vcenterapi.Placement{Folder: vm.Parent.Value, ResourcePool: vm.ResourcePool.Value},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// vcsim does not tell it. Source of the field: vSphere Automation API, VmTemplate LibraryItems Info.
	w.between(func(r *http.Request, base http.RoundTripper) (*http.Response, error) {
		resp, err := base.RoundTrip(r)
		if err == nil && strings.Contains(r.URL.Path, "/vcenter/vm-template/library-items/") {
			return replaced(resp, `{"value":{`, `{"value":{"vm_template":"vm-99",`)
		}
		return resp, err
	})
	if ref, err := c.LibraryTemplate(ctx, "images", "ubuntu"); err != nil || ref != (Ref{Type: "VirtualMachine", Value: "vm-99"}) {
		t.Errorf("the template is %v, %v", ref, err)
	}
	w.between(nil)
	for name, x := range map[string]struct{ library, item, want string }{
		"not told":   {"images", "ubuntu", "Unavailable: cannot find ubuntu in content library images: vCenter does not tell which VM template it is"},
		"OVF":        {"images", "ova", "Invalid: cannot find ova in content library images: it is of type ovf, and only a VM template can be cloned (clone it to the library as a VM template, or deploy it once and name that VM)"},
		"no item":    {"images", "x", "NotFound: cannot find x in content library images: the library has no such item"},
		"no library": {"x", "y", "NotFound: cannot find y in content library x: there is no such library, or the user may not see it"},
	} {
		if _, err := c.LibraryTemplate(ctx, x.library, x.item); toldOf(err) != x.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
