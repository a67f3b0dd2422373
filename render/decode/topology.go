package decode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

const clusterClass = "ClusterClass.cluster.x-k8s.io"

// Library implements render.Decoder.
func (d *Decoder) Library(folder string, objects []render.Object) (topology.Library, []fleet.Problem) {
	l, problems := d.library(folder, objects)
	if former, differs := formerObjects(objects); differs && len(problems) == 0 {
		before, _ := d.library(folder, former)
		keepFormerClasses(l, before)
	}
	return l, problems
}

// library does what Library does.
func (d *Decoder) library(folder string, objects []render.Object) (topology.Library, []fleet.Problem) {
	s := d.set(folder, objects)
	compiled := s.compile()
	s.blueprints()
	s.findMembers()
	s.checkClusters()
	l := topology.Library{Folder: folder, Classes: make(map[fleet.Key]*topology.Class, len(compiled))}
	var problems []fleet.Problem
	for _, o := range s.objects {
		problems = append(problems, o.problems...)
		if o.groupKind() != clusterClass || !o.identified() {
			continue
		}
		class := compiled[o]
		if class == nil || s.unreadable {
			class = topology.Broken(o.key(), folder, slices.Concat(o.problems, s.templateProblems(o), s.nameless()))
		}
		if _, twice := l.Classes[o.key()]; !twice {
			l.Classes[o.key()] = class
		}
	}
	slices.SortStableFunc(problems, compareProblems)
	return l, slices.Compact(problems)
}

// nameless returns the problems of objects that cannot be identified.
func (s *overlaySet) nameless() []fleet.Problem {
	var out []fleet.Problem
	for _, o := range s.objects {
		if !o.identified() {
			out = append(out, o.problems...)
		}
	}
	return out
}

// compile compiles the classes of the overlay with their templates. Errors of a class
// become its problems.
func (s *overlaySet) compile() map[*object]*topology.Class {
	out := make(map[*object]*topology.Class)
	for _, o := range s.objects {
		if o.groupKind() != clusterClass || len(o.problems) > 0 || len(s.templateProblems(o)) > 0 {
			continue
		}
		c := topology.NewClass(s.path, o.plain(), func(group, kind, name string) (topology.Object, bool) {
			t := s.get(group, kind, o.namespace, name)
			if t == nil {
				return topology.Object{}, false
			}
			return t.plain(), true
		})
		o.problems = append(o.problems, c.Problems...)
		out[o] = c
	}
	return out
}

// templateProblems returns the problems of the templates of a class.
func (s *overlaySet) templateProblems(class *object) []fleet.Problem {
	var out []fleet.Problem
	for _, o := range s.templates(class) {
		out = append(out, o.problems...)
	}
	return out
}

// templates returns the objects that a class refers to.
func (s *overlaySet) templates(class *object) []*object {
	named := make(map[string]bool)
	refs(class.raw["spec"], func(kind, name string) { named[kind+"/"+name] = true })
	var out []*object
	for _, o := range s.objects {
		if o.namespace == class.namespace && o != class && named[o.gvk.Kind+"/"+o.name] {
			out = append(out, o)
		}
	}
	return out
}

// blueprints drops the problems of templates that only a class refers to. Patches may
// change their values, and the result is checked.
func (s *overlaySet) blueprints() {
	used := make(map[string]bool)
	blueprint := make(map[*object]bool)
	for _, o := range s.objects {
		if o.groupKind() == clusterClass {
			for _, t := range s.templates(o) {
				blueprint[t] = true
			}
			continue
		}
		refs(o.raw["spec"], func(kind, name string) { used[nameKey(kind, o.namespace, name)] = true })
	}
	for _, o := range s.objects {
		if !blueprint[o] || used[nameKey(o.gvk.Kind, o.namespace, o.name)] {
			o.problems = append(o.problems, o.invalid...)
		}
		o.invalid = nil
	}
}

// plain returns o as people wrote it.
func (o *object) plain() topology.Object {
	kept := o.kind != nil && o.kind.role == fleet.InfrastructureMachinePoolTemplate && !o.kind.ownMachines
	return topology.Object{File: o.file, Namespace: o.namespace, Raw: o.raw, Contract: o.contract(), Kept: kept}
}

