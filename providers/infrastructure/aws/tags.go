package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A marked is something of the cluster, and the tags of Git that it lacks.
type marked struct {
	id   string
	lack cloud.Tags
}

// lacks returns which of wanted tags have lacks. The names that Fairlead and Kubernetes give are not those of people.
func lacks(wanted, have cloud.Tags) cloud.Tags {
	out := maps.Clone(wanted)
	maps.DeleteFunc(out, func(k, value string) bool {
		is, ok := have[k]
		return ok && is == value || k == nameTag || strings.HasPrefix(k, serviceTag(""))
	})
	return out
}

// unlessOwn returns tags but for those that own has, which come before them.
func unlessOwn(tags, own cloud.Tags) cloud.Tags {
	maps.DeleteFunc(tags, func(k, _ string) bool { _, ok := own[k]; return ok })
	return tags
}

// decideTags decides about additionalTags that Git has and things lack. Tags that Git does not have stay: people, or a
// former commit, gave them.
func (v *view) decideTags(d *steps.Decision) {
	var all []marked
	add := func(id string, tags cloud.Tags) {
		all = append(all, marked{id, lacks(v.spec.AdditionalTags, tags)})
	}
	for _, t := range v.vpcs {
		all = append(all, marked{t.ID, unlessOwn(lacks(v.spec.AdditionalTags, t.Tags), v.spec.Network.VPC.Tags)})
	}
	for _, t := range v.subnets {
		lack := lacks(v.spec.AdditionalTags, t.Tags)
		for _, s := range v.spec.Network.Subnets {
			lack = unlessOwn(lack, s.Tags)
		}
		all = append(all, marked{t.ID, lack})
	}
	for _, t := range v.gateways {
		add(t.ID, t.Tags)
	}
	for _, t := range v.egresses {
		add(t.ID, t.Tags)
	}
	for _, t := range v.addresses {
		add(t.ID, t.Tags)
	}
	for _, t := range v.nats {
		if t.State != "deleting" && t.State != "failed" {
			add(t.ID, t.Tags)
		}
	}
	for _, t := range v.tables {
		add(t.ID, t.Tags)
	}
	for _, t := range v.groups {
		add(t.ID, t.Tags)
	}
	for _, t := range v.bastions {
		add(t.ID, t.Tags)
	}
	all = append(all, v.markedInstances()...)
	v.mark(d, all)
	for _, b := range v.balancers {
		v.markBalancer(d, "load balancer "+b.Name, b.ID, b.Tags)
	}
	for _, t := range v.targets {
		v.markBalancer(d, "target group "+t.Name, t.ID, t.Tags)
	}
}

// markedInstances returns the instances of pools. Tags of the template of a pool come before those of the cluster.
func (v *view) markedInstances() []marked {
	var out []marked
	own := make(map[string]cloud.Tags)
	for _, p := range v.c.Pools() {
		if spec, err := api.ReadMachine(p.Infrastructure); err == nil {
			own[string(p.Name)] = spec.AdditionalTags
		}
	}
	for _, i := range v.instances {
		tags, ok := own[i.Tags[fleet.TagPool]]
		if !ok || isCopied(i) {
			continue
		}
		lack := lacks(v.spec.AdditionalTags, i.Tags)
		maps.DeleteFunc(lack, func(k, _ string) bool { _, ok := tags[k]; return ok })
		out = append(out, marked{i.ID, lack})
	}
	return out
}

// mark adds a step for all things of EC2 that lack the same tags.
func (v *view) mark(d *steps.Decision, all []marked) {
	by := make(map[string][]marked)
	for _, m := range all {
		if len(m.lack) > 0 && !v.marked[m.id] {
			by[fmt.Sprint(m.lack)] = append(by[fmt.Sprint(m.lack)], m)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		some, lack := by[k], by[k][0].lack
		var ids []string
		for _, m := range some {
			ids = append(ids, m.id)
		}
		slices.Sort(ids)
		what := ids[0]
		if len(ids) > 1 {
			what = fmt.Sprintf("%s and %d others", ids[0], len(ids)-1)
		}
		d.Add(steps.Step{What: "set " + named(lack) + " of " + what, Do: func(ctx context.Context) error {
			err := v.place.Mark(ctx, ids, lack)
			for _, id := range ids {
				v.marked[id] = err == nil
			}
			return err
		}})
	}
}

func (v *view) markBalancer(d *steps.Decision, what, id string, tags cloud.Tags) {
	lack := lacks(v.spec.AdditionalTags, tags)
	if len(lack) == 0 || v.marked[id] {
		return
	}
	d.Add(steps.Step{What: "set " + named(lack) + " of " + what, Do: func(ctx context.Context) error {
		err := v.place.MarkBalancer(ctx, id, lack)
		v.marked[id] = err == nil
		return err
	}})
}

// named names tags for people.
func named(tags cloud.Tags) string {
	return "tags " + strings.Join(slices.Sorted(maps.Keys(tags)), ", ")
}
