package aws

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// preserveTag says whether what an addon installed stays when the addon goes: then Git no longer has its definition.
const preserveTag = "fairlead.dev/preserve"

// changeAddons compares the addons that Git names, and those that were made for it, with those that are there. Others
// are of people.
func (m *managed) changeAddons(ctx context.Context, s *changes) error {
	names, err := m.place.Addons(ctx, m.is.Name)
	if cloud.Kind(err) == fleet.Unauthorized { // a policy of before addons: what it says nothing about stays
		if len(m.want.Addons) > 0 {
			s.faults = append(s.faults, cloud.WrapLook("list addons", err))
		}
		return nil
	}
	if err != nil {
		return err
	}
	slices.Sort(names)
	m.addons = nil
	there := make(map[string]bool)
	for _, name := range names {
		is, err := m.place.Addon(ctx, m.is.Name, name)
		if cloud.IsNotFound(err) { // it went meanwhile
			continue
		}
		if err != nil {
			return err
		}
		there[name] = true
		m.addons = append(m.addons, is)
		i := slices.IndexFunc(m.want.Addons, func(a api.Addon) bool { return a.Name == name })
		switch {
		case i >= 0 && !m.c.Owns(is.Tags):
			s.never("addons", "addon %s is there without the tags of this cluster (leave it out, or delete it in AWS and keep what it installed: then it is made)", name)
		case i >= 0:
			m.changeAddon(s, is, &m.want.Addons[i])
		case m.c.Owns(is.Tags) && is.Status != cloud.Deleting:
			s.addIdle("addon "+name+" is not in Git", func(ctx context.Context) error {
				return m.place.DeleteAddon(ctx, m.is.Name, name, is.Tags[preserveTag] == strconv.FormatBool(true))
			})
		}
	}
	for i := range m.want.Addons {
		if want := &m.want.Addons[i]; !there[want.Name] {
			m.createAddon(s, want)
		}
	}
	return nil
}

// createAddon asks for an addon. What EKS installed by itself becomes a part of it, as conflictResolution says.
func (m *managed) createAddon(s *changes, want *api.Addon) {
	s.addIdle("install addon "+want.Name+" "+want.Version, func(ctx context.Context) error {
		in := cloud.AddonChange{Name: want.Name, Version: want.Version, Conflicts: strings.ToUpper(want.ConflictResolution), Tags: m.addonTags(want)}
		if want.Configuration != "" {
			in.Configuration = &want.Configuration
		}
		if want.ServiceAccountRoleARN != "" {
			in.Role = &want.ServiceAccountRoleARN
		}
		return m.explainAddon(ctx, want, m.place.CreateAddon(ctx, m.is.Name, in))
	})
}

// addonTags returns those of an addon.
func (m *managed) addonTags(want *api.Addon) cloud.Tags {
	return m.shared("addon-"+want.Name, want.Name, cloud.Tags{preserveTag: strconv.FormatBool(want.PreserveOnDelete)})
}

