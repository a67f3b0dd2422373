package vcenter

import (
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/cluster"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
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
	return out, look(err)
}

func tagOf(ctx context.Context, m *tags.Manager, t *tags.Tag) (*Tag, error) {
	category, err := m.GetCategory(ctx, t.CategoryID)
	if err != nil {
		return nil, err
	}
	return &Tag{ID: t.ID, Name: t.Name, Category: category.Name}, nil
}

// TagsOf returns the tags of ref, sorted by id.
func (c *Client) TagsOf(ctx context.Context, ref Ref) ([]Tag, error) {
	var out []Tag
	err := c.rest(ctx, "read the tags of "+ref.Value, func(ctx context.Context, r *rest.Client) error {
		out = nil
		m := tags.NewManager(r)
		all, err := m.GetAttachedTags(ctx, ref)
		if err != nil {
			return err
		}
		for _, t := range all {
			tag, err := tagOf(ctx, m, &t)
			if err != nil {
				return err
			}
			out = append(out, *tag)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Tag) int { return strings.Compare(a.ID, b.ID) })
	return out, look(err)
}

// TagIDsOf returns the ids of the tags of ref, sorted.
func (c *Client) TagIDsOf(ctx context.Context, ref Ref) ([]string, error) {
	var out []string
	err := c.rest(ctx, "read the tags of "+ref.Value, func(ctx context.Context, r *rest.Client) (err error) {
		out, err = tags.NewManager(r).ListAttachedTags(ctx, ref)
		return err
	})
	slices.Sort(out)
	return out, look(err)
}

// AttachTags gives ref the tags with ids. Those that it has are no error.
func (c *Client) AttachTags(ctx context.Context, ref Ref, ids []string) error {
	return c.rest(ctx, "attach the tags "+list(ids)+" to "+ref.Value, func(ctx context.Context, r *rest.Client) error {
		return tags.NewManager(r).AttachMultipleTagsToObject(ctx, ids, ref)
	})
}

// CreateModule makes a module of cluster, which keeps its VMs apart, and returns its id.
func (c *Client) CreateModule(ctx context.Context, of Ref) (string, error) {
	var id string
	err := c.rest(ctx, "create a module of "+of.Value, func(ctx context.Context, r *rest.Client) (err error) {
		id, err = cluster.NewManager(r).CreateModule(ctx, of)
		return err
	})
	return id, err
}

// Modules returns the ids of the modules of cluster, sorted.
func (c *Client) Modules(ctx context.Context, of Ref) ([]string, error) {
	var out []string
	err := c.rest(ctx, "list the modules of "+of.Value, func(ctx context.Context, r *rest.Client) error {
		all, err := cluster.NewManager(r).ListModules(ctx)
		out = nil
		for _, m := range all {
			if m.Cluster == of.Value {
				out = append(out, m.Module)
			}
		}
		return err
	})
	slices.Sort(out)
	return out, look(err)
}

// ModuleMembers returns the VMs of the module with id.
func (c *Client) ModuleMembers(ctx context.Context, id string) ([]Ref, error) {
	var out []Ref
	err := c.rest(ctx, "list the members of module "+id, func(ctx context.Context, r *rest.Client) (err error) {
		out, err = cluster.NewManager(r).ListModuleMembers(ctx, id)
		return err
	})
	return out, look(err)
}

// JoinModule puts vm into the module with id. One that is in is no error.
func (c *Client) JoinModule(ctx context.Context, id string, vm Ref) error {
	return c.rest(ctx, "put "+vm.Value+" into module "+id, func(ctx context.Context, r *rest.Client) error {
		_, err := cluster.NewManager(r).AddModuleMembers(ctx, id, mo.Reference(vm))
		return err
	})
}

// DeleteModule removes the module with id. One that is not there is no error.
func (c *Client) DeleteModule(ctx context.Context, id string) error {
	err := c.rest(ctx, "delete module "+id, func(ctx context.Context, r *rest.Client) error {
		return cluster.NewManager(r).DeleteModule(ctx, id)
	})
	if NotFound(err) {
		return nil
	}
	return err
}
