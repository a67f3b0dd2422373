package azure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// fixedOfCluster are the fields that AKS changes of no cluster.
func fixedOfCluster() []string {
	return []string{
		"dnsPrefix", "nodeResourceGroupName", "networkPlugin", "networkPolicy", "clusterNetwork.services", "clusterNetwork.pods", "dnsServiceIP", "loadBalancerSKU",
		"apiServerAccessProfile.enablePrivateCluster", "apiServerAccessProfile.privateDNSZone", "sshPublicKey", "kubeletUserAssignedIdentity",
	}
}

// changes are what is to be changed of a cluster.
type changes struct {
	fields  []difference
	tags    arm.Tags // that it lacks
	version string   // that it goes to; empty: it stays
	failed  bool     // the last change of it failed
	from    string   // the version that it has
	faults  []error  // what cannot be changed

	overruled []string // what AKS took, and something else changed back
}

func (s *changes) never(field, format string, args ...any) {
	s.faults = append(s.faults, fleet.Errorf(fleet.Invalid, "change "+field, format, args...))
}

// config reports whether something beside the version is to be changed.
func (s *changes) config() bool { return len(s.fields)+len(s.tags) > 0 }

// what says what is to be changed, for people.
func (s *changes) what() []string {
	var out []string
	for _, d := range s.fields {
		out = append(out, d.String()+" differs")
	}
	if len(s.tags) > 0 {
		out = append(out, "tags of the cluster differ: "+strings.Join(slices.Sorted(maps.Keys(s.tags)), ", "))
	}
	if s.version != "" {
		out = append(out, fmt.Sprintf("version %s → %s", s.from, s.version))
	}
	if s.failed && len(out) == 0 {
		out = append(out, "the last change of the cluster failed, and is asked for again")
	}
	return out
}

// changes compares the cluster with Git.
func (m *managed) changes() *changes {
	s := &changes{from: m.is.Properties.Version, failed: m.is.Properties.Provisioning == failed || m.is.Properties.Provisioning == canceled}
	if !strings.EqualFold(m.is.Name, m.name) {
		s.never("metadata.name of the "+api.ManagedControlPlane, "the cluster of AKS is %s, and Azure renames none (put the name back, or make another cluster)", m.is.Name)
	}
	if !strings.EqualFold(m.is.Location, m.spec.Location) {
		s.never("location", "the cluster is in %s and cannot move to %s (put it back, or make another cluster)", m.is.Location, m.spec.Location)
	}
	want, err := m.wanted()
	if err != nil {
		s.faults = append(s.faults, err)
	} else {
		for _, d := range differences(m.raw, m.withoutIdentities(want)) {
			m.change(s, d)
		}
	}
	s.tags = lacking(m.is.Tags, m.tags())
	m.leaveOverruled(s)
	m.changeVersion(s)
	return s
}

// change notes a difference as a change, or as what cannot be changed.
func (m *managed) change(s *changes, d difference) {
	field := d.String()
	fixed := slices.ContainsFunc(fixedOfCluster(), func(f string) bool { return field == f || strings.HasPrefix(field, f+".") })
	if dnsOfServices := field == "dnsServiceIP" && m.want.DNSServiceIP == ""; dnsOfServices {
		return // follows from clusterNetwork.services, which tells
	}
	switch {
	case strings.HasPrefix(field, "oidcIssuerProfile") && d.want == false:
		s.never(field, "AKS does not turn it off (set it to true)")
	case fixed:
		s.never(field, "the cluster has %v and not %v, and AKS changes it of none (put it back, or make another cluster)", cmp.Or[any](d.is, "none"), d.want)
	default:
		s.fields = append(s.fields, d)
	}
}

// withoutIdentities returns want without the identities if the cluster has these: Azure writes their ids in any case, and
// says more of them.
func (m *managed) withoutIdentities(want map[string]any) map[string]any {
	identity, _ := want["identity"].(map[string]any)
	ids, _ := identity["userAssignedIdentities"].(map[string]any)
	is, _ := m.raw["identity"].(map[string]any)
	has, _ := is["userAssignedIdentities"].(map[string]any)
	for id := range ids {
		delete(ids, id)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(has)), func(k string) bool { return arm.Same(k, id) }) {
			identity["userAssignedIdentities"] = []any{id} // is no object, and so differs
		}
	}
	return want
}

// lacking returns the tags of want that are not there, or are others. Those of others are no difference.
func lacking(is, want arm.Tags) arm.Tags {
	out := make(arm.Tags)
	for k, v := range want {
		found := false
		for has, value := range is {
			found = found || strings.EqualFold(has, k) && value == v
		}
		if !found && k != tagName(fleet.TagOperation) {
			out[k] = v
		}
	}
	return out
}

// minor returns the minor version of 1.34.1.
func minor(version string) int {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1])
	return n
}

// changeVersion goes up by one minor version at a time. What AKS upgraded by itself stays.
func (m *managed) changeVersion(s *changes) {
	is, want := m.is.Properties.Version, m.want.Version
	order, _ := fleet.CompareKubernetes("v"+want, "v"+is)
	patches := m.want.AutoUpgradeProfile != nil && slices.Contains([]string{"patch", "stable", "rapid"}, m.want.AutoUpgradeProfile.UpgradeChannel)
	switch {
	case is == "" || order == 0:
	case order < 0 && minor(is) == minor(want) && patches: // as Git asks for
	case order < 0:
		s.never("version", "the cluster has %s, which AKS or somebody else upgraded it to, and AKS does not go back to %s (set version: v%s)", is, want, is)
	case minor(want)-minor(is) > 1:
		s.never("version", "the cluster has %s, and AKS goes up by one minor version at a time (set a version of 1.%d first)", is, minor(is)+1)
	default:
		s.version = want
	}
}

