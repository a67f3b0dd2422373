package aws

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A groupDiff says in what a node group differs from Git.
type groupDiff struct {
	update  *cloud.NodegroupUpdate // of its configuration; nil: none
	tags    cloud.Tags             // that it lacks
	upgrade bool                   // its version or image

	template bool // the version of its launch template

	drift  []string // beside count, range and version
	config []string // what of drift is of update
	fixed  []string
}

// compare says in what a node group that is there differs from Git.
func (w *wantedGroup) compare(is *cloud.Nodegroup) groupDiff {
	var d groupDiff
	u := new(cloud.NodegroupUpdate)
	change := func(what string) {
		d.update = u
		d.drift = append(d.drift, what)
	}
	if !maps.Equal(is.Labels, w.Labels) {
		change("labels of its nodes differ")
		u.Labels.Set = lacking(is.Labels, w.Labels)
		for k := range is.Labels {
			if _, ok := w.Labels[k]; !ok {
				u.Labels.Remove = append(u.Labels.Remove, k)
			}
		}
		slices.Sort(u.Labels.Remove)
	}
	lackTaints, moreTaints := withoutTaints(w.Taints, is.Taints), withoutTaints(is.Taints, w.Taints)
	if len(lackTaints)+len(moreTaints) > 0 {
		change("taints of its nodes differ")
		u.Taints.Set = lackTaints
		u.Taints.Remove = slices.DeleteFunc(moreTaints, func(t cloud.NodeTaint) bool { // one with another value takes its place
			return slices.ContainsFunc(lackTaints, func(o cloud.NodeTaint) bool { return o.Key == t.Key && o.Effect == t.Effect })
		})
	}
	if w.Update != nil && (is.Update == nil || !same(is.Update.Unavailable, w.Update.Unavailable) || !same(is.Update.Percentage, w.Update.Percentage)) {
		change("updateConfig differs")
		u.Update = w.Update
	}
	if w.Repair != nil && (is.Repair == nil && w.Repair.Enabled || is.Repair != nil && is.Repair.Enabled != w.Repair.Enabled) {
		change("nodeRepairConfig differs")
		u.Repair = w.Repair
	}
	w.compareScaling(is, &d, u)
	d.config = slices.Clone(d.drift)
	if d.tags = lacking(is.Tags, w.spec.AdditionalTags); len(d.tags) > 0 {
		d.drift = append(d.drift, d.tagged())
	}
	w.compareTemplate(is, &d)
	newer := minor(w.Version) > minor(is.Version) && w.spec.Image() == "" && !w.otherImage(is) // an image of people says its version
	image := w.Release != "" && w.Release != is.Release && w.Version == is.Version && !w.hasNewerImage(is)
	if d.upgrade = newer || image; image {
		d.drift = append(d.drift, "amiVersion "+is.Release+" → "+w.Release)
	}
	d.fixed = w.fixed(is)
	slices.Sort(d.drift)
	return d
}

// tagged says which tags differ.
func (d *groupDiff) tagged() string {
	return "tags differ: " + strings.Join(slices.Sorted(maps.Keys(d.tags)), ", ")
}

// release is the version of an image of EKS: a patch version of Kubernetes and a day.
var release = regexp.MustCompile(`^1\.\d+\.(\d+)-(\d{8})$`)

// hasNewerImage reports whether a node group has a newer image than Git names of the same version. EKS does not go back.
func (w *wantedGroup) hasNewerImage(is *cloud.Nodegroup) bool {
	want, has := release.FindStringSubmatch(w.Release), release.FindStringSubmatch(is.Release)
	if want == nil || has == nil || w.Version != is.Version {
		return false
	}
	return cmp.Or(cmp.Compare(len(want[1]), len(has[1])), cmp.Compare(want[1]+want[2], has[1]+has[2])) < 0
}

// compareScaling compares the number of machines and its bounds. What others decide is written only if it is out of
// the bounds.
func (w *wantedGroup) compareScaling(is *cloud.Nodegroup, d *groupDiff, u *cloud.NodegroupUpdate) {
	low, high, n := ptr.Deref(is.Scaling.Min, 0), ptr.Deref(is.Scaling.Max, 0), ptr.Deref(is.Scaling.Desired, 0)
	bounds := low != *w.Scaling.Min || high != *w.Scaling.Max
	want := *w.Scaling.Desired
	if w.pool.Range != nil {
		want = max(min(n, *w.Scaling.Max), *w.Scaling.Min)
	}
	if !bounds && want == n {
		return
	}
	s := cloud.Scaling{Min: w.Scaling.Min, Max: w.Scaling.Max}
	if want != n {
		s.Desired = new(want)
	}
	d.update, u.Scaling = u, &s
	if bounds && w.pool.Range == nil && want == n {
		d.drift = append(d.drift, fmt.Sprintf("bounds of the number of machines %d–%d → %d–%d", low, high, *w.Scaling.Min, *w.Scaling.Max))
	}
}

func same(a, b *int) bool { return ptr.Deref(a, 0) == ptr.Deref(b, 0) }

func withoutTaints(a, b []cloud.NodeTaint) []cloud.NodeTaint {
	return slices.DeleteFunc(slices.Clone(a), func(t cloud.NodeTaint) bool { return slices.Contains(b, t) })
}

// fixed says what Git asks for and EKS changes of no node group.
func (w *wantedGroup) fixed(is *cloud.Nodegroup) []string {
	const other = "; a node group keeps what it has: use a MachinePool and an AWSManagedMachinePool with other names, and remove this one"
	var out []string
	differ := func(field, has, want string) {
		if has != want && want != "" {
			out = append(out, fmt.Sprintf("%s %s → %s%s", field, has, want, other))
		}
	}
	differ("eksNodegroupName", is.Name, w.Name)
	differ("roleName", is.Role, w.Role)
	differ("amiType", is.Image, w.Image)
	if text := w.fixedTemplate(is); text != "" {
		out = append(out, text+other)
	}
	differ("capacityType", cmp.Or(is.Market, "ON_DEMAND"), w.Market)
	differ("instanceType", strings.Join(is.Types, ", "), strings.Join(w.Types, ", "))
	if w.DiskSize > 0 {
		differ("diskSize", strconv.Itoa(int(is.DiskSize)), strconv.Itoa(int(w.DiskSize)))
	}
	chosen := len(w.spec.SubnetIDs)+len(w.spec.AvailabilityZones)+len(w.pool.FailureDomains) == 0 // a subnet that came later is no change in Git
	if !sameSet(is.Subnets, w.Subnets) && !(chosen && len(without(is.Subnets, w.Subnets)) == 0) {
		differ("subnets", strings.Join(is.Subnets, ", "), strings.Join(w.Subnets, ", "))
	}
	if w.hasNewerImage(is) {
		out = append(out, fmt.Sprintf("amiVersion %s → %s; EKS does not go back: name the newer one, or none", is.Release, w.Release))
	}
	if r := w.Remote; r != nil && (is.Remote == nil || is.Remote.Key != r.Key || !sameSet(is.Remote.Groups, r.Groups)) {
		out = append(out, "remoteAccess differs"+other)
	}
	slices.Sort(out)
	return out
}
