package decode

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render"
	"fairlead.dev/render/substitute"
	"fairlead.dev/render/topology"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// defaultNamespace is where objects without a namespace are.
const defaultNamespace = "default"

// An object is one document of an overlay, read as far as it can be.
type object struct {
	overlay   string
	file      string
	kind      *kind // nil where the decoder does not know it
	gvk       schema.GroupVersionKind
	namespace string
	name      string
	labels    map[string]string
	notes     map[string]string // annotations
	raw       map[string]any
	value     any // what kind.normalise returned; nil where there are problems
	problems  []fleet.Problem
	invalid   []fleet.Problem     // problems of its values, until it is known which clusters use the object
	origin    *topology.Expanded  // nil: people wrote the object
	class     *object             // the class of this overlay that a Cluster is made from
	classRef  fleet.Key           // name of the class that makes a Cluster
	expansion *topology.Expansion // what that class makes
}

func (o *object) key() fleet.Key { return fleet.Key{Namespace: o.namespace, Name: o.name} }

// identified reports whether kind and name of the object are known.
func (o *object) identified() bool { return o.gvk.Kind != "" && o.name != "" }

func (o *object) groupKind() string { return groupKind(o.gvk.Group, o.gvk.Kind) }

// String returns "Kind namespace/name", as problems name an object.
func (o *object) String() string {
	if o.gvk.Kind == "" {
		return ""
	}
	if o.name == "" {
		return o.gvk.Kind
	}
	return o.gvk.Kind + " " + o.title()
}

// title returns "namespace/name", or the name where the kind has no namespace.
func (o *object) title() string {
	if o.namespace == "" {
		return o.name
	}
	return o.key().String()
}

func (o *object) problem(f flaw) fleet.Problem {
	p := fleet.Problem{Overlay: o.overlay, File: o.file, Object: o.String(), Field: f.field, Message: f.message, Hint: f.hint}
	if o.origin != nil {
		return o.origin.Written(p)
	}
	return p
}

// written returns the path of a field of the newest version in the version of the object.
func (o *object) written(path string) string { return o.kind.written(o.gvk.Version, path) }

func (o *object) add(field, hint, format string, args ...any) {
	o.problems = append(o.problems, o.problem(flaw{field, fmt.Sprintf(format, args...), hint}))
}

// read decodes one document. It returns nil for an empty one.
func (d *Decoder) read(overlay string, in render.Object) *object {
	o := &object{overlay: overlay, file: in.File}
	if moreDocuments(in.YAML) {
		o.add("", "separate the objects into documents of their own", "more than one document where one object is expected")
		return o
	}
	data, err := documents.ToJSONStrict(in.YAML, documents.BuiltLimits())
	if err != nil {
		// Without strictness the message can name the object.
		if data, lenient := documents.ToJSON(in.YAML, documents.BuiltLimits()); lenient == nil {
			_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &o.raw)
			d.identify(o)
		}
		o.addYAMLError(err)
		return o
	}
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &v); err != nil {
		o.add("", "", "cannot be read: %s", err)
		return o
	}
	if v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		o.add("", "", "is not a Kubernetes object: a mapping with apiVersion, kind and metadata is expected")
		return o
	}
	o.raw = m
	d.identify(o)
	d.decode(o, data)
	return o
}

// addYAMLError adds the error of the YAML parser, which knows lines of the
// document and, of a repeated key, its name.
func (o *object) addYAMLError(err error) {
	if lines := errors.Unwrap(err); lines != nil {
		err = lines
	}
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: unmarshal errors:\n")
	duplicate := regexp.MustCompile(`^\s*line (\d+): key "?([^"]*)"? already set in map$`)
	for line := range strings.SplitSeq(text, "\n") {
		if m := duplicate.FindStringSubmatch(line); m != nil {
			o.add(m[2], "keep one of them", "is set twice, again in line %s of the object", m[1])
			continue
		}
		o.add("", "", "is not valid YAML: %s", strings.TrimPrefix(strings.TrimSpace(line), "yaml: "))
	}
}

// identify reads what identifies the object. It ignores the namespace of an object of a
// kind without namespaces, as API servers do.
func (d *Decoder) identify(o *object) {
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	o.gvk = schema.FromAPIVersionAndKind(text(o.raw, "apiVersion"), text(o.raw, "kind"))
	meta, _ := o.raw["metadata"].(map[string]any)
	o.name = text(meta, "name")
	if o.kind = d.kinds[o.groupKind()]; o.kind != nil {
		o.kind = o.kind.chosen(o.raw)
	}
	if o.kind == nil || !o.kind.global {
		o.namespace = cmp.Or(text(meta, "namespace"), defaultNamespace)
	}
	o.labels = texts(meta["labels"])
	o.notes = texts(meta["annotations"])
}

// texts returns the strings of a mapping; what is no string is found by check.
func texts(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := make(map[string]string, len(m))
	for key, value := range m {
		if s, ok := value.(string); ok {
			out[key] = s
		}
	}
	return out
}

