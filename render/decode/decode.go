package decode

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// A Decoder decodes overlays of one fleet. It is safe for concurrent use.
type Decoder struct {
	fleet fleet.ID
	kinds map[string]*kind // by groupKind
	// bounds are those of the definitions of kinds.
	bounds *bounds
	draft  Draft // nil: no user data is checked
}

var _ render.WarningDecoder = (*Decoder)(nil)

// New returns a Decoder for the fleet id that knows the kinds of Cluster API, and those of
// providers and distributions.
func New(id fleet.ID, providers []fleet.Kind) *Decoder {
	return &Decoder{fleet: id, kinds: knownKinds(providers), bounds: knownBounds()}
}

// WithDraft returns a Decoder that refuses manifests from which draft can make no user data.
func (d *Decoder) WithDraft(draft Draft) *Decoder {
	out := *d
	out.draft = draft
	return &out
}

// Decode implements render.Decoder. Clusters are sorted by key, problems by
// place. A problem without a cluster holds back all clusters of the overlay:
// then none is returned.
func (d *Decoder) Decode(overlay string, objects []render.Object, libraries ...topology.Library) ([]fleet.Cluster, []fleet.Problem) {
	clusters, problems, _ := d.DecodeAndWarn(overlay, objects, libraries...)
	return clusters, problems
}

// DecodeAndWarn implements render.WarningDecoder.
func (d *Decoder) DecodeAndWarn(overlay string, objects []render.Object, libraries ...topology.Library) (clusters []fleet.Cluster, problems, warnings []fleet.Problem) {
	clusters, problems, warnings = d.clusters(overlay, objects, libraries)
	former, differs := formerObjects(objects)
	if differs && len(clusters) > 0 {
		before, _, _ := d.clusters(overlay, former, libraries)
		keepDigests(clusters, before)
		keepFormer(clusters, before)
	}
	if classes, differs := formerLibraries(libraries, clusters); differs {
		before, _, _ := d.clusters(overlay, former, classes)
		keepFormer(clusters, before)
	}
	return clusters, problems, warnings
}

// clusters does what DecodeAndWarn does.
func (d *Decoder) clusters(overlay string, objects []render.Object, libraries []topology.Library) (clusters []fleet.Cluster, problems, warnings []fleet.Problem) {
	s := d.set(overlay, objects)
	d.expand(s, libraries)
	s.blueprints()
	s.findMembers()
	s.checkClusters()
	s.checkShared()

	held := false // by a problem of no cluster
	for _, o := range s.objects {
		owners := s.owners(o)
		for _, p := range o.problems {
			for _, k := range owners {
				p.Cluster = k
				problems = append(problems, p)
			}
			if len(owners) == 0 {
				held = true
				problems = append(problems, p)
			}
		}
	}
	for _, k := range s.keys {
		b := &builder{decoder: d, set: s, fleet: d.fleet, key: k}
		c := b.build(s.clusters[k])
		problems = append(problems, b.problems...)
		if !held && !slices.ContainsFunc(problems, func(p fleet.Problem) bool { return p.Cluster == k }) {
			c.Digest = digest(c)
			clusters = append(clusters, *c)
		}
	}
	slices.SortStableFunc(problems, compareProblems)
	return clusters, slices.Compact(problems), slices.Concat(s.unused(clusters), s.fractions(), s.ports(clusters))
}

func compareProblems(a, b fleet.Problem) int {
	return cmp.Or(a.Cluster.Compare(b.Cluster), strings.Compare(a.String(), b.String()))
}

// set reads the objects of an overlay.
func (d *Decoder) set(overlay string, objects []render.Object) *overlaySet {
	s := &overlaySet{path: overlay, byName: make(map[string]*object)}
	for _, in := range objects {
		if o := d.read(overlay, in); o != nil {
			s.add(o)
		}
	}
	return s
}

// sorted returns the kinds by kind and group.
func (d *Decoder) sorted() []*kind {
	var out []*kind
	for _, gk := range slices.Sorted(maps.Keys(d.kinds)) {
		out = append(out, d.kinds[gk])
	}
	return out
}

// infrastructureKinds lists the infrastructure kinds, for people.
func (d *Decoder) infrastructureKinds() string {
	var names []string
	for _, k := range d.sorted() {
		if strings.HasPrefix(k.group, "infrastructure.") {
			names = append(names, k.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
