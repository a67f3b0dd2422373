package kustomize

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// Build runs kustomize on what s holds. The objects are in kustomize's order.
func (k *Kustomizer) Build(s *Scan) (objects []Object, problem *fleet.Problem) {
	defer func() {
		if r := recover(); r != nil {
			objects, problem = nil, s.failed(fmt.Sprintf("kustomize failed on it: %v", r))
		}
	}()
	LoadSchema()
	files, wholeErr := s.files, error(nil)
	if len(s.keyed) > 0 {
		files, wholeErr = withWholeLists(s.Overlay, s.files, s.keyed)
	}
	out, err := run(newScanned(files), s.Overlay)
	if err = cmp.Or(err, wholeErr); err != nil {
		return nil, s.failed(cleaned(err))
	}
	for _, r := range out.Resources() {
		o := Object{File: s.origin(r), Node: r.YNode()}
		removeAnnotation(o.Node, originAnnotation)
		s.quotes.restore(o.Node, "")
		o.Former = former(r, o.Node)
		objects = append(objects, o)
	}
	return objects, nil
}

// run builds the kustomization in dir.
func run(files *scanned, dir string) (resmap.ResMap, error) {
	return krusty.MakeKustomizer(&krusty.Options{
		Reorder:          krusty.ReorderOptionUnspecified,
		LoadRestrictions: types.LoadRestrictionsNone, // only scanned files are there
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(files, path.Join("/", dir))
}

func (s *Scan) failed(message string) *fleet.Problem {
	return &fleet.Problem{Overlay: s.Overlay, File: s.File, Message: message}
}

// origin returns the file of r, or of its generator.
func (s *Scan) origin(r *resource.Resource) string {
	o, err := r.GetOrigin()
	if err != nil || o == nil {
		return s.File
	}
	for _, p := range []string{o.Path, o.ConfiguredIn} {
		if p != "" {
			return copies.ReplaceAllString(path.Join(s.Overlay, p), "")
		}
	}
	return s.File
}

// copies matches the folders with copies of components in a path.
var copies = regexp.MustCompile(regexp.QuoteMeta(copyPrefix) + `[0-9]+/`)

const originAnnotation = "config.kubernetes.io/origin"

// removeAnnotation removes an annotation of the build from the object n.
func removeAnnotation(n *yaml.Node, name string) {
	meta := documents.Child(n, "metadata")
	notes := documents.Child(meta, "annotations")
	if notes == nil {
		return
	}
	documents.Remove(notes, name)
	if len(notes.Content) == 0 {
		documents.Remove(meta, "annotations")
	}
}

// noise matches what kustomize writes around a message, from the outside in.
var noise = regexp.MustCompile(`^(accumulating (resources|components)( from '[^']*')?: |accumulation err='.*': (recursed (accumulation of|merging from) path '[^']*': )|accumulateDirectory: |recursed (accumulation of|merging from) path '[^']*': |couldn't make target for path '[^']*': |merging from generator [^:]*: )`)

// notAFolder matches kustomize's message for a file that it cannot use: the reason in
// quotes, and that the file is no folder either.
var notAFolder = regexp.MustCompile(`^accumulation err='(.*)': must build at directory: '[^']*': file is not directory$`)

// id matches kustomize's notation for an object.
var id = regexp.MustCompile(`id resid\.ResId\{Gvk:resid\.Gvk\{[^}]*Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)"[^}]*\}`)

// cleaned returns the message of err without its context.
func cleaned(err error) string {
	text := id.ReplaceAllString(documents.OneLine(err), "$1 $2")
	for {
		short := noise.ReplaceAllString(notAFolder.ReplaceAllString(text, "$1"), "")
		if unquoted, ok := strings.CutPrefix(short, `"`); ok && strings.HasSuffix(short, `"`) {
			short = strings.ReplaceAll(strings.TrimSuffix(unquoted, `"`), `\"`, `"`)
		}
		if short == text {
			return text
		}
		text = short
	}
}
