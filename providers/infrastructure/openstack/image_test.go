package openstack_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack"
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

// TestImageShared: clusters of a fleet that want the same share one image, which goes
// with the last of them.
func TestImageShared(t *testing.T) {
	withImage(t, func(w *world) {
		w.settle()
		first := w.cluster
		w.cluster.Key.Name = "eu-2"
		w.settle()
		w.wantImages("node active")
		w.remove()
		w.wantImages("node active")
		w.cluster = first
		w.remove()
		w.wantImages()
	})
}

// TestImageInUse: an image that servers of others boot from, or that Glance keeps,
// outlives its cluster and is an orphan.
func TestImageInUse(t *testing.T) {
	withImage(t, func(w *world) {
		w.settle()
		id := w.images()[0].ID()
		server := w.cloud.Add("alpha", ost.Servers, ost.Object{"name": "by hand", "status": "ACTIVE", "image": id})
		time.Sleep(2 * tick) // until a look shows it
		w.remove()
		w.wantImages("node active")
		w.cloud.Remove(ost.Servers, server)
		time.Sleep(time.Minute)
		found := func() []fleet.Orphan {
			orphans, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster})
			if err != nil {
				t.Fatal(err)
			}
			return orphans
		}
		orphans := found()
		if len(orphans) != 1 || orphans[0].Kind != "image" || orphans[0].Name != "node" || orphans[0].Reason != "no cluster uses it" {
			t.Fatalf("orphans = %+v", orphans)
		}
		w.cloud.Edit(ost.Images, id, func(o ost.Object) { o["in_use"] = true })
		err := w.provider.RemoveOrphan(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster}, orphans[0])
		w.wantError("removing what Glance keeps", err, fleet.Conflict, "Glance keeps it")
		w.cloud.Edit(ost.Images, id, func(o ost.Object) { delete(o, "in_use") })
		if err := w.provider.RemoveOrphan(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster}, orphans[0]); err != nil {
			t.Fatal(err)
		}
		w.wantImages()
		time.Sleep(2 * tick)
		if orphans := found(); len(orphans) > 0 {
			t.Errorf("orphans = %+v", orphans)
		}
	})
}

// TestImageOfLostCluster: an image of a cluster that left Git is an orphan.
func TestImageOfLostCluster(t *testing.T) {
	withImage(t, func(w *world) {
		w.settle()
		other := w.cluster
		other.Key.Name, other.Companions = "eu-2", nil
		orphans, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(orphans, func(o fleet.Orphan) bool { return o.Kind == "image" })
		if i < 0 || orphans[i].Reason != "cluster prod/eu-1 is not in Git" || orphans[i].Cluster.Name != "eu-1" {
			t.Fatalf("orphans = %+v", orphans)
		}
		if orphans, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster}); err != nil || len(orphans) > 0 {
			t.Errorf("orphans of a cluster that lives = %+v, %v", orphans, err)
		}
	})
}

// TestImageTwice: whatever call the agent dies at, before or after it did its work,
// one image is there in the end, and none once the cluster is gone.
func TestImageTwice(t *testing.T) {
	for _, moment := range []ost.Moment{ost.Before, ost.After} {
		for n := 1; n < 40; n++ {
			died := false
			withImage(t, func(w *world) {
				w.client.DieAtChange(n, moment)
				for range 40 {
					if got, err := w.provider.Observe(w.Context(), &w.cluster); err == nil && got.Ready && len(got.Drift) == 0 {
						break
					}
					_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
					time.Sleep(2 * time.Second)
					if died = w.client.Dead(); died {
						break
					}
				}
				w.restart()
				time.Sleep(settle)
				w.settle()
				w.wantImages("node active")
				w.remove()
				w.wantImages()
			})
			if !died {
				break
			}
		}
	}
}

// TestImageDeleteTwice is TestImageTwice for the removal.
func TestImageDeleteTwice(t *testing.T) {
	for n := 1; n < 12; n++ {
		died := false
		withImage(t, func(w *world) {
			w.settle()
			w.client.DieAtChange(n, ost.After)
			w.cluster.Delete = true
			for range 60 {
				if got, err := w.provider.Observe(w.Context(), &w.cluster); err == nil && !got.Exists {
					break
				}
				_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster)
				time.Sleep(3 * time.Second)
				if died = w.client.Dead(); died {
					break
				}
			}
			w.restart()
			time.Sleep(settle)
			w.remove()
			w.wantImages()
		})
		if !died {
			break
		}
	}
}

