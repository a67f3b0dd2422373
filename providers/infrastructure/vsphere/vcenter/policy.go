package vcenter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	"github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/soap"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// policiesAge is how long the ids of storage policies are taken for what they were: people
// make them seldom, and one that is gone fails the request that uses it.
const policiesAge = 5 * time.Minute

// Policy returns the id of the storage policy called name, or with that id.
func (c *Client) Policy(ctx context.Context, name string) (string, error) {
	op := "find storage policy " + name
	all, err := c.policies.Get(ctx, snapshot.Owner{})
	if err != nil {
		return "", WrapLook(op, err)
	}
	switch ids := all[name]; {
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) > 1:
		return "", fleet.Errorf(fleet.Invalid, op, "%d policies have that name (write the id of one): %s", len(ids), list(ids))
	}
	for _, ids := range all {
		if slices.Contains(ids, name) {
			return name, nil
		}
	}
	return "", fleet.Errorf(fleet.NotFound, op, "it is not there, or the user may not see it (StorageProfile.View); there are: %s", list(slices.Sorted(maps.Keys(all))))
}

func (c *Client) listPolicies(ctx context.Context) (map[string][]string, error) {
	p, err := c.pbm(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := p.QueryProfile(ctx, types.PbmProfileResourceType{ResourceType: string(types.PbmProfileResourceTypeEnumSTORAGE)}, string(types.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	profiles, err := p.RetrieveContent(ctx, ids)
	out := make(map[string][]string)
	for _, q := range profiles {
		profile := q.GetPbmProfile()
		out[profile.Name] = append(out[profile.Name], profile.ProfileId.UniqueId)
	}
	return out, err
}

// Compatible returns those of datastores that the policy with id allows, the one with the most
// free space first.
func (c *Client) Compatible(ctx context.Context, id string, datastores []*Entity) ([]*Entity, error) {
	op := "find datastores that storage policy " + id + " allows"
	p, err := c.pbm(ctx)
	if err != nil {
		return nil, WrapLook(op, err)
	}
	var hubs []types.PbmPlacementHub
	for _, d := range datastores {
		hubs = append(hubs, types.PbmPlacementHub{HubType: d.Ref.Type, HubId: d.Ref.Value})
	}
	result, err := p.CheckRequirements(ctx, hubs, nil, []types.BasePbmPlacementRequirement{
		&types.PbmPlacementCapabilityProfileRequirement{ProfileId: types.PbmProfileId{UniqueId: id}},
	})
	if err != nil {
		return nil, WrapLook(op, err)
	}
	var out []*Entity
	for _, hub := range result.CompatibleDatastores() {
		if i := slices.IndexFunc(datastores, func(d *Entity) bool { return d.Ref.Value == hub.HubId }); i >= 0 {
			out = append(out, datastores[i])
		}
	}
	slices.SortFunc(out, func(a, b *Entity) int { return cmp.Or(cmp.Compare(b.Free, a.Free), cmp.Compare(a.Path, b.Path)) })
	return out, nil
}

// pbm returns a client of the storage policy service, which takes the session of vCenter.
func (c *Client) pbm(ctx context.Context) (*pbm.Client, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, err
	}
	s := vim.Client.NewServiceClient(pbm.Path, pbm.Namespace)
	s.Client.Transport = answers{c.base}
	s.Cookie = vim.Client.SessionCookie
	t := trip(func(ctx context.Context, req, res soap.HasFault) error { return c.roundTrip(ctx, s, req, res) })
	content, err := methods.PbmRetrieveServiceContent(ctx, t, &types.PbmRetrieveServiceContent{This: pbm.ServiceInstance})
	if err != nil {
		return nil, err
	}
	return &pbm.Client{Client: s, ServiceContent: content.Returnval, RoundTripper: t}, nil
}
