package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

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
