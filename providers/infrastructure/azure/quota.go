package azure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
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

// checkQuota compares the cores of machines that are to be made with what is left of the quotas.
func (v *view) checkQuota(ctx context.Context, note driver.Note) {
	needs := make(map[string]int)
	for _, pool := range v.c.Pools() {
		spec, err := api.ReadMachine(pool.Infrastructure)
		if err != nil {
			continue // the size says so
		}
		s, _, err := v.place.sizeOf(ctx, v.spec.Location, spec.VMSize)
		n := (pool.Replicas - v.machinesOf(pool.Name)) * s.cores
		switch {
		case err != nil || n <= 0:
		case spec.SpotVMOptions != nil:
			needs[spotQuota] += n
		default:
			needs[coresQuota] += n
			needs[s.family] += n
		}
	}
	if len(needs) == 0 {
		return
	}
	const op = "check the quota of cores"
	all, err := arm.List[arm.Usage](ctx, v.place.Client, "/subscriptions/"+v.place.Subscription()+"/providers/Microsoft.Compute/locations/"+v.spec.Location+"/usages")
	if err != nil {
		noteUnchecked(note, "quota", arm.WrapLook(op, err), arm.IsUnused(err))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		i := slices.IndexFunc(all, func(u arm.Usage) bool { return strings.EqualFold(u.Name.Value, name) })
		if i < 0 {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d are used, and %d more are needed", all[i].Name.Value, all[i].Current, all[i].Limit, needs[name])
		if all[i].Limit-all[i].Current < needs[name] {
			note("quota", "", fleet.Errorf(fleet.Exhausted, op, "%s (have the quota raised in the portal)", text))
			continue
		}
		note("quota", text, nil)
	}
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
