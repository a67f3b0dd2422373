package aws

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A change is one of a cluster of EKS.
type change struct {
	what   string
	update bool // EKS takes one of these at a time, and none while it is updating
	idle   bool // EKS takes several of these, and none while it is updating
	ask    ask  // what EKS is asked for, and not again for a while; zero: whenever it differs
	undoes bool // it undoes what EKS was asked for
	do     func(ctx context.Context) error
}

// changes are what is to be changed of a cluster, in upstream's order.
type changes struct {
	p      *Provider
	steps  []change
	faults []error // what cannot be changed
}

func (s *changes) add(what string, update bool, do func(ctx context.Context) error) {
	s.steps = append(s.steps, change{what: what, update: update, do: do})
}

// addIdle adds a change that EKS makes beside others of its kind, in a cluster that is not updating.
func (s *changes) addIdle(what string, do func(ctx context.Context) error) {
	s.steps = append(s.steps, change{what: what, idle: true, do: do})
}

// asks has the last change requested once in a while, if EKS takes it and does not have the value.
func (s *changes) asks(id string, value any) { s.steps[len(s.steps)-1].ask = askOf(id, value) }

func (s *changes) never(field, format string, args ...any) {
	s.faults = append(s.faults, fleet.Errorf(fleet.Invalid, "change "+field, format, args...))
}

// perform makes the changes that EKS takes now: of its updates the first one, while it is idle.
func (s *changes) perform(ctx context.Context, idle bool) []error {
	var errs []error
	for _, c := range s.steps {
		if taken, _ := s.p.isTaken(c.ask); taken || (c.update || c.idle) && !idle {
			continue
		}
		err := c.do(ctx)
		switch {
		case c.idle:
			err = busyNow(err)
		case c.update:
			there := cloud.IsThere(err)
			if there {
				err = nil
			}
			err = busyNow(err)
			idle = there || fleet.Refused(cloud.Wrap("", err)) // EKS changes nothing then, and takes another
		}
		switch {
		case err != nil:
			errs = append(errs, cloud.Wrap(c.what, err))
		case c.ask != ask{} && !c.undoes:
			s.p.took(c.ask)
		}
	}
	return errs
}

// changes compares the cluster with Git.
func (m *managed) changes(ctx context.Context) (*changes, error) {
	s := &changes{p: m.p}
	if m.is.Name != m.want.EKSClusterName {
		s.never("eksClusterName", "the cluster is %s, and EKS renames none (set eksClusterName: %s, or make another cluster)", m.is.Name, m.is.Name)
	}
	role, err := m.place.RoleARN(ctx, m.want.RolePath, m.want.RoleName)
	if err != nil {
		return nil, err
	}
	if m.is.Role != role {
		s.never("roleName", "the cluster has %s and not %s, and EKS changes it of none (bring the role back, or make another cluster)", m.is.Role, role)
	}
	if is := m.isSix(); is != m.wantsSix() {
		s.never("network.vpc.ipv6", "%s, and EKS changes the addresses of Pods and Services of no cluster (take the change back, or make another cluster)", map[bool]string{false: "the cluster has IPv4 alone", true: "the cluster has IPv6"}[is])
	}
	if services, err := m.services(); err != nil {
		s.faults = append(s.faults, err)
	} else if is := m.is.Services.Range; services != "" && is != "" && is != services {
		s.never("clusterNetwork.services", "Services of the cluster are in %s, and EKS moves them to no other range (name that one, or make another cluster)", is)
	}
	m.changeVersion(s)
	m.changeNetwork(s)
	m.changeMode(s)
	if err := m.changeEntries(ctx, s); err != nil {
		return nil, err
	}
	m.changeLogging(s)
	m.changeEncryption(s)
	if want := strings.ToUpper(m.want.UpgradePolicy); want != "" && want != m.is.Upgrades.Support {
		m.config(s, fmt.Sprintf("upgradePolicy %s → %s", strings.ToLower(m.is.Upgrades.Support), m.want.UpgradePolicy), cloud.ConfigUpdate{Upgrades: &cloud.UpgradePolicy{Support: want}})
	}
	if lack := lacking(m.is.Tags, m.tags()); len(lack) > 0 {
		s.add("tags of the cluster differ: "+strings.Join(slices.Sorted(maps.Keys(lack)), ", "), false, func(ctx context.Context) error {
			return m.place.TagManaged(ctx, m.is.ARN, lack)
		})
		s.asks(m.is.Endpoint, lack)
	}
	if err := m.changeTrust(ctx, s); err != nil {
		return nil, err
	}
	if err := m.changeIdentityProvider(ctx, s); err != nil {
		return nil, err
	}
	if err := m.changeFargate(ctx, s); err != nil {
		return nil, err
	}
	if err := m.changeAddons(ctx, s); err != nil { // last: those of a newer version of Kubernetes need it
		return nil, err
	}
	m.leaveOverruled(s)
	return s, nil
}

