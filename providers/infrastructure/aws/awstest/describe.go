package awstest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An action does what a request asks for, and returns the elements of its answer.
type action func(r request) (any, error)

// A listing describes a kind of things.
type listing struct {
	kind   Kind
	ids    string // the parameter with ids
	absent string // the code of an error if one is missing
	set    string // the element that has the list
	shown  func(t *Thing) []node
}

// hidden reports whether a thing is too new to be seen.
func (c *Cloud) hidden(t *Thing) bool { return !t.seeded && time.Since(t.Made) < c.o.Delays.Lag }

// describe returns the action of a listing of EC2: by ids or filters, in pages whose order changes.
func (c *Cloud) describe(l listing) action {
	return func(r request) (any, error) {
		found, next, err := c.listed(r, l)
		if err != nil {
			return nil, err
		}
		out := el(l.set)
		for _, t := range found {
			out.kids = append(out.kids, el("item", l.shown(t)...))
		}
		return append([]node{out}, texts("nextToken", next)...), nil
	}
}

func (c *Cloud) listed(r request, l listing) (found []*Thing, next string, err error) {
	all := slices.DeleteFunc(c.all(l.kind), c.hidden)
	if ids := r.list(l.ids); len(ids) > 0 {
		for _, id := range ids {
			i := slices.IndexFunc(all, func(t *Thing) bool { return t.ID == id })
			if i < 0 {
				return nil, "", bad(l.absent, "The ID '%s' does not exist", id)
			}
			found = append(found, all[i])
		}
		all = found
	}
	found = nil
	for _, t := range all {
		ok, err := matches(r, t)
		if err != nil {
			return nil, "", err
		}
		if ok {
			found = append(found, t)
		}
	}
	return c.page(r, found)
}

// page returns a page of all, and where the next one begins. Each listing has another order.
func (c *Cloud) page(r request, all []*Thing) ([]*Thing, string, error) {
	size, from, turned := c.o.Page, 0, len(c.calls)%2 == 0
	if n, err := strconv.Atoi(r.Get("MaxResults")); err == nil {
		size = min(size, n)
	}
	if mark := r.Get("NextToken"); mark != "" {
		if _, err := fmt.Sscanf(mark, "%d %t", &from, &turned); err != nil || from > len(all) {
			return nil, "", bad("InvalidNextToken", "The token '%s' is invalid", mark)
		}
	}
	if turned {
		slices.Reverse(all)
	}
	if len(all)-from <= size {
		return all[from:], "", nil
	}
	return all[from : from+size], fmt.Sprintf("%d %t", from+size, turned), nil
}

// matches reports whether a thing passes the filters of a request.
func matches(r request, t *Thing) (bool, error) {
	for i := 1; r.Has(fmt.Sprintf("Filter.%d.Name", i)); i++ {
		name := r.Get(fmt.Sprintf("Filter.%d.Name", i))
		have, err := values(t, name)
		if err != nil {
			return false, err
		}
		wanted := r.list(fmt.Sprintf("Filter.%d.Value", i))
		if !slices.ContainsFunc(have, func(v string) bool {
			return slices.ContainsFunc(wanted, func(w string) bool { ok, _ := path.Match(w, v); return ok || w == v })
		}) {
			return false, nil
		}
	}
	return true, nil
}

// filters are the names of filters, and the attributes or sets that they are about.
func filters() map[string]string {
	return map[string]string{
		"vpc-id": "vpcId", "subnet-id": "subnetId", "group-name": "groupName", "owner-id": "ownerId", "name": "name", "architecture": "architecture",
		"state": "imageState", "instance-state-name": "state", "availability-zone": "zone", "attachment.vpc-id": "vpcId", "group-id": "groups",
		"instance-type": "instanceType", "location": "zone", "status": "state", "virtualization-type": "virtualizationType", "allocation-id": "allocationId", "launch-template-name": "launchTemplateName",
	}
}

func values(t *Thing, filter string) ([]string, error) {
	if key, ok := strings.CutPrefix(filter, "tag:"); ok {
		if v, has := t.Tags[key]; has {
			return []string{v}, nil
		}
		return nil, nil
	}
	if filter == "tag-key" {
		var out []string
		for k := range t.Tags {
			out = append(out, k)
		}
		return out, nil
	}
	if filter == "instance-id" || filter == "network-interface-id" {
		return []string{t.ID}, nil
	}
	attr, ok := filters()[filter]
	switch {
	case !ok:
		return nil, bad("InvalidParameterValue", "The filter '%s' is invalid", filter)
	case filter == "virtualization-type":
		return []string{"hvm"}, nil
	case t.Sets[attr] != nil:
		return t.Sets[attr], nil
	}
	return []string{t.Attr[attr]}, nil
}