// apply makes the changes. AKS takes one at a time: what it refuses permanently holds up nothing else.
func (m *managed) apply(ctx context.Context, s *changes) []error {
	type try struct {
		fields []difference
		tags   arm.Tags
	}
	var tries []try
	if s.config() || s.failed && s.version == "" {
		tries = append(tries, try{s.fields, s.tags})
	}
	if len(s.fields) > 1 || len(s.fields) == 1 && len(s.tags) > 0 {
		for _, d := range s.fields {
			tries = append(tries, try{fields: []difference{d}})
		}
		if len(s.tags) > 0 || s.failed && s.version == "" {
			tries = append(tries, try{tags: s.tags})
		}
	}
	var refused []error
	put := func(what string, t try, version string) (done bool) {
		m.p.o.Log.InfoContext(ctx, "changing a cluster of AKS", "cluster", m.c.Key.String(), "name", m.is.Name, "change", what)
		err := m.put(ctx, t.fields, t.tags, version)
		if err == nil {
			m.p.asks.Note(s.all(m.is.ID), time.Now())
		}
		if err != nil {
			refused = append(refused, arm.Wrap(what, err))
		}
		return err == nil || !arm.IsPermanent(err)
	}
	for i, t := range tries {
		what := "change tags of the cluster"
		if len(t.fields) > 0 {
			what = fmt.Sprint("change ", t.fields)
		}
		if put(what, t, "") {
			if i > 0 { // the first try was all of them
				refused = refused[1:]
			}
			return refused
		}
	}
	if s.version != "" {
		put(fmt.Sprintf("version %s → %s", s.from, s.version), try{}, s.version)
	}
	return refused
}

// put writes the cluster as it was read, with changes: what a PUT leaves out, AKS takes away. Each pool keeps its own
// version, else it goes along, and its autoscaler decides its number.
func (m *managed) put(ctx context.Context, fields []difference, tags arm.Tags, version string) error {
	body := plain(m.raw)
	for _, d := range fields {
		if d.path[0] == "identity" {
			want, err := m.wanted()
			if err != nil {
				return err
			}
			body["identity"] = want["identity"]
			continue
		}
		d.set(body)
	}
	p := propertiesIn(body)
	m.oneWayOut(p)
	current(p, "kubernetesVersion", "currentKubernetesVersion")
	if version != "" {
		p["kubernetesVersion"] = version
	}
	pools, _ := p["agentPoolProfiles"].([]any)
	for _, x := range pools {
		if pool, ok := x.(map[string]any); ok {
			keepOwn(pool)
		}
	}
	if len(tags) > 0 {
		all := make(arm.Tags)
		maps.Copy(all, m.is.Tags)
		body["tags"] = tagsFor(nil, all, tags)
	}
	readOnly(body, "id", "name", "type", "eTag", "systemData")
	readOnly(p, "provisioningState", "powerState", "currentKubernetesVersion", "fqdn", "privateFQDN", "azurePortalFQDN", "maxAgentPools")
	defer m.changed()
	if err := m.place.Put(ctx, m.is.ID, body, arm.Unchanged(m.is.ETag)); err != nil {
		return err
	}
	for _, d := range fields {
		m.p.asked(askOf(m.is.ID, d.String(), d.want))
	}
	for k, v := range tags {
		m.p.asked(askOf(m.is.ID, "tag "+k, v))
	}
	return nil
}

// oneWayOut takes the addresses by which machines reached the internet out of a body in which Git names others: AKS takes one
// of the three.
func (m *managed) oneWayOut(p map[string]any) {
	network, _ := p["networkProfile"].(map[string]any)
	balancer, _ := network["loadBalancerProfile"].(map[string]any)
	if m.want.LoadBalancerProfile == nil || balancer == nil {
		return
	}
	ways := []string{"managedOutboundIPs", "outboundIPPrefixes", "outboundIPs"}
	want := balancerProfile(m.want.LoadBalancerProfile)
	for _, way := range ways {
		if _, named := want[way]; named {
			readOnly(balancer, slices.DeleteFunc(ways, func(w string) bool { return w == way })...)
			return
		}
	}
}

func readOnly(in map[string]any, names ...string) {
	for _, n := range names {
		delete(in, n)
	}
}

// current has a body ask for the version that is there where that is newer: AKS upgraded it by itself.
// Source: azure-cli, issue 31018.
func current(body map[string]any, asked, has string) {
	is, _ := body[has].(string)
	want, _ := body[asked].(string)
	if order, ok := fleet.CompareKubernetes("v"+want, "v"+is); is != "" && (want == "" || ok && order < 0) {
		body[asked] = is
	}
}

// keepOwn has a pool in a PUT keep its version and, if its autoscaler decides it, its number.
func keepOwn(pool map[string]any) {
	current(pool, "orchestratorVersion", "currentOrchestratorVersion")
	if pool["enableAutoScaling"] == true {
		delete(pool, "count")
	}
	readOnly(pool, "provisioningState", "eTag", "currentOrchestratorVersion", "nodeImageVersion")
}