// services returns the range of Services; empty: EKS chooses one.
func (m *managed) services() (string, error) {
	all := m.c.Network.Services.CIDRBlocks
	switch {
	case len(all) == 0:
		return "", nil
	case m.wantsSix():
		return "", fleet.Errorf(fleet.Invalid, "read clusterNetwork.services of the Cluster", "EKS chooses the range of Services of a cluster with IPv6 (leave out %s)", strings.Join(all, ", "))
	}
	p, err := netip.ParsePrefix(all[0])
	if err != nil || len(all) > 1 || !p.Addr().Is4() {
		return "", fleet.Errorf(fleet.Invalid, "read clusterNetwork.services of the Cluster", "EKS takes one range of IPv4, and not %s", strings.Join(all, ", "))
	}
	return p.Masked().String(), nil
}

// lacking returns the tags of want that are not there, or are others. What was adopted keeps its name.
func lacking(is, want cloud.Tags) cloud.Tags {
	out := make(cloud.Tags)
	for k, v := range want {
		named := k == nameTag && is[adoptedTag] != ""
		if has, ok := is[k]; (!ok || has != v) && k != fleet.TagOperation && !named {
			out[k] = v
		}
	}
	return out
}

// config adds an update of the configuration.
func (m *managed) config(s *changes, what string, u cloud.ConfigUpdate) {
	s.add(what, true, func(ctx context.Context) error {
		return m.place.UpdateConfig(ctx, m.is.Name, u)
	})
	s.asks(m.is.Endpoint, u)
}

// minor returns the minor version of 1.34.
func minor(version string) int {
	_, after, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(after)
	return n
}

// changeVersion goes up by one minor version. What AWS upgraded by itself stays.
func (m *managed) changeVersion(s *changes) {
	switch step := minor(m.want.Version) - minor(m.is.Version); {
	case step == 0:
	case step < 0:
		s.never("version", "the cluster has %s, and EKS does not go back to %s (set version: v%s)", m.is.Version, m.want.Version, m.is.Version)
	case step > 1:
		s.never("version", "the cluster has %s, and EKS goes up by one minor version at a time (set version: v1.%d first)", m.is.Version, minor(m.is.Version)+1)
	default:
		what := fmt.Sprintf("version %s → %s", m.is.Version, m.want.Version)
		s.add(what, true, func(ctx context.Context) error {
			return m.place.UpdateVersion(ctx, m.is.Name, m.want.Version)
		})
		s.asks(m.is.Endpoint, m.want.Version)
	}
}

// changeNetwork changes from where the API server is reached, and the subnets that Git names.
func (m *managed) changeNetwork(s *changes) {
	is, want, ranges := m.is.VPC, m.want.EndpointAccess, m.publicRanges(m.isSix())
	if ptr.Deref(is.Public, false) != *want.Public || ptr.Deref(is.Private, false) != *want.Private || *want.Public && !sameSet(is.PublicCIDRs, ranges) {
		m.config(s, "endpointAccess of the cluster differs", cloud.ConfigUpdate{VPC: &cloud.VPCConfig{Public: want.Public, Private: want.Private, PublicCIDRs: ranges}})
	}
	subnets := m.controlPlaneSubnets()
	if m.want.Network.VPC.ID == is.VPC && len(m.want.Network.Subnets) > 0 && len(subnets) > 0 && !sameSet(is.Subnets, subnets) {
		m.config(s, "subnets of the cluster differ", cloud.ConfigUpdate{VPC: &cloud.VPCConfig{Subnets: subnets}})
	}
}

// publicRanges returns from where the endpoint is reached. Everybody is everybody of both families if it has both.
// Source: EKS API reference, VpcConfigRequest.
func (m *managed) publicRanges(six bool) []string {
	all := m.want.EndpointAccess.PublicCIDRs
	if six && slices.Equal(all, []string{everywhere}) {
		return []string{everywhere, everywhere6}
	}
	return all
}

// sameSet reports whether two lists have the same members.
func sameSet(a, b []string) bool {
	set := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(set(a), set(b))
}

// changeMode goes to the next way into the cluster.
func (m *managed) changeMode(s *changes) {
	is, want := slices.Index(api.AccessModes(), strings.ToLower(m.is.Access.Mode)), slices.Index(api.AccessModes(), m.want.AccessConfig.AuthenticationMode)
	switch {
	case is == want || is < 0:
	case is > want:
		s.never("accessConfig.authenticationMode", "the cluster has %s, and EKS does not go back to %s (set authenticationMode: %s)", api.AccessModes()[is], api.AccessModes()[want], api.AccessModes()[is])
	default: // one at a time: from config_map to api by way of both
		next := api.AccessModes()[is+1]
		m.config(s, fmt.Sprintf("authenticationMode %s → %s", api.AccessModes()[is], next), cloud.ConfigUpdate{Access: &cloud.AccessConfig{Mode: strings.ToUpper(next)}})
	}
}

