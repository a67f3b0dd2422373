package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// identityProviderTag says on a cluster of EKS that an identity provider of people was associated with it: others are not looked at.
const identityProviderTag = "fairlead.dev/identity-provider"

// wantedIdentityProvider returns the identity provider that Git names; nil: it names none.
func (m *managed) wantedIdentityProvider() *cloud.IdentityProvider {
	w := m.want.OIDCIdentityProviderConfig
	if w == nil {
		return nil
	}
	return &cloud.IdentityProvider{
		Name: w.IdentityProviderConfigName, Issuer: w.IssuerURL, Client: w.ClientID, UsernameClaim: w.UsernameClaim, UsernamePrefix: w.UsernamePrefix,
		GroupsClaim: w.GroupsClaim, GroupsPrefix: w.GroupsPrefix, RequiredClaims: w.RequiredClaims,
		Tags: m.shared("identity-provider", w.IdentityProviderConfigName, maps.Clone(w.Tags)),
	}
}

// identityProvider returns the identity provider of the cluster, of which EKS takes one; nil: there is none.
func (m *managed) identityProvider(ctx context.Context) (*cloud.IdentityProvider, error) {
	names, err := m.place.IdentityProviders(ctx, m.is.Name)
	for _, name := range names {
		is, err := m.place.IdentityProvider(ctx, m.is.Name, name)
		if !cloud.IsNotFound(err) { // else it went meanwhile
			return is, err
		}
	}
	return nil, err
}

// changeIdentityProvider compares the identity provider of people with Git. EKS changes nothing of one but tags.
func (m *managed) changeIdentityProvider(ctx context.Context, s *changes) error {
	want := m.wantedIdentityProvider()
	if m.is.Tags[identityProviderTag] != yes {
		if want != nil { // so that one that left Git is found
			s.addIdle("associate identity provider "+want.Name+", once the cluster has its tags", func(context.Context) error { return nil })
		}
		return nil
	}
	is, err := m.identityProvider(ctx)
	if cloud.Kind(err) == fleet.Unauthorized {
		s.faults = append(s.faults, cloud.WrapLook("look at identity providers", err))
		return nil
	}
	if err != nil {
		return err
	}
	none := is == nil || !m.c.Owns(is.Tags)
	switch {
	case none && want == nil:
		s.add("no identity provider is left", false, func(ctx context.Context) error {
			return m.place.TagManaged(ctx, m.is.ARN, cloud.Tags{identityProviderTag: "false"})
		})
	case is == nil:
		s.add("associate identity provider "+want.Name, true, func(ctx context.Context) error {
			return cloud.Named(m.place.AssociateIdentityProvider(ctx, m.is.Name, *want))
		})
		s.asks(m.is.Endpoint, want)
	case none:
		s.never("oidcIdentityProviderConfig", "identity provider %s is there without the tags of this cluster, and EKS takes one (disassociate it in AWS: then %s is associated; or leave it out)", is.Name, want.Name)
	case want == nil:
		m.dropIdentityProvider(s, is, "is not in Git")
		s.asks(m.is.Endpoint, is.Name)
	default:
		if differs := differsFrom(is, want); len(differs) > 0 {
			m.dropIdentityProvider(s, is, "differs in "+strings.Join(differs, ", ")+": it is associated again after that")
			s.asks(m.is.Endpoint, want)
			s.steps[len(s.steps)-1].undoes = true
		} else if lack := lacking(is.Tags, want.Tags); len(lack) > 0 {
			s.add("tags of identity provider "+is.Name+" differ", false, func(ctx context.Context) error { return m.place.TagManaged(ctx, is.ARN, lack) })
			s.asks(m.is.Endpoint, []any{is.ARN, lack})
		}
	}
	return nil
}

// dropIdentityProvider disassociates an identity provider. The cluster takes no change while EKS is at work on one.
func (m *managed) dropIdentityProvider(s *changes, is *cloud.IdentityProvider, why string) {
	s.add("disassociate identity provider "+is.Name+", which "+why, true, func(ctx context.Context) error { return m.place.DisassociateIdentityProvider(ctx, m.is.Name, is.Name) })
}

// differsFrom returns the fields of an identity provider that differ from Git, sorted. What Git leaves out is what EKS fills in.
// Source: EKS API reference, OidcIdentityProviderConfigRequest.
func differsFrom(is, want *cloud.IdentityProvider) []string {
	const plain = "sub" // the claim that names people
	prefix := func(p *cloud.IdentityProvider) string { return cmp.Or(p.UsernamePrefix, p.Issuer+"#") }
	var out []string
	for field, pair := range map[string][2]string{
		"identityProviderConfigName": {is.Name, want.Name}, "issuerUrl": {is.Issuer, want.Issuer}, "clientId": {is.Client, want.Client},
		"usernameClaim": {cmp.Or(is.UsernameClaim, plain), cmp.Or(want.UsernameClaim, plain)}, "usernamePrefix": {prefix(is), prefix(want)},
		"groupsClaim": {is.GroupsClaim, want.GroupsClaim}, "groupsPrefix": {is.GroupsPrefix, want.GroupsPrefix},
	} {
		if pair[0] != pair[1] {
			out = append(out, field)
		}
	}
	if !maps.Equal(is.RequiredClaims, want.RequiredClaims) {
		out = append(out, "requiredClaims")
	}
	slices.Sort(out)
	return out
}