// TestImageFaults: what is wrong is told before a machine is made, and mended when it
// is right.
func TestImageFaults(t *testing.T) {
	sum := md5.Sum([]byte("content")) //nolint:gosec // Glance's checksum
	for name, tc := range map[string]struct {
		spoil func(o *ost.Options)
		hash  string
		want  string
		mend  func(w *world)
	}{
		"web-download is not offered": {
			spoil: func(o *ost.Options) { o.ImportMethods = []string{"glance-direct"} },
			want:  "it does not do that here (it offers glance-direct): upload the image, and have the Image find it with managementPolicy unmanaged",
			mend:  func(w *world) { w.cloud.Set(func(o *ost.Options) { o.ImportMethods = []string{"web-download"} }) },
		},
		"the import fails": {
			spoil: func(o *ost.Options) {
				o.FailImport = func(_ ost.Object, url string) string { return "URL " + url + " returned 404." }
			},
			want: "import image node: Glance says: URL https://images.test/node-1.qcow2 returned 404 (see",
			mend: func(w *world) { w.cloud.Set(func(o *ost.Options) { o.FailImport = nil }) },
		},
		"another content": {
			spoil: func(o *ost.Options) { o.Download = func(string) []byte { return []byte("forged") } },
			hash:  hex.EncodeToString(sum[:]),
			want:  "Glance has content with md5 ",
			mend: func(w *world) {
				w.cloud.Set(func(o *ost.Options) { o.Download = func(string) []byte { return []byte("content") } })
				w.cloud.Remove(ost.Images, w.images()[0].ID())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withImage(t, func(w *world) {
				s := madeImage(nodeURL)
				if tc.hash != "" {
					s.Resource.Content.Download.Hash = &api.ImageHash{Algorithm: "md5", Value: tc.hash}
				}
				w.give(s)
				w.template(boots(s), "1-md")
				w.cloud.Set(tc.spoil)
				var got fleet.Infrastructure
				for range 60 {
					got = w.observe()
					_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
					time.Sleep(2 * time.Second)
				}
				if got.Ready || !strings.Contains(got.Message, tc.want) {
					t.Errorf("ready %v, %q, want %q", got.Ready, got.Message, tc.want)
				}
				if n := len(w.images()); n > 1 {
					t.Errorf("%d images", n)
				}
				w.wantError("creating a machine", w.create(1), fleet.KindOf(w.create(1)), tc.want)
				tc.mend(w)
				time.Sleep(6 * time.Minute)
				w.settle()
				w.mustCreate(1)
				w.wantImages("node active")
			})
		})
	}
}

// TestImageUnknown: a Glance that does not answer stops no cluster that runs, and ends
// none that is to go.
func TestImageUnknown(t *testing.T) {
	withImage(t, func(w *world) {
		w.settle()
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		w.cloud.Inject(ost.Fault{Service: "image", Status: http.StatusInternalServerError})
		time.Sleep(time.Minute)
		if got := w.observe(); !got.Ready || len(got.Machines) != 1 {
			t.Errorf("ready %v, %d machines", got.Ready, len(got.Machines))
		}
		w.delete(1)
		time.Sleep(time.Minute)
		w.cluster.Delete = true
		if got, err := w.provider.Observe(w.Context(), &w.cluster); err == nil {
			t.Errorf("observed %+v of a cluster that is to go", got)
		}
	})
}

// TestOrphansWithoutGlance: where Glance does not answer, what the other services know
// is found, and can be removed.
func TestOrphansWithoutGlance(t *testing.T) {
	withImage(t, func(w *world) {
		w.settle()
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		other := w.cluster
		other.Key.Name, other.Companions = "eu-2", nil
		w.cloud.Inject(ost.Fault{Service: "image", Status: http.StatusInternalServerError})
		time.Sleep(time.Minute)
		orphans, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
		if err == nil || !strings.Contains(err.Error(), "cannot list images") {
			t.Errorf("what could not be looked at: %v, want the images", err)
		}
		i := slices.IndexFunc(orphans, func(o fleet.Orphan) bool { return o.Kind == "server" })
		if i < 0 {
			t.Fatalf("orphans = %+v, want the server of the cluster that is not in Git", orphans)
		}
		if err := w.provider.RemoveOrphan(w.Context(), "fleet-a", []*fleet.Cluster{&other}, orphans[i]); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if got := w.cloud.Objects(ost.Servers); len(got) > 0 {
			t.Errorf("servers = %v", got)
		}
		err = w.provider.RemoveOrphan(w.Context(), "fleet-a", []*fleet.Cluster{&other}, fleet.Orphan{Place: orphans[i].Place, Kind: "image", ID: "unseen"})
		if err == nil || !strings.Contains(err.Error(), "cannot list images") {
			t.Errorf("removing what was not seen: %v, want that images could not be looked at", err)
		}
	})
}

// TestImageOfOthers: what carries no tag of the fleet, or is another project's, is no
// image of the cluster whatever it is called.
func TestImageOfOthers(t *testing.T) {
	withImage(t, func(w *world) {
		tags := []string{"fairlead.dev:fleet=fleet-a", "fairlead.dev:image=" + madeImage(nodeURL).Key(), "fairlead.dev:cluster=prod:eu-1"}
		forged := w.cloud.Add("beta", ost.Images, ost.Object{"name": "node", "status": "active", "visibility": "public", "tags": tags})
		plain := w.cloud.Add("alpha", ost.Images, ost.Object{"name": "node", "status": "active", "tags": []string{}})
		w.settle()
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		if got := w.cloud.Objects(ost.Servers)[0].String("image"); got == forged || got == plain {
			t.Error("the server boots from what others made")
		}
		w.delete(1)
		w.remove()
		for _, id := range []string{forged, plain} {
			if _, ok := w.cloud.Object(ost.Images, id); !ok {
				t.Error("an image of others is gone")
			}
		}
	})
}

