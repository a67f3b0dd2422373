package azure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// The quotas of cores of a location: of all VMs, and of those of the spot market. Each family of sizes has its own.
// Source: Azure documentation, "Check vCPU quotas".
const (
	coresQuota = "cores"
	spotQuota  = "lowPriorityCores"
)

// A quota is one of a location of a subscription.
type quota struct{ subscription, location, name string }

// A demand is what machines that are to be made need of a quota, and whose they are.
type demand struct {
	site     *site
	cores    int
	clusters []fleet.Key
}

// demands are those of a fleet.
type demands map[quota]*demand

// add notes count machines of a size that v's cluster lacks.
func (all demands) add(ctx context.Context, v *view, count int, size string, spot bool) {
	s, _, err := v.place.sizeOf(ctx, v.spec.Location, size)
	if err != nil || count <= 0 || s.cores == 0 {
		return // the finding of the size says why
	}
	names := []string{coresQuota, s.family}
	if spot {
		names = []string{spotQuota}
	}
	for _, name := range names {
		q := quota{v.place.Subscription(), v.spec.Location, name}
		n := all[q]
		if n == nil {
			n = &demand{site: v.place.site}
			all[q] = n
		}
		n.cores += count * s.cores
		if !slices.Contains(n.clusters, v.c.Key) {
			n.clusters = append(n.clusters, v.c.Key)
		}
	}
}

// find compares them with what is left of the quotas.
func (all demands) find(ctx context.Context) (out []providers.Finding) {
	const op = "check the quota of cores"
	usages, failed := make(map[string][]arm.Usage), make(map[string]error)
	for _, q := range slices.SortedFunc(maps.Keys(all), func(a, b quota) int {
		return cmp.Or(cmp.Compare(a.subscription, b.subscription), cmp.Compare(a.location, b.location), cmp.Compare(a.name, b.name))
	}) {
		at := "/subscriptions/" + q.subscription + "/providers/Microsoft.Compute/locations/" + q.location + "/usages"
		if _, known := failed[at]; !known {
			usages[at], failed[at] = arm.List[arm.Usage](ctx, all[q].site.Client, at)
		}
		f := providers.Finding{Clusters: all[q].clusters, What: "quota"}
		i := slices.IndexFunc(usages[at], func(u arm.Usage) bool { return strings.EqualFold(u.Name.Value, q.name) })
		switch {
		case arm.IsUnused(failed[at]):
			f.Text = "not checked: " + arm.WrapLook(op, failed[at]).Error()
		case failed[at] != nil:
			f.Err = arm.WrapLook(op, failed[at])
		case i < 0: // Azure has none of that name
			continue
		default:
			u := usages[at][i]
			f.Text = fmt.Sprintf("%s: %d of %d are used, and %d more are needed", u.Name.Value, u.Current, u.Limit, all[q].cores)
			if u.Limit-u.Current < all[q].cores {
				f.Text, f.Err = "", fleet.Errorf(fleet.Exhausted, op, "%s (have the quota raised in the portal)", f.Text)
			}
		}
		out = append(out, f)
	}
	return out
}

// checkImage looks up the image of a pool. Of one of the marketplace whose version is the latest, nothing is looked up.
func (v *view) checkImage(ctx context.Context, pool fleet.Pool, spec *api.AzureMachineSpec, note driver.Note) {
	image, _ := imageOf(spec.Image, pool.Version, v.place.Subscription())
	text := func(k string) string { s, _ := image[k].(string); return s }
	at := "/subscriptions/" + v.place.Subscription() + "/providers/Microsoft.Compute/locations/" + v.spec.Location
	id := text("id")
	switch community := text("communityGalleryImageId"); {
	case community != "":
		id = at + strings.NewReplacer("/CommunityGalleries/", "/communityGalleries/", "/Images/", "/images/", "/Versions/", "/versions/").Replace(community)
	case id == "":
		id = fmt.Sprintf("%s/publishers/%s/artifacttypes/vmimage/offers/%s/skus/%s/versions/%s", at, text("publisher"), text("offer"), text("sku"), text("version"))
	}
	if strings.HasSuffix(strings.ToLower(id), "/versions/latest") {
		return
	}
	var is struct{}
	op := "find the image of pool " + string(pool.Name)
	err := v.place.Get(ctx, id, &is)
	if text("id") == "" && arm.IsUnused(err) { // a VM takes it without a right
		noteUnchecked(note, "image", arm.WrapLook(op, err), true)
		return
	}
	if arm.Kind(err) == fleet.NotFound {
		err = fleet.Errorf(fleet.Invalid, "", "%w (name one that exists in image, or another version of Kubernetes)", err)
	}
	const service = "/microsoft.compute/"
	if i := strings.LastIndex(strings.ToLower(id), service); i >= 0 { // people write ids in any case
		id = id[i+len(service):]
	}
	note("image", id, arm.WrapLook(op, err))
}

// noteUnchecked notes why something could not be looked up. It is no mistake if nothing but the check needs the right.
func noteUnchecked(note driver.Note, what string, err error, optional bool) {
	if optional {
		note(what, "not checked: "+err.Error(), nil)
		return
	}
	note(what, "", err)
}
