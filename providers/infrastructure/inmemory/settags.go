package inmemory

import (
	"context"
	"maps"

	"fairlead.dev/fleet"
)

// A Tagger is a cloud whose things can be given other tags. A *Cloud and a
// *Client are one.
type Tagger interface {
	// SetTags replaces all tags of the network or machine with that id. Nothing
	// there gives the kind NotFound.
	SetTags(ctx context.Context, id string, tags map[string]string) error
}

var (
	_ Tagger = (*Cloud)(nil)
	_ Tagger = (*Client)(nil)
)

// SetTags implements Tagger.
func (c *Cloud) SetTags(ctx context.Context, id string, tags map[string]string) error {
	op := "set tags of " + id
	return c.change(ctx, op, func() error {
		if n, ok := c.networks[id]; ok && n.deleted.IsZero() {
			c.changed(ownerOf(n.Tags))
			c.changed(ownerOf(tags))
			c.owned.networks.drop(n.Tags, id)
			n.Tags = maps.Clone(tags)
			c.owned.networks.put(tags, id, n)
			return nil
		}
		v, ok := c.vms[id]
		if !ok || !v.deleted.IsZero() {
			return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
		}
		c.changed(ownerOf(v.Tags))
		c.changed(ownerOf(tags))
		c.owned.vms.drop(v.Tags, id)
		v.Tags = maps.Clone(tags)
		c.owned.vms.put(tags, id, v)
		return nil
	})
}

// Retag has change edit the tags of the machine with that id, as people do by hand.
// Nothing there is success.
func (c *Cloud) Retag(ctx context.Context, id fleet.ProviderID, change func(tags map[string]string)) error {
	vms, err := c.VMs(ctx, nil)
	if err != nil {
		return err
	}
	for _, v := range vms {
		if v.Provider != id {
			continue
		}
		tags := maps.Clone(v.Tags)
		change(tags)
		if err := c.SetTags(ctx, v.ID, tags); err != nil {
			return err
		}
	}
	return nil
}

// SetTags implements Tagger.
func (c *Client) SetTags(ctx context.Context, id string, tags map[string]string) error {
	return c.act(ctx, "tags/set", retag{id, tags})
}

// retag gives one thing other tags.
type retag struct {
	ID   string            `json:"id"`
	Tags map[string]string `json:"tags,omitempty"`
}