// changeAddon compares an addon that is there with Git.
func (m *managed) changeAddon(s *changes, is *cloud.Addon, want *api.Addon) {
	if lack := lacking(is.Tags, m.addonTags(want)); len(lack) > 0 {
		s.add("tags of addon "+want.Name+" differ", false, func(ctx context.Context) error {
			return m.place.TagManaged(ctx, is.ARN, lack)
		})
		s.asks(is.ARN, lack)
	}
	var what []string
	in := cloud.AddonChange{Version: want.Version, Conflicts: strings.ToUpper(want.ConflictResolution)}
	if is.Version != want.Version {
		what = append(what, is.Version+" → "+want.Version)
	}
	if !sameConfiguration(is.Configuration, want.Configuration) {
		what = append(what, "its configuration differs")
	}
	if is.Role != want.ServiceAccountRoleARN {
		what = append(what, "serviceAccountRoleARN differs")
	}
	if len(what) == 0 {
		return
	}
	if is.Configuration != "" || want.Configuration != "" {
		in.Configuration = new(cmp.Or(want.Configuration, "{}"))
	}
	if is.Role != "" || want.ServiceAccountRoleARN != "" {
		in.Role = &want.ServiceAccountRoleARN
	}
	switch is.Status {
	case cloud.Creating, cloud.Updating, cloud.Deleting: // which ends by itself
		s.addIdle("addon "+want.Name+": "+strings.Join(what, ", ")+", once it is no longer "+is.Status, func(context.Context) error { return nil })
	case cloud.CreateFailed: // which EKS does not change: another definition is another try
		s.addIdle("addon "+want.Name+" could not be created: create it again with "+want.Version, func(ctx context.Context) error {
			return m.place.DeleteAddon(ctx, m.is.Name, want.Name, true)
		})
	default:
		s.addIdle("addon "+want.Name+": "+strings.Join(what, ", "), func(ctx context.Context) error {
			return m.explainAddon(ctx, want, m.place.UpdateAddon(ctx, m.is.Name, want.Name, in))
		})
		if is.Status != cloud.UpdateFailed { // which says why, and holds up nothing
			s.asks(is.ARN, in)
		}
	}
}

// explainAddon adds to the refusal of an addon which versions EKS has of it.
func (m *managed) explainAddon(ctx context.Context, want *api.Addon, err error) error {
	if cloud.Kind(err) != fleet.Invalid || !cloud.Is(err, "InvalidParameterException") {
		return cloud.Named(err)
	}
	if lack := m.addonVersion(ctx, want, m.is.Version); lack != nil {
		return fleet.JoinErrors(cloud.Wrap("ask for addon "+want.Name, err), lack)
	}
	return err
}

// addonVersion says that EKS does not have an addon in the version of Git for a minor version of Kubernetes.
func (m *managed) addonVersion(ctx context.Context, want *api.Addon, kubernetes string) error {
	what := "find addon " + want.Name + " " + want.Version
	all, err := m.place.AddonVersions(ctx, want.Name, kubernetes)
	switch {
	case err != nil && !cloud.IsNotFound(err):
		return cloud.WrapLook(what, err)
	case len(all) == 0:
		return fleet.Errorf(fleet.Invalid, what, "EKS has no such addon for Kubernetes %s (set the name of another one)", kubernetes)
	case !slices.Contains(all, want.Version):
		return fleet.Errorf(fleet.Invalid, what, "EKS has it for Kubernetes %s in the versions %s (set one of them)", kubernetes, strings.Join(all, ", "))
	}
	return nil
}

// sameConfiguration reports whether two configurations of an addon have the same values. Nothing is the same as {}.
func sameConfiguration(a, b string) bool {
	values := func(text string) (out map[string]any, ok bool) {
		err := documents.Unmarshal([]byte(text), &out, documents.AddonLimits())
		if len(out) == 0 {
			out = nil
		}
		return out, err == nil
	}
	x, readable := values(a)
	y, valid := values(b)
	return a == b || readable && valid && reflect.DeepEqual(x, y)
}

// addonProblems says what is wrong with the addons, sorted. One that is degraded until the cluster has Nodes holds up
// nothing.
func (m *managed) addonProblems() string {
	var out []string
	for _, a := range m.addons {
		if !m.c.Owns(a.Tags) {
			continue
		}
		why := cmp.Or(a.Health.String(), "EKS gives no reason")
		switch a.Status {
		case cloud.CreateFailed:
			out = append(out, fmt.Sprintf("EKS could not create addon %s: %s (fix that, and delete the addon in AWS: then it is created again)", a.Name, why))
		case cloud.UpdateFailed:
			out = append(out, fmt.Sprintf("EKS could not change addon %s: %s", a.Name, why))
		case cloud.DeleteFailed:
			out = append(out, fmt.Sprintf("EKS could not delete addon %s: %s", a.Name, why))
		case cloud.Degraded:
			out = append(out, fmt.Sprintf("addon %s is degraded: %s", a.Name, why))
		default:
			if text := a.Health.String(); text != "" {
				out = append(out, "addon "+a.Name+": "+text)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
