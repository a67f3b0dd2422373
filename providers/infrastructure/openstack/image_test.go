package openstack_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

const nodeURL = "https://images.test/node-1.qcow2"

// madeImage is an Image, normalised, that is made from a URL.
func madeImage(url string) *api.ImageSpec {
	return &api.ImageSpec{
		ManagementPolicy: api.Managed, ManagedOptions: &api.ManagedOptions{OnDelete: api.OnDeleteDelete},
		CloudCredentialsRef: api.CloudCredentialsReference{SecretName: credential.Name, CloudName: "openstack"},
		Resource: &api.ImageResource{
			Name:    ptr("node"),
			Content: &api.ImageContent{ContainerFormat: "bare", DiskFormat: "qcow2", Download: &api.ImageDownload{URL: url}},
		},
	}
}

// boots returns a machine that boots from the image of s.
func boots(s *api.ImageSpec) *api.OpenStackMachineSpec {
	m := machineSpec()
	m.Image = api.ImageParam{ImageRef: &api.ResourceReference{Name: s.Essence()}}
	return m
}

// give puts Images into the cluster, in place of those that it has.
func (w *world) give(specs ...*api.ImageSpec) {
	w.Helper()
	w.cluster.Companions = nil
	for i, s := range specs {
		o := object(w, "Image", "image-"+string(rune('a'+i)), w.cloud.CloudsYAML(ost.URL, "alice"), s)
		o.GVK = schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "Image"}
		w.cluster.Companions = append(w.cluster.Companions, o)
	}
}

// template gives the pools of the cluster a machine.
func (w *world) template(m *api.OpenStackMachineSpec, hash fleet.TemplateHash) {
	w.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	w.cluster.Workers = slices.Clone(w.cluster.Workers)
	w.cluster.Workers[0].Infrastructure.Spec, w.cluster.ControlPlane.Infrastructure.Spec = b, b
	w.cluster.Workers[0].Template = hash
}

// images returns those of the project that a fleet made, oldest first.
func (w *world) images() []ost.Object {
	return slices.DeleteFunc(w.cloud.Objects(ost.Images), func(o ost.Object) bool {
		return !slices.ContainsFunc(o.Strings("tags"), func(t string) bool { return strings.HasPrefix(t, "fairlead.dev:") })
	})
}

// wantImages fails unless the images that were made have those names and statuses.
func (w *world) wantImages(want ...string) {
	w.Helper()
	var got []string
	for _, o := range w.images() {
		got = append(got, o.String("name")+" "+o.String("status"))
	}
	if !slices.Equal(got, want) {
		w.Errorf("images = %q, want %q", got, want)
	}
}

func withImage(t *testing.T, f func(w *world)) {
	s := madeImage(nodeURL)
	inBubble(t, clusterSpec(), boots(s), func(w *world) {
		w.cloud.Set(func(o *ost.Options) { o.Delays.Import = 20 * time.Second })
		w.give(s)
		f(w)
	})
}