// TestImageLooks: looks at images change nothing.
func TestImageLooks(t *testing.T) {
	withImage(t, func(w *world) {
		w.cloud.ForgetCalls()
		for range 5 {
			w.observe()
		}
		w.cluster.Delete = true
		w.observe()
		if _, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster}); err != nil {
			t.Fatal(err)
		}
		for _, c := range w.cloud.Calls() {
			if c.Changes() {
				t.Errorf("a look changes something: %s %s", c.Method, c.Path)
			}
		}
	})
}

// TestImageProject: an Image for another project than that of the machines that need
// it is told, and one that nobody needs is left to whom it is for.
func TestImageProject(t *testing.T) {
	s := madeImage(nodeURL)
	s.CloudCredentialsRef.SecretName = "other"
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, cloud: ost.New(ost.Options{})}
		w.cluster = newCluster(t, w.cloud.CloudsYAML(ost.URL, "alice"), clusterSpec(), machineSpec())
		w.restart()
		w.give(s)
		w.cluster.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{
			{Namespace: "prod", Name: "other"}: {"clouds.yaml": fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, "bob"))},
		}
		w.settle()
		w.wantImages()
		w.template(boots(s), "1-md")
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "its cloudCredentialsRef leads to another project than that of the machines") {
			t.Errorf("ready %v, %q", got.Ready, got.Message)
		}
		w.cluster.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{
			{Namespace: "prod", Name: "other"}: {"clouds.yaml": fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, "carol"))}, // another user of the same project
		}
		w.settle()
		w.wantImages("node active")
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

// TestImageTogether: agents whose clusters come at the same time, and that know nothing
// of each other, make one image.
func TestImageTogether(t *testing.T) {
	withImage(t, func(w *world) {
		w.cloud.Set(func(o *ost.Options) { o.Delays.Listing = 0 })
		second := w.cluster
		second.Key.Name = "eu-2"
		agents := map[*openstack.Provider]*fleet.Cluster{w.provider: &w.cluster, newProvider(w.cloud, w.cloud.Client()): &second}
		for p, c := range agents {
			if _, err := p.Observe(w.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		for p, c := range agents {
			_ = p.EnsureInfrastructure(w.Context(), "op", c) // it is not done with one step
		}
		if n := len(w.images()); n != 1 {
			t.Errorf("%d images, want one", n)
		}
		w.settle()
		w.cluster = second
		w.settle()
		w.wantImages("node active")
		if got := len(w.images()[0].Strings("tags")); got != 4 {
			t.Errorf("%d tags, want those of both clusters", got)
		}
	})
}

// TestImageLostAnswer: an image whose making was not answered is not made again before
// it had time to show.
func TestImageLostAnswer(t *testing.T) {
	withImage(t, func(w *world) {
		w.give()
		w.template(machineSpec(), "1-md")
		w.settle()
		w.give(madeImage(nodeURL))
		w.template(boots(madeImage(nodeURL)), "1-md")
		w.cloud.Set(func(o *ost.Options) { o.Delays.Listing = 10 * time.Second })
		w.cloud.Inject(ost.Fault{Service: "image", Method: http.MethodPost, Path: "/images", Times: 1, Cut: ost.After})
		for range 10 {
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster) // the first is not answered
			time.Sleep(2 * time.Second)
			if n := len(w.images()); n > 1 {
				t.Fatalf("%d images, want one", n)
			}
		}
		w.settle()
		w.wantImages("node active")
	})
}

// TestImageOfLeftProject: an image in a project that Git does not lead to any more goes
// when no machine there boots from it, and until then the project is looked at.
func TestImageOfLeftProject(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		s := madeImage(nodeURL)
		s.CloudCredentialsRef.SecretName = betaSecret.Name
		w.give(s)
		w.cluster.Secrets = map[string]fleet.SecretData{betaSecret.Name: w.secretOf("bob")}
		lives, leave := w.inBeta(betaIdentity())
		w.wantImages("node active")
		if got := w.images()[0].String("owner"); got != w.cloud.ProjectID("beta") {
			t.Errorf("the image is in project %s", got)
		}
		leave()
		w.restart()
		if got := w.observe(); !got.Places[1].Used || !slices.Contains(got.Upkeep, "let go of image node, which no machine boots from") {
			t.Errorf("places %+v, upkeep %q; remembered %+v", got.Places, got.Upkeep, lives)
		}
		m := w.observe().Machines[0]
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, m.Name, m.ProviderID); err != nil {
			t.Fatal(err)
		}
		w.calm()
		w.wantImages()
		if got := w.observe(); got.Places[1].Used {
			t.Errorf("places %+v", got.Places)
		}
	})
}
