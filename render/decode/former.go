package decode

import (
	"maps"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// orderedSchema is the schema of hashes that depend on the order of all lists.
const orderedSchema = "1"

// formerObjects returns objects as earlier versions rendered them, and whether they differ.
func formerObjects(objects []render.Object) ([]render.Object, bool) {
	out := slices.Clone(objects)
	differs := false
	for i, o := range out {
		if o.Former != nil {
			out[i].YAML, differs = o.Former, true
		}
	}
	return out, differs
}

// keepFormerClasses adds to the classes of l those of before that differ.
func keepFormerClasses(l, before topology.Library) {
	for key, class := range l.Classes {
		if old := before.Classes[key]; old != nil && len(old.Problems) == 0 && old.Digest != class.Digest {
			class.Former = old
		}
	}
}

// formerLibraries returns libraries as earlier versions rendered them, and whether that may count
// for clusters.
func formerLibraries(libraries []topology.Library, clusters []fleet.Cluster) ([]topology.Library, bool) {
	if !slices.ContainsFunc(clusters, func(c fleet.Cluster) bool { return c.Topology != nil }) {
		return libraries, false
	}
	out := slices.Clone(libraries)
	differs := false
	for i, l := range out {
		classes := maps.Clone(l.Classes)
		for key, class := range classes {
			if class.Former != nil {
				classes[key], differs = class.Former, true
			}
		}
		out[i].Classes = classes
	}
	return out, differs
}

// keepDigests gives clusters the digests of the same clusters in before.
func keepDigests(clusters, before []fleet.Cluster) {
	for i := range clusters {
		for _, b := range before {
			if b.Key == clusters[i].Key {
				clusters[i].Digest = b.Digest
			}
		}
	}
}

// keepFormer adds to clusters what earlier versions made of the same definitions, in before:
// the hashes of their pools, which machines may have.
func keepFormer(clusters, before []fleet.Cluster) {
	for i := range clusters {
		c := &clusters[i]
		n := slices.IndexFunc(before, func(b fleet.Cluster) bool { return b.Key == c.Key })
		if n < 0 {
			continue
		}
		b := &before[n]
		hashes := map[fleet.PoolName][]fleet.TemplateHash{}
		for _, p := range b.Pools() {
			hashes[p.Name] = p.Former
		}
		c.ControlPlane.Former = withFormer(c.ControlPlane.Former, hashes[c.ControlPlane.Name])
		for w := range c.Workers {
			p := &c.Workers[w]
			p.Former = withFormer(p.Former, hashes[p.Name])
		}
		if c.Topology == nil || b.Topology == nil {
			continue
		}
		for _, v := range c.Topology.Older {
			old, _ := b.Topology.At(v.Version)
			for name, blueprint := range v.Pools {
				blueprint.Former = withFormer(blueprint.Former, old.Pools[name].Former)
				v.Pools[name] = blueprint
			}
		}
	}
}

// withFormer adds to hashes those of more in the ordered schema that are not there. They come
// first, as no machine has the hash of the new order: what made it rendered the former one.
func withFormer(hashes, more []fleet.TemplateHash) []fleet.TemplateHash {
	for _, h := range more {
		if h.Schema() == orderedSchema && !slices.Contains(hashes, h) {
			hashes = append([]fleet.TemplateHash{h}, hashes...)
		}
	}
	return hashes
}
