package maas

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

var _ providers.EndpointKeeper = (*Provider)(nil)

// A clusterName is the name of DNS that is the endpoint of a cluster. The zero value is for a cluster with
// another endpoint.
type clusterName struct {
	region.Name

	fqdn  string // empty: the endpoint is no name that MAAS serves for the cluster
	there bool   // MAAS has such a name
	ours  bool   // and it is that of the cluster
}

// namesOf returns the name of c, and the names of c that Git does not name any more: machines that know the API
// server by one of these have no other way to it. A name that Git has and that somebody else made is served by
// somebody else.
func (s *site) namesOf(ctx context.Context, c *fleet.Cluster, spec *api.MaasClusterSpec) (clusterName, []clusterName, error) {
	if c.ServedElsewhere() {
		return clusterName{}, nil, nil
	}
	all, err := s.names.Get(ctx, snapshot.OwnerOf(c))
	if err != nil {
		return clusterName{}, nil, err
	}
	out := nameOf(c, spec, all)
	var former []clusterName
	for _, n := range all {
		if c.Owns(ownerIn(&n)) && n.FQDN != out.FQDN {
			former = append(former, clusterName{Name: n, fqdn: n.FQDN, there: true, ours: true})
		}
	}
	return out, former, nil
}

// nameOf returns the name of c among all.
func nameOf(c *fleet.Cluster, spec *api.MaasClusterSpec, all []region.Name) clusterName {
	named := c.NamedEndpoint().Host != ""
	fqdn := strings.ToLower(endpoint.Wanted(c).Host)
	if fqdn == "" {
		fqdn = newName(c, spec.DNSDomain)
	}
	if spec.VirtualIP != nil || named && !strings.HasSuffix(fqdn, "."+spec.DNSDomain) {
		return clusterName{}
	}
	if i := slices.IndexFunc(all, func(n region.Name) bool { return c.Owns(ownerIn(&n)) }); i >= 0 && !named {
		fqdn = all[i].FQDN // Git may name another domain by now
	}
	out := clusterName{fqdn: fqdn}
	if i := slices.IndexFunc(all, func(n region.Name) bool { return strings.EqualFold(n.FQDN, fqdn) }); i >= 0 {
		out.Name, out.there = all[i], true
		out.ours = c.Owns(ownerIn(&out.Name))
	}
	if out.there && !out.ours && named {
		return clusterName{}
	}
	return out
}

// ours returns the names of the cluster that exist.
func (o *observation) ours() []clusterName {
	if !o.name.ours {
		return o.former
	}
	return append([]clusterName{o.name}, o.former...)
}

// newName returns the name of a cluster for which Git has none.
func newName(c *fleet.Cluster, domain string) string {
	sum := sha256.Sum256([]byte(string(c.Fleet) + "\n" + c.Key.String()))
	const most = 63 - 9 // of a label, without "-" and the digest
	label := strings.ReplaceAll(c.Key.Name, ".", "-")
	return strings.TrimRight(label[:min(len(label), most)], "-") + "-" + hex.EncodeToString(sum[:4]) + "." + domain
}

// ownerText is the beginning of the TXT record of a name. The fleet and the cluster follow.
const ownerText = "fairlead"

// textFor returns the TXT record of the name of c. It has no quotes, which DNS would change.
func textFor(c *fleet.Cluster) string {
	return ownerText + " " + string(c.Fleet) + " " + c.Key.String()
}

// ownerIn returns the tags in the TXT records of a name; nil: it is none of Fairlead.
func ownerIn(n *region.Name) map[string]string {
	for _, t := range n.Texts {
		if part := strings.Fields(t.Text); len(part) == 3 && part[0] == ownerText {
			return map[string]string{fleet.TagFleet: part[1], fleet.TagCluster: part[2]}
		}
	}
	return nil
}

// missing says why machines cannot have the endpoint yet; empty: they can.
func (n *clusterName) missing() string {
	switch {
	case n.fqdn == "" || n.ours:
		return ""
	case n.there:
		return "the name " + n.fqdn + " is not that of the cluster"
	}
	return "the name " + n.fqdn + " does not exist yet"
}

