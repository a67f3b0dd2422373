package aws

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// trustTag says on a cluster of EKS that an OIDC provider was made for it: then it goes once Git no longer asks for one.
const trustTag = "fairlead.dev/oidc-provider"

// trustFor is how long an OIDC provider that is as Git says is not looked at again: all regions share the quota of IAM.
const trustFor = 10 * time.Minute

// trust returns the ARN of the OIDC provider of the cluster; empty: there is nothing to do for one.
func (m *managed) trustARN(ctx context.Context) (string, error) {
	issuer := m.is.Identity.OIDC.Issuer
	if issuer == "" || !m.want.AssociateOIDCProvider && m.is.Tags[trustTag] != yes {
		return "", nil
	}
	return m.place.TrustARN(ctx, issuer)
}

// yes is the value of tags that say that something is.
const yes = "true"

// trustTags returns the tags of the OIDC provider.
func (m *managed) trustTags() cloud.Tags { return m.shared("oidc-provider", "oidc-provider", nil) }

// changeTrust compares the OIDC provider of the cluster with Git. IAM has an outage of its own: what it does not answer
// fails no look at EKS.
func (m *managed) changeTrust(ctx context.Context, s *changes) error {
	arn, err := m.trustARN(ctx)
	if arn == "" || err != nil {
		return err
	}
	want := m.want.AssociateOIDCProvider
	at, known := m.p.trusted.Of(arn)
	if want && known && time.Since(at) < trustFor {
		return nil
	}
	is, err := m.place.Trust(ctx, arn)
	there := err == nil
	if err = cloud.WrapLook("look at OIDC provider "+arn, err); !there && fleet.KindOf(err) != fleet.NotFound {
		if !known || fleet.KindOf(err) == fleet.Unauthorized {
			s.faults = append(s.faults, err)
		}
		return nil
	}
	forget := func(err error) error {
		m.p.trusted.ForgetIf(func(k string, _ time.Time) bool { return k == arn })
		return err
	}
	lack := lacking(is.Tags, m.trustTags())
	switch own, takes := m.c.Owns(is.Tags), slices.Contains(is.Audiences, cloud.TokensForSTS); {
	case !want:
		s.add("OIDC provider "+arn+" is not in Git", false, func(ctx context.Context) error {
			if there && own {
				if err := forget(m.place.DeleteTrust(ctx, arn)); err != nil {
					return err
				}
			}
			return m.place.TagManaged(ctx, m.is.ARN, cloud.Tags{trustTag: "false"})
		})
	case !there:
		s.add("create OIDC provider "+arn, false, func(ctx context.Context) error {
			err := forget(m.place.CreateTrust(ctx, m.is.Identity.OIDC.Issuer, cloud.TokensForSTS, m.trustTags()))
			if cloud.Is(err, "EntityAlreadyExists") { // it shows soon
				return nil
			}
			return err
		})
	case !takes && !own:
		s.never("associateOIDCProvider", "OIDC provider %s is there without the tags of this cluster, and takes no tokens for %s (add this audience, or delete it in AWS: then it is made)", arn, cloud.TokensForSTS)
	case !takes:
		s.add("OIDC provider "+arn+" takes no tokens for "+cloud.TokensForSTS, false, func(ctx context.Context) error {
			return forget(m.place.AddAudience(ctx, arn, cloud.TokensForSTS))
		})
	case own && len(lack) > 0:
		s.add("tags of OIDC provider "+arn+" differ: "+strings.Join(slices.Sorted(maps.Keys(lack)), ", "), false, func(ctx context.Context) error {
			return forget(m.place.TagTrust(ctx, arn, lack))
		})
	default: // that of somebody else does as well
		m.p.trusted.Note(arn, time.Now())
	}
	return nil
}

// dropTrust deletes the OIDC provider of the cluster before it: then the issuer is no longer known.
func (m *managed) dropTrust(ctx context.Context) error {
	arn, err := m.trustARN(ctx)
	if arn == "" || err != nil {
		return err
	}
	is, err := m.place.Trust(ctx, arn)
	if cloud.IsNotFound(err) || err == nil && !m.c.Owns(is.Tags) {
		return nil
	}
	if err != nil {
		return err
	}
	m.p.o.Log.InfoContext(ctx, "deleting an OIDC provider", "cluster", m.c.Key.String(), "arn", arn)
	return m.place.DeleteTrust(ctx, arn)
}

// trustsIn calls each with the OIDC providers of EKS in a place, with and without tags of a fleet. Unless there have to be some,
// credentials that may list none make none.
func trustsIn(ctx context.Context, at *cloud.Place, some bool, each func(t *cloud.Trust)) error {
	all, err := at.Trusts(ctx)
	if err = cloud.WrapLook("list OIDC providers", err); err != nil {
		if !some && fleet.KindOf(err) == fleet.Unauthorized {
			return nil
		}
		return err
	}
	var errs []error
	for _, arn := range all {
		if !strings.Contains(arn, ":oidc-provider/oidc.eks."+at.Region()+".") {
			continue
		}
		t, err := at.Trust(ctx, arn)
		switch {
		case cloud.IsNotFound(err): // it went meanwhile
		case err != nil:
			errs = append(errs, err)
		default:
			each(t)
		}
	}
	return fleet.JoinErrors(errs...)
}

// associates reports whether a cluster is to have an OIDC provider.
func associates(c *fleet.Cluster) bool {
	if !api.IsManaged(c) {
		return false
	}
	spec, err := api.ReadControlPlane(c)
	return err == nil && spec.AssociateOIDCProvider
}
