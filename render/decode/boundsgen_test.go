package decode

import (
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/providers/all"
	"fairlead.dev/test/run/needs"
)

// boundsFile is the table that TestBoundsTable writes.
const boundsFile = "bounds_table.go"

// TestBoundsTable: the table of bounds is made from upstream's resource definitions, which
// are in the corpus, and the Go types. "go generate ./render/decode" writes it.
func TestBoundsTable(t *testing.T) {
	g := generator{t: t, top: map[string]bool{}}
	g.definitions()
	got := g.source()
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(boundsFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(boundsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is out of date: run go generate ./render/decode\n-want +got:\n%s", boundsFile, diff)
	}
}

// A crdSchema is a part of a resource definition's schema.
type crdSchema struct {
	Type       string                `json:"type,omitempty"`
	Format     string                `json:"format,omitempty"`
	Pattern    string                `json:"pattern,omitempty"`
	Properties map[string]*crdSchema `json:"properties,omitempty"`
	Items      *crdSchema            `json:"items,omitempty"`
	Values     any                   `json:"additionalProperties,omitempty"`
	Required   []string              `json:"required,omitempty"`
	Default    any                   `json:"default,omitempty"`
	Enum       []any                 `json:"enum,omitempty"`
	Minimum    *int64                `json:"minimum,omitempty"`
	Maximum    *int64                `json:"maximum,omitempty"`

	MinLength     int `json:"minLength,omitempty"`
	MaxLength     int `json:"maxLength,omitempty"`
	MinItems      int `json:"minItems,omitempty"`
	MaxItems      int `json:"maxItems,omitempty"`
	MinProperties int `json:"minProperties,omitempty"`
	MaxProperties int `json:"maxProperties,omitempty"`

	ListType string                  `json:"x-kubernetes-list-type,omitempty"`
	ListKeys []string                `json:"x-kubernetes-list-map-keys,omitempty"`
	Rules    []struct{ Rule string } `json:"x-kubernetes-validations,omitempty"`
}

// entries returns the schema of the values of a mapping; nil: any.
func (s *crdSchema) entries(t *testing.T) *crdSchema {
	if _, ok := s.Values.(map[string]any); !ok {
		return nil
	}
	data, err := yaml.Marshal(s.Values)
	if err != nil {
		t.Fatal(err)
	}
	out := new(crdSchema)
	if err := yaml.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// readDefinitions returns the schemas of the corpus by groupKind and version.
func readDefinitions(t *testing.T) map[string]map[string]*crdSchema {
	t.Helper()
	out := map[string]map[string]*crdSchema{}
	for _, project := range []string{"capa", "capi", "capo", "capm3", "capmaas", "capv", "capz"} {
		files, err := filepath.Glob(filepath.Join(needs.Corpus(t, "crds", project), "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no definitions of %s: %v", project, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var crd struct {
				Spec struct {
					Group    string                `json:"group"`
					Names    struct{ Kind string } `json:"names"`
					Versions []struct {
						Name   string `json:"name"`
						Schema struct {
							OpenAPIV3Schema *crdSchema `json:"openAPIV3Schema"`
						} `json:"schema"`
					} `json:"versions"`
				} `json:"spec"`
			}
			if err := yaml.Unmarshal(data, &crd); err != nil {
				t.Fatal(err)
			}
			versions := map[string]*crdSchema{}
			for _, v := range crd.Spec.Versions {
				versions[v.Name] = v.Schema.OpenAPIV3Schema
			}
			out[groupKind(crd.Spec.Group, crd.Spec.Names.Kind)] = versions
		}
	}
	return out
}

// A generator makes the table of bounds.
type generator struct {
	t        *testing.T
	kind     *kind
	version  string
	sections map[string]map[string][]section // the different ones of each type, by version
	top      map[string]bool                 // types of whole objects
	inline   map[string]bool                 // types that are parts of others: they have several sections in one version
}

// definitions walks the schemas of all kinds, until it knows which types have other bounds in
// other places.
func (g *generator) definitions() {
	registry, err := all.Registry()
	if err != nil {
		g.t.Fatal(err)
	}
	kinds, schemas := knownKinds(registry.Kinds()), readDefinitions(g.t)
	g.inline = map[string]bool{}
	for more := true; more; {
		more = false
		g.sections = map[string]map[string][]section{}
		for _, gk := range slices.Sorted(maps.Keys(kinds)) {
			for _, g.kind = range kinds[gk].each() {
				for _, g.version = range g.kind.versions {
					if s := schemas[gk][g.version]; s != nil {
						t := deref(reflect.TypeOf(g.kind.new(g.version)))
						g.top[typeName(t)] = true
						g.object(t, s, "")
					}
				}
			}
		}
		for name, versions := range g.sections {
			for _, sections := range versions {
				if len(sections) > 1 {
					g.inline[name], more = true, true
				}
			}
		}
	}
}

// object adds the section of a named struct.
func (g *generator) object(t reflect.Type, s *crdSchema, bare string) {
	out := section{}
	g.fields(out, t, s, "", bare)
	name := typeName(t)
	if g.sections[name] == nil {
		g.sections[name] = map[string][]section{}
	}
	same := func(other section) bool { return reflect.DeepEqual(other, out) }
	if !slices.ContainsFunc(g.sections[name][g.version], same) {
		g.sections[name][g.version] = append(g.sections[name][g.version], out)
	}
}

// fields adds the bounds of the fields of the struct t to out. path is below the section,
// bare is that of the object. A boolean is never required: one that is missing is false.
func (g *generator) fields(out section, t reflect.Type, s *crdSchema, path, bare string) {
	for _, f := range fieldsOf(t) {
		p, at := s.Properties[f.name], join(bare, f.name)
		if p == nil || at == "metadata" || at == "status" || g.kind.refused[at] != "" || g.kind.unused[at] != "" && !slices.Contains(s.Required, f.name) {
			continue
		}
		required := g.kind.unused[at] == "" && slices.Contains(s.Required, f.name) && p.Default == nil && deref(f.typ).Kind() != reflect.Bool &&
			!slices.Contains(filledIn(), typeName(t)+"."+f.name)
		g.value(out, f.typ, p, join(path, f.name), at, required)
	}
}

// filledIn returns required fields that may be missing: those that upstream's webhooks fill
// in, which run before the schema is looked at, and those of v1beta1 that v1beta2 has a
// default for, which Fairlead fills in with it.
func filledIn() []string {
	return []string{
		"core/v1beta1.MachineDeploymentSpec.selector", "core/v1beta2.MachineDeploymentSpec.selector",
		"core/v1beta1.MachineSetSpec.selector", "core/v1beta2.MachineSetSpec.selector",
		"core/v1beta2.MachineDeploymentRolloutStrategy.type",
		"controlplane/kubeadm/v1beta2.KubeadmControlPlaneRolloutStrategy.type",
		"infrastructure/azure/api.AzureManagedControlPlaneSpec.resourceGroupName",
		"infrastructure/docker/api.DevClusterSpec.backend", "infrastructure/docker/api.OldDevClusterSpec.backend", "infrastructure/docker/api.DevMachineSpec.backend",
		"infrastructure/metal3/api.FromPool.apiGroup", "infrastructure/metal3/api.FromPool.kind", "infrastructure/metal3/api.IPPoolReference.kind",
	}
}

// value adds the bounds of a value of the type t to out.
func (g *generator) value(out section, t reflect.Type, s *crdSchema, path, bare string, required bool) {
	t = deref(t)
	b := g.bound(s, bare)
	b.required = required
	if !reflect.DeepEqual(b, bound{}) {
		out[path] = b
	}
	switch {
	case isLeaf(t):
	case t.Kind() == reflect.Struct && t.Name() != "" && !g.inline[typeName(t)]:
		g.object(t, s, bare)
	case t.Kind() == reflect.Struct:
		g.fields(out, t, s, path, bare)
	case t.Kind() == reflect.Slice && s.Items != nil:
		g.value(out, t.Elem(), s.Items, path+"[]", bare, false)
	case t.Kind() == reflect.Map:
		if e := s.entries(g.t); e != nil {
			g.value(out, t.Elem(), e, path+"{}", bare+".*", false)
		}
	}
}

// bound returns what s by itself asks for.
func (g *generator) bound(s *crdSchema, bare string) bound {
	b := bound{
		least: max(s.MinLength, s.MinItems, s.MinProperties), most: max(s.MaxLength, s.MaxItems, s.MaxProperties),
		low: s.Minimum, high: s.Maximum,
	}
	switch s.ListType {
	case "map":
		b.keys = s.ListKeys
	case "set":
		b.keys = []string{""}
	}
	for _, e := range s.Enum {
		b.values = append(b.values, fmt.Sprint(e))
	}
	b.pattern = g.pattern(s, bare)
	for _, r := range s.Rules {
		g.rule(&b, r.Rule, bare)
	}
	return b
}

// pattern returns the name of the pattern of s; empty: it has none.
func (g *generator) pattern(s *crdSchema, bare string) string {
	if slices.Contains([]string{"uuid", "ipv4"}, s.Format) {
		return s.Format
	}
	if s.Pattern == "" {
		return ""
	}
	name, ok := upstreamPatterns()[s.Pattern]
	if !ok {
		g.t.Fatalf("%s %s: %s has the pattern %s, which has no name yet: add it to patterns.go and upstreamPatterns", g.kind.name, g.version, bare, s.Pattern)
	}
	return name
}

// upstreamPatterns maps upstream's patterns to their names. A quantity is checked by its type.
func upstreamPatterns() map[string]string {
	const (
		ipv4 = `^((([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])\.){3}([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5]))$`
		ipv6 = `^(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$`
	)
	return map[string]string{
		`^[^,]+$`: "noComma",
		`^[^ ]+$`: "noSpace",
		`^[A-Za-z0-9]([A-Za-z0-9]{0,31}|[-A-Za-z0-9]{0,30}[A-Za-z0-9])$`:    "balancerName",
		`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`:                                "bucket",
		`^h-[0-9a-f]{17}$`:                                                  "dedicatedHost",
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                                   "dnsLabel",
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`: "dnsName",
		`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`: "qualifiedName",
		`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`:  "qualifiedName",
		`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`:                                                                   "labelValue",
		`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`:                                                                           "kind",
		`^[a-zA-Z][a-zA-Z0-9._-]*$`:                                                                                       "word",
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[a-z]([-a-z0-9]*[a-z0-9])?$`:                   "apiVersion",
		`^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.?(\.0|[1-9][0-9]*)?$`:                                                       "eksVersion",
		`^(\d+)$`: "digits", `^(\d+)m$`: "minutes", `^(\d+)s$`: "seconds",
		`^\[[0-9]+-[0-9]+\]$`: "range", `^[1-3]$`: "zone", `^https://`: "https",
		ipv4: "ipv4", ipv6: "ipv6", "((" + ipv4 + ")|(" + ipv6 + "))": "ip",
		`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`: "",
	}
}

// rule adds what a rule of the schema in CEL asks for to b.
func (g *generator) rule(b *bound, rule, bare string) {
	switch rule {
	case "[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1":
		b.oneOf = []string{"layout", "diskLayout"}
	case "self.all(x, self.exists_one(y, x == y))":
		b.keys = []string{""}
	case "self.matches('^(Linux|LinuxSwap|LinuxRAID|LVM|Fat32|NTFS|LinuxExtended|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$')":
		b.pattern = "partitionType"
	case "self.all(x, self.exists_one(y, x.name == y.name))": // an argument may be there twice here, as kubeadm takes it
	case "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])": // held by machineConditions
	default:
		if !strings.HasPrefix(g.kind.name, "OpenStack") && !strings.HasPrefix(g.kind.name, "AWS") && !strings.HasPrefix(g.kind.name, "Azure") { // whose providers hold them
			g.t.Fatalf("%s %s: %s has a rule that is not known: %s", g.kind.name, g.version, bare, rule)
		}
	}
}

// source returns the table as Go.
func (g *generator) source() []byte {
	var b strings.Builder
	b.WriteString("// Code generated by go generate ./render/decode. DO NOT EDIT.\n\npackage decode\n\n" +
		"// boundsTable returns the bounds of upstream's resource definitions.\n" +
		"func boundsTable() map[string]section {\n\treturn map[string]section{\n")
	for _, name := range slices.Sorted(maps.Keys(g.sections)) {
		versions := g.sections[name]
		keys := slices.Sorted(maps.Keys(versions))
		one := !slices.ContainsFunc(keys, func(v string) bool { return !reflect.DeepEqual(versions[v], versions[keys[0]]) })
		for _, version := range keys {
			key := name + "@" + version
			if one {
				key = name
			}
			if s := versions[version][0]; len(s) > 0 || !one || g.top[name] {
				fmt.Fprintf(&b, "%q: {\n", key)
				for _, path := range slices.Sorted(maps.Keys(s)) {
					fmt.Fprintf(&b, "%q: {%s},\n", path, literal(s[path]))
				}
				b.WriteString("},\n")
			}
			if one {
				break
			}
		}
	}
	b.WriteString("\t}\n}\n")
	out, err := format.Source([]byte(b.String()))
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

// literal returns the fields of a bound as Go writes them.
func literal(b bound) string {
	var out []string
	add := func(set bool, format string, args ...any) {
		if set {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	number := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	list := func(s []string) string { return "[]string{" + strings.Join(quote(s), ", ") + "}" }
	add(b.required, "required: true")
	add(b.least > 0, "least: %d", b.least)
	add(b.most > 0, "most: %d", b.most)
	add(b.low != nil, "low: new(int64(%d))", number(b.low))
	add(b.high != nil, "high: new(int64(%d))", number(b.high))
	add(b.pattern != "", "pattern: %q", b.pattern)
	add(b.values != nil, "values: %s", list(b.values))
	add(b.keys != nil, "keys: %s", list(b.keys))
	add(b.oneOf != nil, "oneOf: %s", list(b.oneOf))
	return strings.Join(out, ", ")
}
