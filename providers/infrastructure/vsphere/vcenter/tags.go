package vcenter

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// A Tag is one of people's, in a category.
type Tag struct{ ID, Name, Category string }

// Tag returns the one with id, or whose name it is. Where there is none the kind is NotFound.
func (c *Client) Tag(ctx context.Context, id string) (*Tag, error) {
	var out *Tag
	err := c.rest(ctx, "find tag "+id, func(ctx context.Context, r *rest.Client) error {
		m := tags.NewManager(r)
		t, err := m.GetTag(ctx, id)
		if err != nil {
			return err
		}
		out, err = tagOf(ctx, m, t)
		return err
	})
	return out, transport.Looked(err)
}

func tagOf(ctx context.Context, m *tags.Manager, t *tags.Tag) (*Tag, error) {
	category, err := m.GetCategory(ctx, t.CategoryID)
	if err != nil {
		return nil, err
	}
	return &Tag{ID: t.ID, Name: t.Name, Category: category.Name}, nil
}

// TagIDsOf returns the ids of the tags of ref, sorted.
func (c *Client) TagIDsOf(ctx context.Context, ref Ref) ([]string, error) {
	var out []string
	err := c.rest(ctx, "read the tags of "+ref.Value, func(ctx context.Context, r *rest.Client) (err error) {
		out, err = tags.NewManager(r).ListAttachedTags(ctx, ref)
		return err
	})
	slices.Sort(out)
	return out, transport.Looked(err)
}

// TagsOf returns the tags of ref, in no order.
func (c *Client) TagsOf(ctx context.Context, ref Ref) ([]Tag, error) {
	var out []Tag
	err := c.rest(ctx, "read the tags of "+ref.Value, func(ctx context.Context, r *rest.Client) error {
		out = nil
		m := tags.NewManager(r)
		ids, err := m.ListAttachedTags(ctx, ref)
		if err != nil {
			return err
		}
		for _, id := range ids {
			t, err := m.GetTag(ctx, id)
			if err != nil {
				return err
			}
			one, err := tagOf(ctx, m, t)
			if err != nil {
				return err
			}
			out = append(out, *one)
		}
		return nil
	})
	return out, transport.Looked(err)
}

// AttachTags gives ref the tags with ids. Those that it has are no error.
func (c *Client) AttachTags(ctx context.Context, ref Ref, ids []string) error {
	op := "attach the tags " + list(ids) + " to " + ref.Value
	err := c.rest(ctx, op, func(ctx context.Context, r *rest.Client) error {
		return tags.NewManager(r).AttachMultipleTagsToObject(ctx, ids, ref)
	})
	if fleet.KindOf(err) == fleet.Unauthorized && opOf(err) == op { // what is answered does not name it
		return fleet.Errorf(fleet.Unauthorized, op, "%w (the user lacks InventoryService.Tagging.AttachTag on the tag or on %s %s)", causeOf(err), ref.Type, ref.Value)
	}
	return err
}
