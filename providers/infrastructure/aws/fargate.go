package aws

import (
	"cmp"
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

// profiles returns the Fargate profiles of a cluster, sorted by name. A policy of before Fargate profiles shows none: then some
// have to be wanted for an error.
func profiles(ctx context.Context, at *cloud.Place, cluster string, wanted bool) ([]*cloud.FargateProfile, error) {
	names, err := at.FargateProfiles(ctx, cluster)
	switch {
	case cloud.IsNotFound(err), cloud.Kind(err) == fleet.Unauthorized && !wanted:
		return nil, nil
	case err != nil:
		return nil, err
	}
	slices.Sort(names)
	var out []*cloud.FargateProfile
	for _, name := range names {
		p, err := at.FargateProfile(ctx, cluster, name)
		if cloud.IsNotFound(err) { // it went meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// wantsFargate reports whether Git has Fargate profiles of c.
func wantsFargate(c *fleet.Cluster) bool {
	all, err := api.FargateProfiles(c)
	return len(all) > 0 || err != nil
}

// A fargateTurn is whose turn it is: EKS makes or deletes one profile of a cluster at a time.
type fargateTurn struct {
	*changes
	busy string // what the others wait for
}

// add adds a change, or says what it waits for.
func (t *fargateTurn) add(what, after string, do func(ctx context.Context) error) {
	if t.busy != "" {
		t.addIdle(what+", once "+t.busy, func(context.Context) error { return nil })
		return
	}
	t.addIdle(what, do)
	t.busy = after
}

// changeFargate compares the Fargate profiles that Git names, and those that were made for it, with those that are there.
// Others are of people.
func (m *managed) changeFargate(ctx context.Context, s *changes) error {
	want, wrong := api.FargateProfiles(m.c)
	if wrong != nil {
		s.faults = append(s.faults, wrong)
	}
	all, err := profiles(ctx, m.place, m.is.Name, len(want) > 0)
	if cloud.Kind(err) == fleet.Unauthorized {
		s.faults = append(s.faults, cloud.WrapLook("list Fargate profiles", err))
		return nil
	}
	if err != nil {
		return err
	}
	m.fargate = all
	turn := &fargateTurn{changes: s}
	for _, is := range all {
		if is.Status == cloud.Creating || is.Status == cloud.Deleting {
			turn.busy = "Fargate profile " + is.Name + " is no longer " + is.Status
		}
	}
	for _, w := range want {
		i := slices.IndexFunc(all, func(p *cloud.FargateProfile) bool { return p.Name == w.ProfileName })
		if i < 0 || all[i].Status == cloud.Deleting {
			m.createFargate(turn, w)
			continue
		}
		if err := m.changeProfile(ctx, turn, all[i], w); err != nil {
			return err
		}
	}
	for _, is := range all {
		named := slices.ContainsFunc(want, func(w *api.AWSFargateProfileSpec) bool { return w.ProfileName == is.Name })
		if !named && wrong == nil && m.c.Owns(is.Tags) && is.Status != cloud.Deleting {
			turn.add("Fargate profile "+is.Name+" is not in Git", is.Name+" is gone", func(ctx context.Context) error {
				return m.place.DeleteFargateProfile(ctx, m.is.Name, is.Name)
			})
		}
	}
	return nil
}

// wantedFargate returns what Git says of a Fargate profile.
func (m *managed) wantedFargate(ctx context.Context, w *api.AWSFargateProfileSpec) (cloud.FargateProfile, error) {
	role, err := m.place.RoleARN(ctx, w.RolePath, w.RoleName)
	out := cloud.FargateProfile{
		Name: w.ProfileName, Role: role, Subnets: w.SubnetIDs, Tags: m.shared("fargate-"+w.ProfileName, w.ProfileName, maps.Clone(w.AdditionalTags)),
	}
	if len(out.Subnets) == 0 {
		out.Subnets = m.fargateSubnets()
	}
	for _, one := range w.Selectors {
		out.Selectors = append(out.Selectors, cloud.FargateSelector{Namespace: one.Namespace, Labels: one.Labels})
	}
	return out, err
}

// fargateSubnets returns the ids of the subnets of the cluster that EKS takes for Fargate: public ones stand for private ones
// for machines alone.
func (m *managed) fargateSubnets() []string {
	n := m.net(new(steps.Decision))
	return without(idsOf(n.private), idsOf(n.public))
}

// createFargate asks for a profile.
func (m *managed) createFargate(turn *fargateTurn, w *api.AWSFargateProfileSpec) {
	turn.add("create Fargate profile "+w.ProfileName, w.ProfileName+" is made", func(ctx context.Context) error {
		in, err := m.wantedFargate(ctx, w)
		if err != nil {
			return err
		}
		if len(in.Subnets) == 0 {
			return fleet.Errorf(fleet.Invalid, "find the subnets of Fargate profile "+w.ProfileName, "the network has no private subnets (name some in subnetIDs)")
		}
		return cloud.Named(m.place.CreateFargateProfile(ctx, m.is.Name, in))
	})
}

// changeProfile compares a profile that is there with Git.
func (m *managed) changeProfile(ctx context.Context, turn *fargateTurn, is *cloud.FargateProfile, w *api.AWSFargateProfileSpec) error {
	if !m.c.Owns(is.Tags) {
		turn.never("profileName", "Fargate profile %s is there without the tags of this cluster (set another profileName, or delete it in AWS: then it is made)", is.Name)
		return nil
	}
	want, err := m.wantedFargate(ctx, w)
	if err != nil {
		return err
	}
	if lack := lacking(is.Tags, want.Tags); len(lack) > 0 {
		turn.changes.add("tags of Fargate profile "+is.Name+" differ: "+strings.Join(slices.Sorted(maps.Keys(lack)), ", "), false, func(ctx context.Context) error {
			return m.place.TagManaged(ctx, is.ARN, lack)
		})
		turn.asks(m.is.Endpoint, []any{is.ARN, lack})
	}
	var differs []string
	if is.Role != want.Role {
		differs = append(differs, "roleName")
	}
	if !sameSet(selectorsOf(is), selectorsOf(&want)) {
		differs = append(differs, "selectors")
	}
	if len(w.SubnetIDs) > 0 && !sameSet(is.Subnets, w.SubnetIDs) { // a subnet that came later is no change in Git
		differs = append(differs, "subnetIDs")
	}
	switch {
	case len(differs) == 0:
	case is.Status == cloud.CreateFailed: // another definition is another try
		turn.add("Fargate profile "+is.Name+" could not be created: create it again", is.Name+" is gone", func(ctx context.Context) error {
			return m.place.DeleteFargateProfile(ctx, m.is.Name, is.Name)
		})
	default:
		turn.never(strings.Join(differs, " and "), "Fargate profile %s keeps what it has (set another profileName: that is made, and this one is deleted)", is.Name)
	}
	return nil
}

// selectorsOf returns the selectors of a profile as texts.
func selectorsOf(p *cloud.FargateProfile) []string {
	var out []string
	for _, s := range p.Selectors {
		out = append(out, api.FargateSelector{Namespace: s.Namespace, Labels: s.Labels}.String())
	}
	return out
}

// fargateProblems says what is wrong with the Fargate profiles, sorted.
func (m *managed) fargateProblems() string {
	var out []string
	for _, p := range m.fargate {
		if !m.c.Owns(p.Tags) {
			continue
		}
		why := ""
		if p.Health != nil {
			why = p.Health.String()
		}
		switch {
		case p.Status == cloud.CreateFailed:
			out = append(out, fmt.Sprintf("EKS could not create Fargate profile %s: %s (fix that, and delete the profile in AWS: then it is created again)", p.Name, cmp.Or(why, "it gives no reason")))
		case p.Status == cloud.DeleteFailed:
			out = append(out, fmt.Sprintf("EKS could not delete Fargate profile %s: %s", p.Name, cmp.Or(why, "it gives no reason")))
		case why != "":
			out = append(out, "Fargate profile "+p.Name+": "+why)
		}
	}
	return strings.Join(out, "; ")
}

// dropFargate deletes the next one of the Fargate profiles of a cluster that is to go, and reports whether one is there.
// owns reports whose profiles go with it.
func dropFargate(ctx context.Context, at *cloud.Place, cluster string, wanted bool, owns func(tags map[string]string) bool) (found bool, err error) {
	all, err := profiles(ctx, at, cluster, wanted)
	if err != nil {
		return true, err
	}
	for _, p := range all {
		if p.Status == cloud.Deleting { // the others wait for it
			return true, nil
		}
	}
	for _, p := range all {
		if !owns(p.Tags) {
			return true, fleet.Errorf(fleet.Conflict, "delete the Fargate profiles of cluster "+cluster, "%s has not its tags (delete it in AWS)", p.Name)
		}
	}
	if len(all) == 0 {
		return false, nil
	}
	return true, busyNow(at.DeleteFargateProfile(ctx, cluster, all[0].Name))
}