// decode checks the document and fills in value, or problems.
func (d *Decoder) decode(o *object, data []byte) {
	if o.gvk.Kind == "" || o.gvk.Version == "" {
		o.add("", "", "is not a Kubernetes object: apiVersion and kind are expected")
		return
	}
	k := o.kind
	if k == nil {
		message, hint := d.refuseKind(o.gvk.Group, o.gvk.Version, o.gvk.Kind)
		o.add("", hint, "%s", message)
		return
	}
	if !slices.Contains(k.versions, o.gvk.Version) {
		o.add("apiVersion", "use "+strings.Join(k.versions, " or "), "%s has no version %s that is supported", k.name, o.gvk.Version)
		return
	}
	if _, ok := o.raw["status"]; ok {
		delete(o.raw, "status")
		data = marshal(o.raw)
	}
	value := k.new(o.gvk.Version)
	c := checker{kind: k, version: o.gvk.Version}
	c.check(o.raw, reflect.TypeOf(value), "", "")
	o.identity(&c)
	o.ownMetadata(&c)
	o.ours(&c)
	for _, f := range c.flaws {
		o.problems = append(o.problems, o.problem(f))
	}
	if len(o.problems) > 0 {
		return
	}
	strict, err := kjson.UnmarshalStrict(data, value)
	if err != nil {
		strict = append(strict, err)
	}
	for _, err := range strict {
		o.add("", "", "cannot be read: %s", err)
	}
	if len(o.problems) > 0 {
		return
	}
	beyond := d.bounds.outOfBounds(k, o.gvk.Version, o.raw)
	var errs field.ErrorList
	if !o.managed() { // else the class may change it
		setNamespace(value, o.namespace)
		var normalised any
		if normalised, errs = k.normalise(value); len(errs)+len(beyond) == 0 {
			o.value = normalised
		}
	}
	for _, err := range errs {
		o.invalid = append(o.invalid, o.problem(flaw{o.written(err.Field), err.ErrorBody(), ""}))
	}
	for _, f := range beyond {
		about := func(err *field.Error) bool {
			return within(f.field, o.written(err.Field)) || within(o.written(err.Field), f.field)
		}
		if !slices.ContainsFunc(errs, about) { // else a rule says it better
			o.invalid = append(o.invalid, o.problem(f))
		}
	}
}

// within reports whether the field at path is that at other or below it.
func within(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// identity checks the name and namespace of an object.
func (o *object) identity(c *checker) {
	if meta, ok := o.raw["metadata"].(map[string]any); !ok || isEmpty(meta["name"]) {
		c.addf("metadata.name", "", "is required")
		return
	}
	if o.name != "" {
		for _, msg := range validation.IsDNS1123Subdomain(o.name) {
			c.addf("metadata.name", "", "%q is not a name: %s", o.name, msg)
		}
	}
	if c.kind.global {
		return
	}
	for _, msg := range validation.IsDNS1123Label(o.namespace) {
		c.addf("metadata.namespace", "", "%q is not a namespace: %s", o.namespace, msg)
	}
}

// maxAnnotations is how many bytes the annotations of an object may have together.
// Source: Kubernetes, "Annotations".
const maxAnnotations = 256 << 10

// ownMetadata checks labels and annotations of an object as API servers do.
func (o *object) ownMetadata(c *checker) {
	for _, key := range slices.Sorted(maps.Keys(o.labels)) {
		for _, msg := range slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(o.labels[key])) {
			c.addf("metadata.labels."+key, "", "%q is not a label: %s", key+": "+shorten(o.labels[key]), msg)
		}
	}
	bytes := 0
	for _, key := range slices.Sorted(maps.Keys(o.notes)) {
		bytes += len(key) + len(o.notes[key])
		for _, msg := range validation.IsQualifiedName(strings.ToLower(key)) {
			c.addf("metadata.annotations."+key, "", "%q is not a name of an annotation: %s", key, msg)
		}
	}
	if bytes > maxAnnotations {
		c.addf("metadata.annotations", "", "must have at most %d bytes together, have %d", maxAnnotations, bytes)
	}
}

// ours checks annotations of Fairlead: a misspelt one would have no effect.
func (o *object) ours(c *checker) {
	for _, key := range slices.Sorted(maps.Keys(o.notes)) {
		if !strings.HasPrefix(key, "fairlead.dev/") {
			continue
		}
		if key == substitute.Annotation && o.notes[key] == substitute.Disabled {
			continue // of any object: rendering went by it
		}
		path := "metadata.annotations." + key
		check, ok := c.kind.ours[key]
		if !ok {
			var known []structField
			for _, s := range slices.Sorted(maps.Keys(c.kind.ours)) {
				known = append(known, structField{name: s})
			}
			hint := placeOf(key)
			if name := nearest(key, known); hint == "" && name != "" {
				hint = fmt.Sprintf("did you mean %q?", name)
			}
			c.addf(path, hint, "is no annotation of a %s", c.kind.name)
			continue
		}
		if must := check(o.notes[key]); must != "" {
			c.addf(path, "", "must be %s, is %q", must, o.notes[key])
		}
	}
}

// setNamespace fills in the namespace of a decoded object of Kubernetes' shape.
func setNamespace(v any, namespace string) {
	if m, ok := v.(interface{ SetNamespace(string) }); ok {
		m.SetNamespace(namespace)
	}
}

// moreDocuments reports whether data has a second YAML document, which the parser would
// ignore.
func moreDocuments(data []byte) bool {
	content, ended := false, false
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) >= 3 && (string(line[:3]) == "---" || string(line[:3]) == "...") && (len(line) == 3 || line[3] == ' ' || line[3] == '\t') {
			ended = content
			line = bytes.TrimSpace(line[3:])
		}
		if len(line) == 0 || line[0] == '#' || line[0] == '%' {
			continue
		}
		if ended {
			return true
		}
		content = true
	}
	return false
}