// TestImageLife: an image is made before the first machine, machines boot from it, a
// changed one is made beside it, and it goes when no machine boots from it.
func TestImageLife(t *testing.T) {
	withImage(t, func(w *world) {
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "make image node") {
			t.Errorf("at first ready %v, %q", got.Ready, got.Message)
		}
		importing := false
		for range 60 {
			got := w.observe()
			if importing = importing || got.Message == "image node is being imported"; got.Ready {
				break
			}
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster) // what waits is told by Observe
			time.Sleep(2 * time.Second)
		}
		if !importing {
			t.Error("nothing told that the image was being imported")
		}
		w.settle()
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		w.wantImages("node active")
		first := w.images()[0]
		want := []string{"fairlead.dev:cluster=prod:eu-1", "fairlead.dev:fleet=fleet-a", "fairlead.dev:image=" + madeImage(nodeURL).Key()}
		if got := first.Strings("tags"); !slices.Equal(got, want) {
			t.Errorf("tags = %q, want %q", got, want)
		}
		if got := w.cloud.Objects(ost.Servers)[0].String("image"); got != first.ID() {
			t.Errorf("the server boots from %q, want %q", got, first.ID())
		}

		next := madeImage("https://images.test/node-2.qcow2")
		w.give(next)
		w.template(boots(next), "1-md2")
		if got := w.observe(); !got.Ready || !slices.Contains(got.Upkeep, "make image node") {
			t.Errorf("with another image: ready %v, upkeep %q", got.Ready, got.Upkeep)
		}
		w.wantError("a machine before its image", w.create(2), fleet.Conflict, "image node", "is not there yet")
		if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
			t.Error(err)
		}
		w.wantError("a machine before its image", w.create(2), fleet.Conflict, "image node is being made")
		time.Sleep(time.Minute)
		w.calm()
		w.wantImages("node active", "node active") // the first machine boots from the former one
		w.mustCreate(2)
		w.await(2, fleet.MachineRunning)
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, fleet.NewMachineName(w.cluster.Key, "eu-1-md-0", "1-md", 1), ""); err != nil {
			t.Fatal(err)
		}
		w.calm()
		w.wantImages("node active")
		if got := w.images()[0].ID(); got == first.ID() {
			t.Error("the wrong image went")
		}
		w.remove()
		w.wantImages()
	})
}

// TestImageOnDelete: an image that is to stay stays, is no orphan, and is used again.
func TestImageOnDelete(t *testing.T) {
	withImage(t, func(w *world) {
		s := madeImage(nodeURL)
		s.ManagedOptions.OnDelete = api.OnDeleteDetach
		w.give(s)
		w.settle()
		w.remove()
		w.wantImages("node active")
		orphans, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster})
		if err != nil || len(orphans) > 0 {
			t.Errorf("orphans = %v, %v", orphans, err)
		}
		w.cluster.Delete = false
		w.settle()
		w.wantImages("node active")
		s.ManagedOptions.OnDelete = api.OnDeleteDelete // the wish may change while the cluster lives
		w.give(s)
		w.settle()
		w.remove()
		w.wantImages()
	})
}

// TestImageImport: an image that only its visibility tells is found by it.
func TestImageImport(t *testing.T) {
	s := &api.ImageSpec{
		ManagementPolicy: api.Unmanaged, Import: &api.ImageImport{Filter: &api.ImageImportFilter{Name: ptr("ubuntu"), Visibility: ptr("private")}},
		CloudCredentialsRef: api.CloudCredentialsReference{SecretName: credential.Name, CloudName: "openstack"},
	}
	inBubble(t, clusterSpec(), boots(s), func(w *world) {
		w.give(s)
		w.settle()
		w.wantError("a machine of no image", w.create(1), fleet.Invalid, `the project sees no image like {"name":"ubuntu","visibility":"private"}`)
		own := w.cloud.Add("alpha", ost.Images, ost.Object{"name": "ubuntu", "status": "active", "visibility": "private"})
		time.Sleep(tick)
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		if got := w.cloud.Objects(ost.Servers)[0].String("image"); got != own {
			t.Errorf("the server boots from %q, want the private one", got)
		}
	})
}

// TestImageOfBastion: a bastion waits for its image.
func TestImageOfBastion(t *testing.T) {
	s := madeImage(nodeURL)
	spec := clusterSpec()
	spec.Bastion = &api.Bastion{Enabled: ptr(true), Spec: boots(s)}
	inBubble(t, spec, machineSpec(), func(w *world) {
		w.give(s)
		w.settle()
		time.Sleep(time.Minute)
		w.settle()
		all := w.cloud.Objects(ost.Servers)
		if len(all) != 1 || all[0].String("image") != w.images()[0].ID() {
			t.Errorf("servers = %v, want the bastion, of the image", all)
		}
		w.remove()
		w.wantImages()
	})
}
