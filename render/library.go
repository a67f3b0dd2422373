package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/sops"
	"fairlead.dev/render/topology"
)

// contents is what an overlay's objects say of clusters and classes, before they are
// decoded.
type contents struct {
	clusters bool
	holds    map[fleet.Key]bool // ClusterClasses
	uses     map[fleet.Key]bool // ClusterClasses that clusters name
}

// see reads one object.
func (c *contents) see(n *yaml.Node) {
	kind := documents.ChildText(n, "kind")
	if kind != "Cluster" && kind != "ClusterClass" || !strings.HasPrefix(documents.ChildText(n, "apiVersion"), "cluster.x-k8s.io/") {
		return
	}
	type name struct{ Name, Namespace string }
	var o struct {
		Metadata name
		Spec     struct {
			Topology *struct {
				ClassRef       name   `yaml:"classRef"`
				Class          string `yaml:"class"`
				ClassNamespace string `yaml:"classNamespace"`
			}
		}
	}
	_ = n.Decode(&o) // the decoder reports the error
	namespace := cmp.Or(o.Metadata.Namespace, defaultNamespace)
	if kind == "ClusterClass" {
		c.holds = with(c.holds, fleet.Key{Namespace: namespace, Name: o.Metadata.Name})
		return
	}
	c.clusters = true
	if t := o.Spec.Topology; t != nil {
		c.uses = with(c.uses, fleet.Key{
			Namespace: cmp.Or(t.ClassRef.Namespace, t.ClassNamespace, namespace), Name: cmp.Or(t.ClassRef.Name, t.Class),
		})
	}
}

const defaultNamespace = "default"

func with(m map[fleet.Key]bool, k fleet.Key) map[fleet.Key]bool {
	if m == nil {
		m = map[fleet.Key]bool{}
	}
	m[k] = true
	return m
}

// library reports whether the overlay has classes for others: it has no cluster.
func (c *contents) library() bool { return !c.clusters && len(c.holds) > 0 }

// wanted returns the classes to look for in libraries, sorted.
func (c *contents) wanted() []fleet.Key {
	out := slices.SortedFunc(maps.Keys(c.uses), fleet.Key.Compare)
	return slices.DeleteFunc(out, func(k fleet.Key) bool { return c.holds[k] })
}

// libraries returns the libraries that are built, sorted by folder. A folder with problems
// is returned without classes, since it may be a library. The classes of a library that is
// spoiled in tree are returned, but expand nothing: so no other library can replace them.
func (b *Builder) libraries(tree *sops.Tree) []topology.Library {
	var out []topology.Library
	bad := spoiled(tree, b.built)
	for _, dir := range slices.Sorted(maps.Keys(b.built)) {
		switch o := b.built[dir]; {
		case o.library():
			l := o.classes
			if p, ok := bad[dir]; ok {
				l.Classes = make(map[fleet.Key]*topology.Class, len(o.classes.Classes))
				for key := range o.classes.Classes {
					l.Classes[key] = topology.Broken(key, dir, []fleet.Problem{p})
				}
			}
			out = append(out, l)
		case !o.contents.clusters && len(o.problems) > 0:
			out = append(out, topology.Library{Folder: dir})
		}
	}
	return out
}

// lateLibrary reports whether a folder that may be a library could not be read for a reason
// that may pass.
func (b *Builder) lateLibrary() bool {
	for _, o := range b.built {
		if o.fetchFailed && !o.contents.clusters {
			return true
		}
	}
	return false
}

// fingerprints identifies what libraries have of the classes in keys; for keys without a
// class, all of the libraries.
func fingerprints(libraries []topology.Library, keys []fleet.Key) string {
	var s strings.Builder
	for _, k := range keys {
		found := false
		for _, l := range libraries {
			if c := l.Classes[k]; c != nil {
				found = true
				s.WriteString(k.String() + " " + c.Digest)
				if c.Former != nil {
					s.WriteString(" " + c.Former.Digest)
				}
				s.WriteString("\n")
			}
		}
		if found {
			continue
		}
		for _, l := range libraries {
			s.WriteString(fmt.Sprintln(k, l.Folder, slices.SortedFunc(maps.Keys(l.Classes), fleet.Key.Compare)))
		}
	}
	return s.String()
}
