package aws

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A poolTemplate is the launch template of a pool, with its versions.
type poolTemplate struct {
	cloud.LaunchTemplate
	versions []cloud.TemplateVersion
}

// unlistedFor is how long credentials that may list no launch templates are not asked again, unless a pool in Git has one.
const unlistedFor = time.Hour

// templates returns the launch templates with the tags of the cluster, sorted by id. Credentials that may list none made none,
// unless a pool in Git has one.
func (m *managed) templates(ctx context.Context) ([]cloud.LaunchTemplate, error) {
	if at, ok := m.p.unlisted.Of(m.owner); ok && time.Since(at) < unlistedFor && !usesTemplates(m.c) {
		return nil, nil
	}
	var filters []string
	for k, value := range m.c.Tags() {
		filters = append(filters, "tag:"+k, value)
	}
	all, err := m.place.LaunchTemplates(ctx, filters...)
	if fleet.KindOf(cloud.WrapLook("", err)) == fleet.Unauthorized && !usesTemplates(m.c) {
		m.p.unlisted.Note(m.owner, time.Now())
		return nil, nil
	}
	all = slices.DeleteFunc(all, func(t cloud.LaunchTemplate) bool { return !m.c.Owns(t.Tags) })
	slices.SortFunc(all, func(a, b cloud.LaunchTemplate) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// usesTemplates reports whether a pool of c in Git has a launch template.
func usesTemplates(c *fleet.Cluster) bool {
	return slices.ContainsFunc(c.KeptPools, func(p fleet.KeptPool) bool {
		spec, err := api.ReadPool(p.Infrastructure)
		return err == nil && spec.AWSLaunchTemplate != nil
	})
}

// templateOf returns the launch template of a pool of those of the cluster: that of its node group, or that which one is to be
// made with; nil: there is none.
func (m *managed) templateOf(ctx context.Context, all []cloud.LaunchTemplate, pool fleet.PoolName, is *cloud.Nodegroup) (*poolTemplate, error) {
	for _, t := range all {
		if t.Tags[fleet.TagPool] != string(pool) || is != nil && (is.Template == nil || is.Template.ID != t.ID) {
			continue
		}
		versions, err := m.place.TemplateVersions(ctx, t.ID)
		switch {
		case cloud.IsNotFound(err): // it went meanwhile
		case err != nil:
			return nil, err
		default:
			return &poolTemplate{t, versions}, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, and nothing is wrong
}

// leftTemplates returns as pools the launch templates whose node group is gone, and is not to be made again: they go with
// DeletePool.
func (m *managed) leftTemplates(all []cloud.LaunchTemplate, groups []*cloud.Nodegroup) []fleet.KeptPoolSeen {
	var out []fleet.KeptPoolSeen
	for _, t := range all {
		name := fleet.PoolName(t.Tags[fleet.TagPool])
		_, kept := m.c.KeptPool(name)
		twin := slices.ContainsFunc(out, func(p fleet.KeptPoolSeen) bool { return p.Name == name })
		if twin || name == "" || kept && !m.c.Delete || m.groupOf(groups, name) != nil {
			continue
		}
		s := fleet.KeptPoolSeen{Name: name, State: fleet.KeptFailed, Message: "its node group is gone, and launch template " + t.Name + " is still there"}
		if m.is != nil {
			s.Version = "v" + m.is.Version + ".0"
		}
		out = append(out, s)
	}
	return out
}

// dropTemplates deletes the launch templates of a pool without a node group.
func (m *managed) dropTemplates(ctx context.Context, pool fleet.PoolName) error {
	all, err := m.templates(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Tags[fleet.TagPool] != string(pool) {
			continue
		}
		m.p.o.Log.InfoContext(ctx, "deleting a launch template", "cluster", m.c.Key.String(), "pool", string(pool), "name", t.Name)
		if err := m.place.DeleteTemplate(ctx, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// mark describes the version of a launch template that is as Git says. It follows from what is in Git alone, so that another
// agent, which may write the same otherwise, replaces no machine.
func (w *wantedGroup) mark() (string, error) {
	t := *w.spec.AWSLaunchTemplate
	t.Name, t.VersionNumber = "", nil
	text, err := json.Marshal([]any{t, w.spec.AdditionalTags, w.pool.Bootstrap})
	return "Fairlead " + digest(string(text)), err
}

// version returns the number of the version that is as Git says: that of the node group, or the newest; 0: there is none.
func (w *wantedGroup) version(is *cloud.Nodegroup) (out int64) {
	mark, err := w.mark()
	if w.template == nil || err != nil {
		return 0
	}
	for _, v := range w.template.versions {
		switch {
		case v.Description != mark:
		case is != nil && is.Template != nil && is.Template.Version == strconv.FormatInt(v.Number, 10):
			return v.Number
		default:
			out = max(out, v.Number)
		}
	}
	return out
}

// compareTemplate says how the launch template of a node group differs from Git.
func (w *wantedGroup) compareTemplate(is *cloud.Nodegroup, d *groupDiff) {
	t := w.spec.AWSLaunchTemplate
	if t == nil || is.Template == nil || w.template == nil || w.tooNew || w.otherImage(is) {
		return
	}
	if n := w.version(is); strconv.FormatInt(n, 10) != is.Template.Version {
		next := "a new one"
		if n != 0 {
			next = strconv.FormatInt(n, 10)
		}
		d.template = true
		d.drift = append(d.drift, fmt.Sprintf("version of launch template %s: %s → %s", w.template.Name, is.Template.Version, next))
	}
}

// otherImage reports whether one of Git and a node group has an image of people, and the other one of EKS.
func (w *wantedGroup) otherImage(is *cloud.Nodegroup) bool {
	return (is.Image == api.CustomImage) != (w.spec.Image() != "")
}

// fixedTemplate says what Git asks for of a launch template and EKS changes of no node group; empty: nothing.
func (w *wantedGroup) fixedTemplate(is *cloud.Nodegroup) string {
	t := w.spec.AWSLaunchTemplate
	switch {
	case t == nil && is.Template == nil:
	case t == nil:
		return "awsLaunchTemplate " + cmp.Or(is.Template.Name, is.Template.ID) + " → none"
	case is.Template == nil:
		return "awsLaunchTemplate none → one"
	case w.template == nil && is.Status == cloud.Creating: // it may not be listed yet
	case w.template == nil:
		return fmt.Sprintf("launch template %s of the node group is gone, or lost the tags of the cluster (bring them back)", cmp.Or(is.Template.Name, is.Template.ID))
	case w.otherImage(is) && w.spec.Image() == "":
		return "awsLaunchTemplate.ami.id " + is.Release + " → none"
	case t.Name != "" && t.Name != w.template.Name:
		return "awsLaunchTemplate.name " + w.template.Name + " → " + t.Name
	}
	return ""
}

// launch returns the version of the launch template that a node group is to have, which is made if it is not there. created says that it
// was made now.
func (m *managed) launch(ctx context.Context, op fleet.OperationID, want *wantedGroup, is *cloud.Nodegroup) (ref *cloud.TemplateRef, created bool, err error) {
	if n := want.version(is); n != 0 {
		return &cloud.TemplateRef{ID: want.template.ID, Version: strconv.FormatInt(n, 10)}, false, nil
	}
	mark, err := want.mark()
	if err != nil {
		return nil, false, err
	}
	data, err := m.templateData(ctx, want)
	if err != nil {
		return nil, false, err
	}
	if t := want.template; t != nil {
		m.p.o.Log.InfoContext(ctx, "making a version of a launch template", "cluster", m.c.Key.String(), "pool", string(want.pool.Name), "name", t.Name)
		n, err := m.place.CreateTemplateVersion(ctx, t.ID, mark, digest(t.ID, strconv.FormatInt(t.Latest, 10), data.Encode()), data)
		return &cloud.TemplateRef{ID: t.ID, Version: strconv.FormatInt(n, 10)}, true, again(err)
	}
	name := cmp.Or(want.spec.AWSLaunchTemplate.Name, templateNameOf(m.owner, want.pool.Name))
	tags := maps.Clone(want.spec.AdditionalTags)
	if tags == nil {
		tags = make(cloud.Tags)
	}
	maps.Copy(tags, m.c.PoolTags(want.pool.Name, op))
	m.p.o.Log.InfoContext(ctx, "making a launch template", "cluster", m.c.Key.String(), "pool", string(want.pool.Name), "name", name)
	made, err := m.place.CreateTemplate(ctx, name, mark, data, tags)
	if cloud.IsNameTaken(err) {
		return nil, false, m.taken(ctx, name, want.pool.Name)
	}
	return &cloud.TemplateRef{ID: made.ID, Version: "1"}, true, cloud.Named(err)
}

// again makes an error that says that another request with the token came before one that ends by itself.
func again(err error) error {
	if !cloud.Is(err, "IdempotentParameterMismatch") {
		return cloud.Named(err)
	}
	return fleet.Errorf(fleet.Unavailable, "make a version of the launch template", "an earlier request with other content may have made it, and it does not show yet: %w", err)
}

// taken says whose the launch template of a name is that could not be made.
func (m *managed) taken(ctx context.Context, name string, pool fleet.PoolName) error {
	what := "make launch template " + name
	all, err := m.place.LaunchTemplates(ctx, "launch-template-name", name)
	switch {
	case err != nil:
		return err
	case len(all) == 0, m.c.Owns(all[0].Tags) && all[0].Tags[fleet.TagPool] == string(pool):
		return fleet.Errorf(fleet.Unavailable, what, "it was made, and is not listed yet")
	}
	return fleet.Errorf(fleet.Conflict, what, "there is one without the tags of the pool (set another name in awsLaunchTemplate.name)")
}

// templateNameOf returns the name of the launch template of a pool, which is alone in its account and region.
// Source: EC2 API reference, CreateLaunchTemplate.
func templateNameOf(o snapshot.Owner, pool fleet.PoolName) string {
	const longest = 128
	name := o.Cluster.Name + "-" + string(pool)
	end := "-" + digest(string(o.Fleet), o.Cluster.Namespace, o.Cluster.Name, string(pool))
	return name[:min(len(name), longest-len(end))] + end
}

// prune deletes versions that no node group has or is to have. EC2 keeps the default one.
func (m *managed) prune(ctx context.Context, want *wantedGroup, is *cloud.Nodegroup) error {
	if want.template == nil || is.Template == nil {
		return nil
	}
	var old []int64
	next := want.version(is)
	for _, v := range want.template.versions {
		if v.Number != want.template.Default && v.Number != next && strconv.FormatInt(v.Number, 10) != is.Template.Version {
			old = append(old, v.Number)
		}
	}
	if len(old) == 0 {
		return nil
	}
	return m.place.DeleteTemplateVersions(ctx, want.template.ID, old)
}

// templateData returns the parameters of a version of a launch template. Its instances get no tags of Fairlead: they are machines
// of EKS.
func (m *managed) templateData(ctx context.Context, want *wantedGroup) (url.Values, error) {
	spec, image := want.spec.AWSLaunchTemplate.Machine(want.spec.AdditionalTags), want.spec.Image()
	form := url.Values{}
	if len(spec.AdditionalTags) > 0 {
		form = cloud.Tagged(spec.AdditionalTags, "instance", "volume", "network-interface")
	}
	set := func(key, value string) {
		if value != "" {
			form.Set(key, value)
		}
	}
	set("ImageId", image)
	set("InstanceType", spec.InstanceType)
	set("KeyName", ptr.Deref(spec.SSHKeyName, ""))
	setMetadata(form, spec.InstanceMetadataOptions)
	if err := m.disks(ctx, form, &spec, image); err != nil {
		return nil, err
	}
	m.market(form, &spec)
	setHostname(form, spec.PrivateDNSName)
	if len(spec.AdditionalSecurityGroups) > 0 { // then EKS adds none
		groups, err := m.additionalGroups(ctx, spec.AdditionalSecurityGroups, m.is.VPC.VPC)
		if err != nil {
			return nil, err
		}
		for i, g := range append([]string{m.is.VPC.Group}, groups...) {
			set(fmt.Sprintf("SecurityGroupId.%d", i+1), g)
		}
	}
	if image != "" {
		data, err := m.nodegroupData(want)
		if err != nil {
			return nil, err
		}
		set("UserData", base64.StdEncoding.EncodeToString(data))
	}
	out := url.Values{}
	for k, v := range form {
		out["LaunchTemplateData."+k] = v
	}
	return out, nil
}

// nodegroupData returns the user data of machines of a node group with an image of people.
func (m *managed) nodegroupData(want *wantedGroup) ([]byte, error) {
	if m.p.o.UserData == nil || want.pool.Bootstrap == nil {
		return nil, fleet.Errorf(fleet.Invalid, "write the user data of pool "+string(want.pool.Name), "an image of your own needs a bootstrap configuration (name a NodeadmConfig in bootstrap.configRef of the MachinePool)")
	}
	endpoint, secrets, err := m.access()
	if err != nil {
		return nil, err
	}
	u, err := m.p.o.UserData(providers.BootstrapInput{
		Cluster: m.c, Pool: fleet.Pool{Name: want.pool.Name, Role: fleet.RoleWorker, Version: want.pool.Version, Bootstrap: *want.pool.Bootstrap},
		Machine: fleet.MachineName(want.pool.Name), Join: fleet.JoinWorker, Endpoint: endpoint, Secrets: secrets,
	})
	if err != nil {
		return nil, err
	}
	return nodeadmData(u)
}

// isNotYetThere reports whether EKS does not find a launch template, or a version of one, that was just made.
func isNotYetThere(err error) bool {
	return fleet.Refused(cloud.Wrap("", err)) && strings.Contains(strings.ToLower(err.Error()), "launch template")
}
