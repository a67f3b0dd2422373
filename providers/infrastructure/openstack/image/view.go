package image

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A Want is an image that a cluster wants to be there.
type Want struct {
	Spec   *api.ImageSpec // with a Resource
	Needed bool           // machines or the bastion boot from it
	Fault  error          // why it cannot be there until Git changes
}

func (w Want) name() string { return "image " + *w.Spec.Resource.Name }

// tag is what the tag that says that a cluster uses the image begins with.
func (w Want) tag() string {
	if w.Spec.Detach() {
		return tagKept
	}
	return tagUsed
}

// retry is how long an import that failed is left alone.
const retry = 5 * time.Minute

// A Keeper remembers what it asked Glance for. It is safe for concurrent use.
type Keeper struct {
	settle time.Duration
	asked  driver.Memory[string, time.Time] // imports by image, and makings by what they make
}

// NewKeeper returns a Keeper for a Glance that shows every change after settle.
func NewKeeper(settle time.Duration) *Keeper {
	return &Keeper{settle: settle}
}

// ask notes that something is asked for. Old notes go.
func (k *Keeper) ask(what string, now time.Time) {
	k.asked.ForgetIf(func(_ string, at time.Time) bool { return now.Sub(at) > max(retry, k.settle) })
	k.asked.Note(what, now)
}

// within reports whether something was asked for not longer ago than that.
func (k *Keeper) within(what string, limit time.Duration, now time.Time) bool {
	at, ok := k.asked.Of(what)
	return ok && now.Sub(at) <= limit
}

// A View is the images of a project as one cluster sees them.
type View struct {
	keeper  *Keeper
	project *cloud.Project
	id      string // of the project
	owner   snapshot.Owner
	wants   []Want
	all     []images.Image   // of the fleet
	tasks   map[string]*task // of wanted images without content, the youngest
	ways    []string         // to import, where something has to be
	boots   map[string][]snapshot.Owner
	err     error // why nothing is known
}

// Look sees the images of p for the cluster of o. What Glance does not tell shows in
// what follows from the View.
func (k *Keeper) Look(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, o snapshot.Owner, wants []Want) *View {
	v := &View{keeper: k, project: p, owner: o.Shared(), wants: wants, tasks: make(map[string]*task), boots: booted(s)}
	if v.id, v.err = p.ID(ctx); v.err != nil {
		return v
	}
	if v.all, v.err = list(ctx, p, s, o.Fleet); v.err != nil {
		return v
	}
	for _, w := range v.each() {
		i := v.best(w.Spec.Key())
		if i != nil && i.Status != images.ImageStatusQueued {
			continue
		}
		if v.ways, v.err = methods(ctx, p); v.err != nil {
			return v
		}
		if i == nil {
			continue
		}
		if v.tasks[i.ID], v.err = cloud.Once(s, "task of image "+i.ID, func() (*task, error) { return lastTask(ctx, p, i.ID) }); v.err != nil {
			return v
		}
	}
	return v
}

// booted returns whose servers boot from which image, or from a volume that was made
// of it: what Nova needs to make a server again is not deleted.
func booted(s *cloud.Snapshot) map[string][]snapshot.Owner {
	out := make(map[string][]snapshot.Owner)
	for i := range s.Servers.All {
		v := &s.Servers.All[i]
		if id, ok := v.Image["id"].(string); ok && id != "" {
			o, _ := s.Servers.Owner(v.ID)
			out[id] = append(out[id], o.Shared())
		}
	}
	for i := range s.Volumes.All {
		v := &s.Volumes.All[i]
		if id := v.VolumeImageMetadata["image_id"]; id != "" {
			o, _ := s.Volumes.Owner(v.ID)
			out[id] = append(out[id], o.Shared())
		}
	}
	return out
}

// each returns the images that are wanted, those that are equal once.
func (v *View) each() []Want {
	var out []Want
	for _, w := range v.wants {
		i := slices.IndexFunc(out, func(o Want) bool { return o.Fault == nil && w.Fault == nil && o.Spec.Key() == w.Spec.Key() })
		if i < 0 {
			out = append(out, w)
			continue
		}
		out[i].Needed = out[i].Needed || w.Needed
		if w.Spec.Detach() {
			out[i].Spec = w.Spec // it stays where one says so
		}
	}
	return out
}

// best returns the image with key that counts: one with content, else the oldest.
func (v *View) best(key string) *images.Image {
	var out []*images.Image
	for i := range v.all {
		if keyOf(&v.all[i]) == key && !slices.Contains([]images.ImageStatus{images.ImageStatusDeleted, images.ImageStatusPendingDelete}, v.all[i].Status) {
			out = append(out, &v.all[i])
		}
	}
	if len(out) == 0 {
		return nil
	}
	return slices.MinFunc(out, func(a, b *images.Image) int {
		return cmp.Or(-cmp.Compare(progress(a), progress(b)), a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
}

// progress orders images by how far they are.
func progress(i *images.Image) int {
	switch i.Status {
	case images.ImageStatusActive:
		return 2
	case images.ImageStatusKilled:
		return 0
	}
	return 1
}

// altered says what is wrong with the content of i, which is there; empty: nothing is.
func altered(i *images.Image, h *api.ImageHash) string {
	if h == nil {
		return ""
	}
	have, of := i.Checksum, api.HashMD5
	if h.Algorithm != of {
		have, _ = i.Properties["os_hash_value"].(string)
		of, _ = i.Properties["os_hash_algo"].(string)
	}
	if of == h.Algorithm && have == h.Value {
		return ""
	}
	if of != h.Algorithm || have == "" {
		return "Glance does not tell its " + h.Algorithm + " (leave hash out, or give what Glance tells)"
	}
	return "Glance has content with " + h.Algorithm + " " + have + " and not " + h.Value + " (correct hash; where Glance converts images, leave it out; where the content is damaged, delete the image)"
}

// offered reports whether Glance downloads.
func (v *View) offered() bool { return slices.Contains(v.ways, string(imageimport.WebDownloadMethod)) }

// ID returns the image that servers boot from where their spec names essence. One
// that is not there yet gives the kind Conflict.
func (v *View) ID(essence string) (string, error) {
	if v.err != nil {
		return "", v.err
	}
	var why error
	for _, w := range v.each() {
		if w.Spec.Essence() != essence {
			continue
		}
		d := v.decide(w)
		if d.id != "" {
			return d.id, nil
		}
		op := "use " + w.name()
		switch {
		case d.fault != nil:
			why = openstackauth.Wrap(op, d.fault)
		case d.awaited != "":
			why = fleet.Errorf(fleet.Conflict, op, "%s", d.awaited)
		default:
			why = fleet.Errorf(fleet.Conflict, op, "it is not there yet")
		}
	}
	if why == nil {
		why = fleet.Errorf(fleet.Invalid, "find the Image of image.imageRef", "none of the cluster is in the project of the machines (make its cloudCredentialsRef that of their identityRef)")
	}
	return "", why
}