// contract returns the contract of Cluster API that the control-plane template o follows;
// empty where o is none.
func (o *object) contract() topology.Contract {
	switch {
	case o.kind != nil && o.kind.role == fleet.HostedControlPlaneTemplateKind:
		return topology.Hosted
	case o.kind == nil || o.kind.role != fleet.ControlPlaneTemplateKind:
		return ""
	case slices.Contains(o.kind.v1beta1Contract, o.gvk.Version):
		return topology.V1Beta1
	}
	return topology.V1Beta2
}

// managed reports whether a class makes the Cluster o.
func (o *object) managed() bool {
	if o.groupKind() != "Cluster.cluster.x-k8s.io" {
		return false
	}
	spec, _ := o.raw["spec"].(map[string]any)
	return spec["topology"] != nil
}

// classKey returns the name of the class of a managed Cluster, and the field with it.
func (o *object) classKey() (fleet.Key, string) {
	spec, _ := o.raw["spec"].(map[string]any)
	t, _ := spec["topology"].(map[string]any)
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	if o.gvk.Version == "v1beta1" {
		return fleet.Key{Namespace: cmp.Or(text(t, "classNamespace"), o.namespace), Name: text(t, "class")}, "spec.topology.class"
	}
	ref, _ := t["classRef"].(map[string]any)
	return fleet.Key{Namespace: cmp.Or(text(ref, "namespace"), o.namespace), Name: text(ref, "name")}, "spec.topology.classRef.name"
}

// expand adds to the overlay what classes make of its managed Clusters.
func (d *Decoder) expand(s *overlaySet, libraries []topology.Library) {
	compiled := s.compile()
	for _, o := range slices.Clone(s.objects) {
		if !o.managed() || len(o.problems) > 0 || s.byName[nameKey(o.groupKind(), o.namespace, o.name)] != o {
			continue
		}
		key, field := o.classKey()
		if key.Name == "" {
			told := func(p fleet.Problem) bool { return within(field, p.Field) }
			if !slices.ContainsFunc(o.invalid, told) {
				o.add(field, "", "is required")
			}
			continue
		}
		o.class = s.byName[nameKey(clusterClass, key.Namespace, key.Name)]
		class := compiled[o.class]
		if o.class == nil {
			class = o.find(key, field, libraries)
		}
		if class == nil || o.class != nil && len(class.Problems) > 0 {
			continue // problems of a class in this overlay are known already
		}
		made, problems := class.Expand(o.plain())
		for _, p := range problems {
			p.Overlay = s.path
			o.problems = append(o.problems, p)
		}
		if made == nil {
			continue
		}
		o.classRef, o.expansion = key, made
		for _, e := range made.Objects {
			d.wantProblem(s, o, e)
		}
	}
}

// find returns the class called key in libraries, or nil after a problem.
func (o *object) find(key fleet.Key, field string, libraries []topology.Library) *topology.Class {
	var found []*topology.Class
	var folders, others, unread []string
	for _, l := range libraries {
		if len(l.Classes) == 0 {
			unread = append(unread, l.Folder)
		}
		if c := l.Classes[key]; c != nil {
			found, folders = append(found, c), append(folders, l.Folder)
		}
		for _, k := range slices.SortedFunc(maps.Keys(l.Classes), fleet.Key.Compare) {
			others = append(others, fmt.Sprintf("%s in %s", k, l.Folder))
		}
	}
	switch len(found) {
	case 1:
		return found[0]
	case 0:
		hint := "folders that hold classes and no cluster are looked in, those that spec.clusters of fleet.yaml selects; "
		if len(others) == 0 {
			hint += "there is none"
		} else {
			hint += "there are " + strings.Join(others, ", ")
		}
		if len(unread) > 0 {
			hint += "; it may be in what cannot be read because of problems: " + strings.Join(unread, ", ")
		}
		o.add(field, hint, "ClusterClass %s is neither in the overlay nor in another folder", key)
	default:
		o.add(field, "keep one of them; a folder that is only a part of another one may be a Component, or be excluded in fleet.yaml under spec.clusters.exclude", "ClusterClass %s is in %s", key, strings.Join(folders, " and in "))
	}
	return nil
}

// place adds an object that a class made of the Cluster root to the overlay.
func (d *Decoder) wantProblem(s *overlaySet, root *object, e *topology.Expanded) {
	o := &object{overlay: s.path, file: e.File}
	if e.Raw["kind"] == "Cluster" {
		o = root
	}
	o.origin, o.raw = e, e.Raw
	d.identify(o)
	d.decode(o, marshal(o.raw))
	if o != root {
		s.add(o)
	}
}