// logs returns the types of logs that Git asks for, sorted.
func (m *managed) logs() []string {
	l := m.want.Logging
	var out []string
	for kind, on := range map[string]bool{"api": l.APIServer, "audit": l.Audit, "authenticator": l.Authenticator, "controllerManager": l.ControllerManager, "scheduler": l.Scheduler} {
		if on {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

func (m *managed) changeLogging(s *changes) {
	is, want := m.is.Logging.Enabled(), m.logs()
	if slices.Equal(is, want) {
		return
	}
	l := new(cloud.Logging)
	if len(want) > 0 {
		l.Setups = append(l.Setups, cloud.LogSetup{Types: want, Enabled: true})
	}
	if off := without(is, want); len(off) > 0 {
		l.Setups = append(l.Setups, cloud.LogSetup{Types: off})
	}
	m.config(s, fmt.Sprintf("logging [%s] → [%s]", strings.Join(is, ", "), strings.Join(want, ", ")), cloud.ConfigUpdate{Logging: l})
}

// without returns the members of a that b does not have.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return slices.Contains(b, x) })
}

// changeEncryption begins to encrypt. That has no end, and the key stays.
func (m *managed) changeEncryption(s *changes) {
	want := m.encryption()
	has := ""
	for _, e := range m.is.Encryption {
		has = e.Provider.Key
	}
	switch {
	case has == "" && want != nil:
		s.add("begin to encrypt Secrets in etcd", true, func(ctx context.Context) error {
			return m.place.Encrypt(ctx, m.is.Name, want)
		})
		s.asks(m.is.Endpoint, want)
	case has != "" && want != nil && strings.Contains(want[0].Provider.Key, ":alias/"): // EKS shows the key that it led to
	case has != "" && (want == nil || want[0].Provider.Key != has):
		s.never("encryptionConfig", "Secrets in etcd are encrypted with %s, which EKS does not change (set encryptionConfig.provider to it, or make another cluster)", has)
	}
}

// usesConfigMap reports whether the cluster has no access entries: aws-auth alone says who is let in.
func (m *managed) usesConfigMap() bool {
	return m.is.Access.Mode == strings.ToUpper(api.AccessByConfigMap)
}

// changeEntries compares the entries that Git names, those of the roles of machines, and those that were made for them, with
// those that are there. Others are those of EKS and of people. Where Git goes back to aws-auth, which EKS does not, people
// still need theirs.
func (m *managed) changeEntries(ctx context.Context, s *changes) error {
	entries, err := m.workerEntries(ctx, s)
	if err != nil {
		return err
	}
	if m.usesConfigMap() || m.want.AccessConfig.AuthenticationMode == api.AccessByConfigMap {
		return nil
	}
	there, err := m.place.AccessEntries(ctx, m.is.Name)
	if err != nil {
		return err
	}
	slices.Sort(there)
	if err := m.noteLockedOut(ctx, entries, there); err != nil {
		return err
	}
	for i := range entries {
		want := &entries[i]
		if slices.Contains(there, want.PrincipalARN) {
			if err := m.changeEntry(ctx, s, want); err != nil {
				return err
			}
			continue
		}
		s.add("let in "+want.PrincipalARN, false, func(ctx context.Context) error {
			in := cloud.AccessEntry{Principal: want.PrincipalARN, Groups: want.KubernetesGroups, Username: want.Username, Type: strings.ToUpper(want.Type), Tags: m.c.Tags()}
			if err := cloud.Named(m.place.CreateAccessEntry(ctx, m.is.Name, in)); err != nil && !cloud.Is(err, "ResourceInUseException") {
				return err
			}
			for _, p := range policiesOf(want) {
				if err := m.place.SetAccessPolicy(ctx, m.is.Name, want.PrincipalARN, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, principal := range there {
		if slices.ContainsFunc(entries, func(e api.AccessEntry) bool { return e.PrincipalARN == principal }) {
			continue
		}
		is, err := m.place.AccessEntry(ctx, m.is.Name, principal)
		if cloud.IsNotFound(err) { // it went meanwhile
			continue
		}
		if err != nil {
			return err
		}
		own, err := m.place.IsOwn(ctx, principal)
		switch {
		case err != nil:
			return err
		case m.c.Owns(is.Tags) && own:
			s.never("accessEntries", "the entry of %s lets the agent in, and stays (name it, or delete it in AWS)", principal)
		case m.c.Owns(is.Tags):
			if is.Type == strings.ToUpper(api.MachineEntry) {
				used, err := m.stillUsed(ctx, principal)
				if err != nil {
					return err
				}
				if used {
					continue
				}
			}
			s.add("no longer let in "+principal, false, func(ctx context.Context) error {
				return m.place.DeleteAccessEntry(ctx, m.is.Name, principal)
			})
		}
	}
	return nil
}

// noteLockedOut notes that no access entry in Git or EKS lets in the agent, if there is no other way in.
func (m *managed) noteLockedOut(ctx context.Context, entries []api.AccessEntry, there []string) error {
	if m.is.Access.Mode != strings.ToUpper(api.AccessByAPI) {
		return nil
	}
	for i := range entries {
		there = append(there, entries[i].PrincipalARN)
	}
	for _, principal := range there {
		if own, err := m.place.IsOwn(ctx, principal); own || err != nil {
			return err
		}
	}
	m.lockedOut = true
	return nil
}

// accessProblems says that the API server refuses the agent; empty: it does not, or that is not known.
func (m *managed) accessProblems() string {
	if !m.lockedOut {
		return ""
	}
	return "no access entry of cluster " + m.is.Name + " lets in the agent (add one with the policy AmazonEKSClusterAdminPolicy for its user or role to accessEntries)"
}

// policiesOf returns the policies of an entry as EKS has them.
func policiesOf(e *api.AccessEntry) []cloud.AccessPolicy {
	var out []cloud.AccessPolicy
	for _, p := range e.AccessPolicies {
		one := cloud.AccessPolicy{ARN: p.PolicyARN}
		one.Scope.Type, one.Scope.Namespaces = p.AccessScope.Type, p.AccessScope.Namespaces
		out = append(out, one)
	}
	return out
}

// usernameOf returns the name that EKS gives a principal in the cluster unless another is set.
// Source: EKS user guide, "Create access entries".
func usernameOf(principal string) string {
	before, role, ok := strings.Cut(principal, ":role/")
	if !ok {
		return principal
	}
	return strings.Replace(before, ":iam:", ":sts:", 1) + ":assumed-role/" + role[strings.LastIndexByte(role, '/')+1:] + "/{{SessionName}}"
}

// changeEntry compares an entry that is there with Git.
func (m *managed) changeEntry(ctx context.Context, s *changes, want *api.AccessEntry) error {
	principal := want.PrincipalARN
	is, err := m.place.AccessEntry(ctx, m.is.Name, principal)
	if err != nil {
		return err
	}
	if kind := strings.ToUpper(want.Type); is.Type != kind {
		s.never("accessEntries", "the entry of %s is of type %s and not %s, and EKS changes it of none (delete it in AWS: then it is made)", principal, strings.ToLower(is.Type), want.Type)
		return nil
	}
	name := want.Username
	if name == "" && m.c.Owns(is.Tags) {
		name = usernameOf(principal)
	}
	if want.Type == api.StandardEntry && (!sameSet(is.Groups, want.KubernetesGroups) || name != "" && is.Username != name) {
		s.add("groups or name of "+principal+" differ", false, func(ctx context.Context) error {
			return m.place.UpdateAccessEntry(ctx, m.is.Name, cloud.AccessEntry{Principal: principal, Groups: want.KubernetesGroups, Username: name})
		})
		s.asks(m.is.Endpoint, []any{principal, want.KubernetesGroups, name})
	}
	have, err := m.place.AccessPolicies(ctx, m.is.Name, principal)
	if err != nil {
		return err
	}
	for _, p := range policiesOf(want) {
		same := func(o cloud.AccessPolicy) bool {
			return o.ARN == p.ARN && o.Scope.Type == p.Scope.Type && sameSet(o.Scope.Namespaces, p.Scope.Namespaces)
		}
		if !slices.ContainsFunc(have, same) {
			s.add("policy "+p.ARN+" of "+principal+" differs", false, func(ctx context.Context) error {
				return m.place.SetAccessPolicy(ctx, m.is.Name, principal, p)
			})
			s.asks(m.is.Endpoint, []any{principal, p})
		}
	}
	if !m.c.Owns(is.Tags) { // EKS, or people, gave what else it has: perhaps the agent's own way in
		return nil
	}
	own, err := m.place.IsOwn(ctx, principal)
	if err != nil {
		return err
	}
	for _, p := range have {
		switch {
		case slices.ContainsFunc(want.AccessPolicies, func(o api.AccessPolicy) bool { return o.PolicyARN == p.ARN }):
		case own:
			s.never("accessEntries", "policy %s of %s lets the agent in, and stays (name it, or take it away in AWS)", p.ARN, principal)
		default:
			s.add("policy "+p.ARN+" of "+principal+" is not in Git", false, func(ctx context.Context) error {
				return m.place.DropAccessPolicy(ctx, m.is.Name, principal, p.ARN)
			})
		}
	}
	return nil
}