// servers returns the addresses that n leads to, sorted: those of servers that are deployed, or if
// there is none, that are being deployed. The machine called but is left out. While it is not known what
// a server has, or whether a machine is one, the name keeps its addresses.
func (o *observation) servers(n *clusterName, but fleet.MachineName) []string {
	deployed := o.doubtful(n)
	var deploying []string
	for _, h := range o.hosts {
		switch m := &h.machine; {
		case !endpoint.Leads(m) || m.Name == but || m.Damaged != "":
		case h.lost:
			deployed = append(deployed, n.Addresses...)
		case h.Machine.State == region.Deployed || m.Silent:
			deployed = append(deployed, h.Addresses...)
		case h.Machine.State == region.Deploying:
			deploying = append(deploying, h.Addresses...)
		}
	}
	out := deployed
	if len(out) == 0 {
		out = deploying
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// doubtful returns the addresses that n has of machines whose tags are damaged or lost: they may be servers.
func (o *observation) doubtful(n *clusterName) []string {
	var of []string
	for _, h := range o.hosts {
		if h.machine.Damaged != "" {
			of = append(of, h.Addresses...)
		}
	}
	for _, m := range o.listing.machines {
		if o.untagged[m.SystemID] != nil {
			of = append(of, m.Addresses...)
		}
	}
	return slices.DeleteFunc(slices.Clone(n.Addresses), func(a string) bool { return !slices.Contains(of, a) })
}

// ensureNames makes the name of the cluster, and makes all its names lead to the servers.
func (o *observation) ensureNames(ctx context.Context) error {
	errs := []error{o.ensureName(ctx)}
	for _, n := range o.former {
		errs = append(errs, o.lead(ctx, &n, o.servers(&n, "")))
	}
	return fleet.JoinErrors(errs...)
}

// ensureName makes the name of the cluster, and makes it lead to the servers.
func (o *observation) ensureName(ctx context.Context) error {
	n, owner := &o.name, snapshot.OwnerOf(o.cluster)
	switch {
	case n.fqdn == "":
		return nil
	case n.there && !n.ours:
		return fleet.Errorf(fleet.Conflict, "make the name "+n.fqdn, "MAAS has one without the TXT record of the cluster (remove it from MAAS, or write it into controlPlaneEndpoint.host if something serves it)")
	case !n.there:
		defer o.named(owner)
		return o.ofDNS("make the name "+n.fqdn, o.client.AddText(ctx, n.fqdn, textFor(o.cluster)))
	}
	return o.lead(ctx, n, o.servers(n, ""))
}

// lead makes n lead to addresses.
func (o *observation) lead(ctx context.Context, n *clusterName, addresses []string) error {
	if slices.Equal(n.Addresses, addresses) {
		return nil
	}
	defer o.named(snapshot.OwnerOf(o.cluster))
	return o.ofDNS("update the addresses of "+n.fqdn, o.client.Lead(ctx, n.ID, addresses))
}

// ofDNS returns err of a change of DNS, which only administrators may make.
func (o *observation) ofDNS(op string, err error) error {
	err = region.Wrap(op, err)
	if err == nil || fleet.KindOf(err) != fleet.Unauthorized || o.listing.user.Admin {
		return err
	}
	return fleet.Errorf(fleet.Unauthorized, op, "user %s of MAAS is no administrator, and only they change DNS (use the key of an administrator, or write controlPlaneEndpoint.host into MaasCluster %s, with virtualIP: {} if the servers are to serve it)",
		o.listing.user.Name, o.cluster.Infrastructure.Name)
}

// LeaveEndpoint implements providers.EndpointKeeper.
func (p *Provider) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "remove machine " + c.Key.Namespace + "/" + string(name) + " from the endpoint"
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return region.Wrap(op, err)
	}
	var leaving *host
	others := false
	for _, h := range got.hosts {
		if !endpoint.Leads(&h.machine) {
			continue
		}
		if h.machine.Name == name && (id == "" || h.machine.ProviderID == id) {
			leaving = h
		} else {
			others = true
		}
	}
	if leaving == nil || !others {
		return nil
	}
	for _, n := range got.ours() {
		rest := without(got.servers(&n, name), leaving.Addresses)
		if len(rest) == 0 {
			return fleet.Errorf(fleet.Conflict, op, "no other server has an address yet")
		}
		if err := got.lead(ctx, &n, rest); err != nil {
			return fleet.Errorf(fleet.Conflict, op, "%w", err)
		}
	}
	return nil
}

// leave takes the addresses of h out of the names: MAAS would give them back to the names with the next
// deployment of the host.
func (o *observation) leave(ctx context.Context, h *host) error {
	for _, n := range o.ours() {
		if err := o.lead(ctx, &n, without(n.Addresses, h.Addresses)); err != nil {
			return err
		}
	}
	return nil
}

// without returns those of all that are not among some.
func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(a string) bool { return slices.Contains(some, a) })
}

// RemoveShared implements driver.Driver.
func (p machines) RemoveShared(ctx context.Context, _ string, c *fleet.Cluster, got *observation) error {
	p.found.Forget(snapshot.OwnerOf(c))
	defer got.named(snapshot.OwnerOf(c))
	for _, n := range got.ours() {
		if err := got.client.RemoveName(ctx, n.ID); err != nil && !region.IsMissing(err) {
			return got.ofDNS("remove the name "+n.fqdn, err)
		}
	}
	return nil
}
