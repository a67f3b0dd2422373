package openstack_test

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

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
