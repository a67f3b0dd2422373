package image

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
)

// A decision is what follows for one image that is wanted.
type decision struct {
	id      string // of the image, once servers may boot from it
	steps   []steps.Step
	awaited string // what Glance has to finish
	fault   error  // what is wrong until Git changes, or somebody acts in the cloud
}

// decide follows what is to be done for w.
func (v *View) decide(w Want) decision {
	if w.Fault != nil {
		return decision{fault: w.Fault}
	}
	i := v.best(w.Spec.Key())
	if i == nil {
		if v.keeper.within(v.making(w), v.keeper.settle, time.Now()) {
			return decision{awaited: w.name() + " is being made"}
		}
		if !v.offered() {
			return decision{fault: openstackauth.Wrap("make "+w.name(), noWay(v.ways))}
		}
		return decision{steps: []steps.Step{{What: "make " + w.name(), Do: func(ctx context.Context) error { return v.make(ctx, w) }}}}
	}
	d := decision{steps: v.use(w, i)}
	switch i.Status {
	case images.ImageStatusActive:
		if why := altered(i, w.Spec.Resource.Content.Download.Hash); why != "" {
			d.fault = fleet.Errorf(fleet.Invalid, "check "+w.name(), "%s", why)
			return d
		}
		d.id = i.ID
	case images.ImageStatusQueued:
		v.queued(w, i, &d)
	case images.ImageStatusKilled:
		d.steps = append(d.steps, steps.Step{What: "remove " + w.name() + ", whose content Glance could not keep", Do: func(ctx context.Context) error {
			_, err := remove(ctx, v.project, i.ID)
			return err
		}})
	case images.ImageStatusDeactivated:
		d.fault = fleet.Errorf(fleet.Invalid, "use "+w.name(), "an administrator of the cloud deactivated it")
	default:
		d.awaited = w.name() + " is being imported"
	}
	return d
}

// queued decides about an image without content.
func (v *View) queued(w Want, i *images.Image, d *decision) {
	t, now := v.tasks[i.ID], time.Now()
	switch {
	case t != nil && (t.Status == "pending" || t.Status == "processing"):
		d.awaited = w.name() + " is being imported"
		return
	case t != nil && t.Status == "failure":
		d.fault = fleet.Errorf(fleet.Unknown, "import "+w.name(), "Glance says: %s (see whether its url can be reached from there)", strings.TrimSuffix(t.Message, "."))
	case v.keeper.within(i.ID, retry, now):
		d.awaited = w.name() + " is being imported"
		return
	}
	if !v.offered() {
		d.fault = openstackauth.Wrap("import "+w.name(), noWay(v.ways))
		return
	}
	if !v.keeper.within(i.ID, retry, now) {
		d.steps = append(d.steps, steps.Step{What: "import " + w.name(), Do: func(ctx context.Context) error { return v.fetch(ctx, w, i.ID) }})
	}
}

// make makes an image and has its content downloaded, unless somebody made it since
// the look: then it is seen by the next one.
func (v *View) make(ctx context.Context, w Want) error {
	there, err := listNow(ctx, v.project, tagFleet+string(v.owner.Fleet), tagKey+w.Spec.Key())
	if err != nil || len(there) > 0 {
		return err
	}
	i, err := create(ctx, v.project, v.owner, w)
	if err == nil || !fleet.Refused(openstackauth.Wrap("", err)) {
		v.keeper.ask(v.making(w), time.Now()) // it may be there, or come
	}
	if err != nil {
		return err
	}
	return v.fetch(ctx, w, i.ID)
}

// making is what the Keeper knows the making of w's image by.
func (v *View) making(w Want) string { return string(v.owner.Fleet) + " " + v.id + " " + w.Spec.Key() }

func (v *View) fetch(ctx context.Context, w Want, id string) error {
	v.keeper.ask(id, time.Now())
	return download(ctx, v.project, id, w.Spec.Resource.Content.Download.URL)
}

// use has the tags of i say that the cluster uses it, and whether it is to stay.
func (v *View) use(w Want, i *images.Image) []steps.Step {
	want, other := clusterTag(w.tag(), v.owner.Cluster), clusterTag(tagUsed, v.owner.Cluster)
	if want == other {
		other = clusterTag(tagKept, v.owner.Cluster)
	}
	if slices.Contains(i.Tags, want) && !slices.Contains(i.Tags, other) {
		return nil
	}
	return []steps.Step{{What: "note on " + w.name() + " that the cluster uses it", Do: func(ctx context.Context) error {
		if err := tag(ctx, v.project, i.ID, want, true); err != nil {
			return err
		}
		if !slices.Contains(i.Tags, other) {
			return nil
		}
		return tag(ctx, v.project, i.ID, other, false)
	}}}
}

// used returns the images that the cluster uses and does not want to stay.
func (v *View) used() []*images.Image {
	var out []*images.Image
	for i := range v.all {
		if slices.Contains(v.all[i].Tags, clusterTag(tagUsed, v.owner.Cluster)) {
			out = append(out, &v.all[i])
		}
	}
	return out
}

