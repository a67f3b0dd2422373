package aws

import (
	"context"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// eksGroupRole is what Cluster API's provider calls the security group that it makes beside that of EKS.
// Source: CAPA, api/v1beta2/network_types.go.
const eksGroupRole = "node-eks-additional"

// ofEKS is for what EKS keeps, by its ARN.
func ofEKS() tagger {
	return tagger{
		func(ctx context.Context, at *cloud.Place, arn string, add cloud.Tags) error {
			return at.TagManaged(ctx, arn, add)
		},
		func(ctx context.Context, at *cloud.Place, arn string, keys []string) error {
			return at.UntagManaged(ctx, arn, keys)
		},
	}
}

// ofIAM is for OIDC providers, by their ARN.
func ofIAM() tagger {
	return tagger{
		func(ctx context.Context, at *cloud.Place, arn string, add cloud.Tags) error {
			return at.TagTrust(ctx, arn, add)
		},
		func(ctx context.Context, at *cloud.Place, arn string, keys []string) error {
			return at.UntagTrust(ctx, arn, keys)
		},
	}
}

// addManaged adds a thing of EKS, or the OIDC provider of a cluster, that is to have tags. Its name in AWS stays.
func (f *finder) addManaged(by tagger, what, arn string, has, tags cloud.Tags) {
	add := maps.Clone(tags)
	delete(add, nameTag)
	add[adoptedTag] = arn
	f.all = append(f.all, adoption{what: what, id: arn, has: has, add: add, by: by})
}

// plane finds the cluster of EKS, which says in which VPC all is, and what EKS keeps of it.
func (f *finder) plane(ctx context.Context) error {
	m := f.managed
	name := m.want.EKSClusterName
	is, err := f.place.ManagedCluster(ctx, name)
	switch {
	case cloud.IsNotFound(err):
		return fleet.Errorf(fleet.NotFound, f.op, "EKS has no cluster %s in %s (name the account and region of Cluster API in identityRef and region)", name, f.spec.Region)
	case err != nil:
		return err
	case is.Tags[api.TheirCluster+name] != "owned":
		return fleet.Errorf(fleet.Invalid, f.op, "cluster %s of EKS has no tag %s=owned: Cluster API did not make it", name, api.TheirCluster+name)
	case is.Status != cloud.Active:
		return fleet.Errorf(fleet.Conflict, f.op, "cluster %s of EKS is %s (wait until it is %s)", name, is.Status, cloud.Active)
	}
	f.vpc, m.is, m.cluster = is.VPC.VPC, is, is
	f.addManaged(ofEKS(), "cluster "+name+" of EKS", is.ARN, is.Tags, m.tags())
	for _, find := range []func(context.Context) error{f.nodeGroups, f.entries, f.addons, f.profiles, f.identityProvider, f.trust, f.groupOfEKS} {
		if err := find(ctx); err != nil {
			return err
		}
	}
	return nil
}

// madePart reports whether Cluster API's provider made a part of the cluster of EKS. It names clusters in two ways.
// Source: CAPA, pkg/cloud/services/eks/nodegroup.go and addons.go.
func (f *finder) madePart(tags cloud.Tags) bool {
	return tags[serviceTag(f.managed.want.EKSClusterName)] == "owned" || tags[serviceTag(f.c.Key.Name)] == "owned"
}

// notMade says that a part in Git is not one of Cluster API's.
func (f *finder) notMade(what string) error {
	return fleet.Errorf(fleet.Conflict, f.op, "%s has no tag %s=owned: Cluster API did not make it (leave it out, or delete it in AWS)", what, serviceTag(f.managed.want.EKSClusterName))
}

// nodeGroups finds those of the pools.
func (f *finder) nodeGroups(ctx context.Context) error {
	for _, p := range f.c.KeptPools {
		spec, err := api.ReadPool(p.Infrastructure)
		if err != nil {
			return err
		}
		what := "node group " + spec.EKSNodegroupName
		is, err := f.place.Nodegroup(ctx, f.managed.is.Name, spec.EKSNodegroupName)
		switch {
		case cloud.IsNotFound(err):
			return fleet.Errorf(fleet.NotFound, f.op, "cluster %s of EKS has no %s", f.managed.is.Name, what)
		case err != nil:
			return err
		case !f.madePart(is.Tags):
			return f.notMade(what)
		case is.Template != nil:
			return fleet.Errorf(fleet.Invalid, f.op, "%s has launch template %s, and such pools are not adopted (move its Pods to a pool without awsLaunchTemplate, and delete this one with Cluster API)", what, is.Template.ID)
		case is.Status != cloud.Active && is.Status != cloud.Degraded:
			return fleet.Errorf(fleet.Conflict, f.op, "%s is %s (wait until it is %s)", what, is.Status, cloud.Active)
		}
		f.addManaged(ofEKS(), what, is.ARN, is.Tags, f.c.PoolTags(p.Name, providers.AdoptionID(f.c.Key)))
	}
	return nil
}

// entries finds the access entries that Git names. Those of EKS and of people stay theirs.
func (f *finder) entries(ctx context.Context) error {
	m := f.managed
	if m.usesConfigMap() {
		return nil
	}
	for i := range m.want.AccessEntries {
		is, err := f.place.AccessEntry(ctx, m.is.Name, m.want.AccessEntries[i].PrincipalARN)
		switch {
		case cloud.IsNotFound(err): // it is made later
		case err != nil:
			return err
		case f.madePart(is.Tags):
			f.addManaged(ofEKS(), "access entry of "+is.Principal, is.ARN, is.Tags, f.c.Tags())
		}
	}
	return nil
}

// addons finds those that Git names. Others are of people.
func (f *finder) addons(ctx context.Context) error {
	for i := range f.managed.want.Addons {
		want := &f.managed.want.Addons[i]
		is, err := f.place.Addon(ctx, f.managed.is.Name, want.Name)
		switch {
		case cloud.IsNotFound(err): // it is installed later
		case err != nil:
			return err
		case !f.madePart(is.Tags):
			return f.notMade("addon " + want.Name)
		default:
			f.addManaged(ofEKS(), "addon "+want.Name, is.ARN, is.Tags, f.managed.addonTags(want))
		}
	}
	return nil
}

// profiles finds the Fargate profiles that Git names.
func (f *finder) profiles(ctx context.Context) error {
	all, err := api.FargateProfiles(f.c)
	if err != nil {
		return err
	}
	for _, want := range all {
		what := "Fargate profile " + want.ProfileName
		is, err := f.place.FargateProfile(ctx, f.managed.is.Name, want.ProfileName)
		switch {
		case cloud.IsNotFound(err):
			return fleet.Errorf(fleet.NotFound, f.op, "cluster %s of EKS has no %s", f.managed.is.Name, what)
		case err != nil:
			return err
		case !f.madePart(is.Tags):
			return f.notMade(what)
		}
		f.addManaged(ofEKS(), what, is.ARN, is.Tags, f.managed.shared("fargate-"+want.ProfileName, want.ProfileName, maps.Clone(want.AdditionalTags)))
	}
	return nil
}

// identityProvider finds that which Git names. Cluster API's provider gives it no tag of its own.
func (f *finder) identityProvider(ctx context.Context) error {
	want := f.managed.wantedIdentityProvider()
	if want == nil {
		return nil
	}
	is, err := f.managed.identityProvider(ctx)
	if err != nil {
		return err
	}
	if is == nil || is.Name != want.Name {
		return fleet.Errorf(fleet.NotFound, f.op, "cluster %s of EKS has no identity provider %s", f.managed.is.Name, want.Name)
	}
	f.addManaged(ofEKS(), "identity provider "+is.Name, is.ARN, is.Tags, want.Tags)
	return nil
}

// trust finds the OIDC provider in IAM.
func (f *finder) trust(ctx context.Context) error {
	if !f.managed.want.AssociateOIDCProvider {
		return nil
	}
	arn, err := f.managed.trustARN(ctx)
	if err != nil {
		return err
	}
	is, err := f.place.Trust(ctx, arn)
	switch {
	case cloud.IsNotFound(err):
		return fleet.Errorf(fleet.NotFound, f.op, "IAM has no OIDC provider %s", arn)
	case err != nil:
		return err
	case is.Tags[api.TheirCluster+f.managed.is.Name] != "owned" && !f.madePart(is.Tags): // one of people does as well
		return nil
	}
	f.addManaged(ofIAM(), "OIDC provider "+arn, arn, is.Tags, f.managed.trustTags())
	return nil
}

// groupOfEKS finds the security group that Cluster API's provider made beside that of EKS, to delete it with the network.
func (f *finder) groupOfEKS(ctx context.Context) error {
	all, err := f.place.Groups(ctx, "vpc-id", f.vpc, "tag:"+f.made, "owned", "tag:"+theirRole, eksGroupRole)
	for _, g := range all {
		f.add("security group", g.ID, "group-"+eksGroupRole, g.Tags)
	}
	return err
}

// adoptedParts returns what EKS keeps of the cluster with its tags, and the OIDC provider, the cluster of EKS last: what is
// found by way of it comes before it.
func (m *managed) adoptedParts(ctx context.Context) ([]adoption, error) {
	if m.is == nil {
		return nil, nil
	}
	var out []adoption
	add := func(by tagger, what, arn string, tags cloud.Tags) {
		if m.c.Owns(tags) {
			out = append(out, adoption{what: what, id: arn, has: tags, by: by})
		}
	}
	groups, err := m.nodegroups(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		add(ofEKS(), "node group "+g.Name, g.ARN, g.Tags)
	}
	if !m.usesConfigMap() {
		there, err := m.place.AccessEntries(ctx, m.is.Name)
		if err != nil {
			return nil, err
		}
		for _, principal := range there {
			is, err := m.place.AccessEntry(ctx, m.is.Name, principal)
			if err != nil {
				return nil, err
			}
			add(ofEKS(), "access entry of "+principal, is.ARN, is.Tags)
		}
	}
	names, err := m.place.Addons(ctx, m.is.Name)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		is, err := m.place.Addon(ctx, m.is.Name, name)
		if err != nil {
			return nil, err
		}
		add(ofEKS(), "addon "+name, is.ARN, is.Tags)
	}
	all, err := profiles(ctx, m.place, m.is.Name, wantsFargate(m.c))
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		add(ofEKS(), "Fargate profile "+p.Name, p.ARN, p.Tags)
	}
	if m.is.Tags[identityProviderTag] == yes {
		is, err := m.identityProvider(ctx)
		if err != nil {
			return nil, err
		}
		if is != nil {
			add(ofEKS(), "identity provider "+is.Name, is.ARN, is.Tags)
		}
	}
	arn, err := m.trustARN(ctx)
	if err != nil {
		return nil, err
	}
	if arn != "" {
		is, err := m.place.Trust(ctx, arn)
		if err == nil {
			add(ofIAM(), "OIDC provider "+arn, arn, is.Tags)
		} else if !cloud.IsNotFound(err) {
			return nil, err
		}
	}
	add(ofEKS(), "cluster "+m.is.Name+" of EKS", m.is.ARN, m.is.Tags)
	return out, nil
}
