package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// Tags are those of a thing.
type Tags = map[string]string

type tagSet []struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func (t tagSet) tags() Tags {
	out := make(Tags, len(t))
	for _, one := range t {
		out[one.Key] = one.Value
	}
	return out
}

// tagged returns the parameters of tags that a thing of a type is made with. They are sorted: the same
// request has the same bytes.
func tagged(form url.Values, resource string, tags Tags) url.Values {
	i := 1
	for form.Has(fmt.Sprintf("TagSpecification.%d.ResourceType", i)) {
		i++
	}
	form.Set(fmt.Sprintf("TagSpecification.%d.ResourceType", i), resource)
	for j, k := range slices.Sorted(maps.Keys(tags)) {
		form.Set(fmt.Sprintf("TagSpecification.%d.Tag.%d.Key", i, j+1), k)
		form.Set(fmt.Sprintf("TagSpecification.%d.Tag.%d.Value", i, j+1), tags[k])
	}
	return form
}

// mostMarked is how many things of EC2 one request gives tags.
const mostMarked = 500

// Mark gives things of EC2 tags, beside those that they have.
func (c *Client) Mark(ctx context.Context, ids []string, tags Tags) error {
	for some := range slices.Chunk(ids, mostMarked) {
		form := url.Values{}
		for i, id := range some {
			form.Set(fmt.Sprintf("ResourceId.%d", i+1), id)
		}
		for i, k := range slices.Sorted(maps.Keys(tags)) {
			form.Set(fmt.Sprintf("Tag.%d.Key", i+1), k)
			form.Set(fmt.Sprintf("Tag.%d.Value", i+1), tags[k])
		}
		if err := c.query(ctx, ec2, "CreateTags", form, nil); err != nil {
			return err
		}
	}
	return nil
}

// Unmark takes tags with some keys off a thing of EC2.
func (c *Client) Unmark(ctx context.Context, id string, keys []string) error {
	form := url.Values{"ResourceId.1": {id}}
	for i, k := range keys {
		form.Set(fmt.Sprintf("Tag.%d.Key", i+1), k)
	}
	return c.query(ctx, ec2, "DeleteTags", form, nil)
}

// UnmarkBalancer takes tags with some keys off a load balancer or a target group.
func (c *Client) UnmarkBalancer(ctx context.Context, id string, keys []string) error {
	if !isClassic(id) {
		form := url.Values{"ResourceArns.member.1": {id}}
		for i, k := range keys {
			form.Set(fmt.Sprintf("TagKeys.member.%d", i+1), k)
		}
		return c.query(ctx, balancing, "RemoveTags", form, nil)
	}
	form := url.Values{"LoadBalancerNames.member.1": {id}}
	for i, k := range keys {
		form.Set(fmt.Sprintf("Tags.member.%d.Key", i+1), k)
	}
	return c.query(ctx, classic, "RemoveTags", form, nil)
}

// MarkBalancer gives a load balancer or a target group tags, beside those that it has.
func (c *Client) MarkBalancer(ctx context.Context, id string, tags Tags) error {
	form, s := url.Values{"ResourceArns.member.1": {id}}, balancing
	if isClassic(id) {
		form, s = url.Values{"LoadBalancerNames.member.1": {id}}, classic
	}
	return c.query(ctx, s, "AddTags", elbTagged(form, tags), nil)
}