// surplus returns what is to be done about images that the cluster no longer wants and
// that no server of it boots from.
func (v *View) surplus() []steps.Step {
	var out []steps.Step
	for _, i := range v.used() {
		best := v.best(keyOf(i))
		wanted := best != nil && best.ID == i.ID && slices.ContainsFunc(v.wants, func(w Want) bool { return w.Fault == nil && w.Spec.Key() == keyOf(i) })
		if wanted || slices.Contains(v.boots[i.ID], v.owner) {
			continue
		}
		out = append(out, steps.Step{What: "let go of image " + i.Name + ", which no machine boots from", Do: func(ctx context.Context) error { return v.release(ctx, i) }})
	}
	return out
}

// release lets go of an image, which goes with the last cluster that uses it. One
// that stays for any other reason is an orphan from then on.
func (v *View) release(ctx context.Context, i *images.Image) error {
	mine := clusterTag(tagUsed, v.owner.Cluster)
	gone, err := v.removeUnless(ctx, i.ID, mine)
	if gone || err != nil {
		return err
	}
	if err := tag(ctx, v.project, i.ID, mine, false); err != nil {
		return err
	}
	_, err = v.removeUnless(ctx, i.ID, mine) // the others may have gone in between
	return err
}

// removeUnless removes an image that no cluster but this one uses or wants to stay,
// and that no server of others boots from. It asks for its tags again.
func (v *View) removeUnless(ctx context.Context, id, mine string) (gone bool, err error) {
	c, err := v.project.Image(ctx)
	if err != nil {
		return false, err
	}
	now, err := images.Get(ctx, c, id).Extract()
	if openstackauth.NotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, openstackauth.WrapLook("look at image "+id, err)
	}
	held := slices.ContainsFunc(now.Tags, func(t string) bool {
		return t != mine && (strings.HasPrefix(t, tagUsed) || strings.HasPrefix(t, tagKept))
	})
	if held || slices.ContainsFunc(v.boots[id], func(o snapshot.Owner) bool { return o != v.owner }) {
		return false, nil
	}
	return remove(ctx, v.project, id)
}

// Ensure takes the steps towards the images that the cluster wants that are possible
// at this moment, and does not wait for Glance. Images that it does not want any
// more go.
func (v *View) Ensure(ctx context.Context) error {
	if v.err != nil {
		return v.err
	}
	free, err := v.project.Exclusive(ctx) // so that no two clusters make the same one
	if err != nil {
		return err
	}
	defer free()
	var faults []error
	var todo []steps.Step
	for _, w := range v.each() {
		d := v.decide(w)
		todo, faults = append(todo, d.steps...), append(faults, d.fault)
	}
	todo = append(todo, v.surplus()...)
	errs := steps.Perform(ctx, func() []steps.Step { return todo }, func(what string, err error) error {
		v.project.Changed(v.owner)
		return openstackauth.Wrap(what, err)
	})
	return fleet.JoinErrors(append(errs, faults...)...)
}

// Delete lets go of the images of the cluster, all of whose machines are gone.
func (v *View) Delete(ctx context.Context) error {
	if v.err != nil {
		return v.err
	}
	free, err := v.project.Exclusive(ctx)
	if err != nil {
		return err
	}
	defer free()
	defer v.project.Changed(v.owner)
	var errs []error
	for _, i := range v.used() {
		stays := slices.ContainsFunc(v.wants, func(w Want) bool { return w.Spec.Detach() && w.Spec.Key() == keyOf(i) })
		if stays {
			err := tag(ctx, v.project, i.ID, clusterTag(tagKept, v.owner.Cluster), true)
			if err == nil {
				err = tag(ctx, v.project, i.ID, clusterTag(tagUsed, v.owner.Cluster), false)
			}
			errs = append(errs, openstackauth.Wrap("leave image "+i.Name, err))
			continue
		}
		errs = append(errs, openstackauth.Wrap("delete image "+i.Name, v.release(ctx, i)))
	}
	return fleet.JoinErrors(errs...)
}

// State is what is there of what a cluster wants.
type State struct {
	Exists  bool   // an image that goes with the cluster
	Ready   bool   // servers may boot from all that machines need
	Message string // why not
	Drift   []string
}

// State tells what follows for the cluster. Images that Glance tells nothing of are
// not there, but for the cluster that is to go, which is not done then: see Err.
func (v *View) State() State {
	if v.err != nil {
		return State{Ready: !slices.ContainsFunc(v.wants, func(w Want) bool { return w.Needed }), Message: v.err.Error(), Drift: []string{v.err.Error()}}
	}
	out := State{Exists: len(v.used()) > 0, Ready: true}
	var words []string
	for _, w := range v.each() {
		d := v.decide(w)
		var said []string
		if d.fault != nil {
			said = append(said, d.fault.Error())
		}
		for _, s := range d.steps {
			said = append(said, s.What)
		}
		out.Drift = append(out.Drift, said...)
		if d.id != "" || !w.Needed {
			continue
		}
		out.Ready = false
		switch {
		case d.fault != nil:
			words = append(words, d.fault.Error())
		case d.awaited != "":
			words = append(words, d.awaited)
		case len(d.steps) > 0:
			words = append(words, "still to do: "+d.steps[0].What)
		}
	}
	for _, s := range v.surplus() {
		out.Drift = append(out.Drift, s.What)
	}
	out.Message = strings.Join(words, "; ")
	return out
}

// Err says why nothing is known of images.
func (v *View) Err() error { return v.err }
