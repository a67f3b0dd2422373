package render

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/sops"
	"fairlead.dev/render/substitute"
	"fairlead.dev/render/topology"
)

// An overlay is the result of one build, with its dependencies.
type overlay struct {
	dir  string
	file string // its kustomization file

	reads       []string // paths that the build read
	includes    []string // folders of other kustomizations
	mentions    []string // folders that may be included
	scanFailed  bool     // the scan failed, so includes may be incomplete
	part        bool     // it is a Component
	overBudget  bool     // it exceeded the budget, and may be built another time
	fetchFailed bool     // something could not be fetched, and may be another time
	err         error    // why it was not built

	contents
	objects  []Object           // nil once they are decoded
	filled   map[place]variable // fields with the variable that set them; nil once decoded
	lossy    map[string]string  // fields whose quotes a replacement drops; nil once decoded
	copied   []string           // fields that replacements read
	decoded  bool
	classes  topology.Library // the classes of a library
	from     string           // fingerprints of the libraries' classes that its clusters are made from
	clusters []fleet.Cluster
	problems []fleet.Problem
	warnings []fleet.Problem
	// unmatched are the patches whose target selects no object, in all kustomizations.
	unmatched []fleet.Problem

	fingerprint string
	inputs      []input
}

// objects builds the overlay in dir and fills in its variables.
func (b *Builder) objects(ctx context.Context, tree *sops.Tree, cfg config, dir string) (o *overlay) {
	o = &overlay{dir: dir}
	defer func() {
		if r := recover(); r != nil {
			o.objects = nil
			o.problems = append(o.problems, fleet.Problem{Overlay: dir, File: o.file, Message: fmt.Sprintf("rendering failed on it: %v", r)})
		}
	}()
	part := tree.Part()
	scan, problem := b.kustomizer.Scan(part, dir, cfg.roots()...)
	o.file, o.reads, o.includes, o.mentions, o.part = scan.File, scan.Reads, scan.Includes, scan.Mentions, scan.Component
	o.unmatched, o.lossy, o.copied = scan.Warnings, scan.Lossy, scan.Copied
	if f, lacks := cfg.lacking(o.reads); lacks {
		p := f.problem()
		p.Overlay, p.File = dir, o.file
		o.scanFailed, o.overBudget, o.fetchFailed, o.problems = true, true, f.late(), []fleet.Problem{p}
		return o
	}
	if problem != nil {
		o.scanFailed = true
		o.problems = append(o.problems, *problem)
		return o
	}
	if o.part {
		return o
	}
	built, problem, err := b.run(ctx, scan, part.Decrypted())
	if over, ok := errors.AsType[*kustomize.OverBudget](err); ok {
		o.overBudget, problem = true, &over.Problem
	} else if err != nil {
		o.err = err
		return o
	}
	if problem != nil {
		o.problems = append(o.problems, *problem)
		return o
	}
	b.substitute(tree, cfg, o, built)
	return o
}

// unanswered notes whether the problem of o may pass, because something that o may need
// could not be fetched.
func (o *overlay) unanswered(is bool) {
	if is && len(o.problems) > 0 {
		o.overBudget, o.fetchFailed = true, true
	}
}

// run has the overlay built, by the workers if there are any. decrypted says that the scan read what is encrypted in the tree.
func (b *Builder) run(ctx context.Context, scan *kustomize.Scan, decrypted bool) ([]kustomize.Object, *fleet.Problem, error) {
	if b.options.Workers != nil {
		in := scan.Input()
		in.Decrypted = decrypted
		return b.options.Workers.Build(ctx, in)
	}
	built, problem := b.kustomizer.Build(scan)
	return built, problem, nil
}

// substitute fills in the variables of built, and stores the objects.
func (b *Builder) substitute(tree fs.FS, cfg config, o *overlay, built []kustomize.Object) {
	values, from := maps.Clone(cfg.values), map[string]string{}
	var given []valuesFile
	set := func(file string, more map[string]string) {
		maps.Copy(values, more)
		for name := range more {
			from[name] = "in " + file
			if file == "" {
				from[name] = "on the command line"
			}
		}
	}
	set(ConfigFile, cfg.values)
	file := path.Join(o.dir, ".env")
	generates := slices.Contains(o.reads, file) // a generator of the overlay reads the file, too
	if !generates {
		o.reads = append(o.reads, file)
	}
	env := map[string]string{}
	if err := readEnv(tree, file, env); err != nil {
		o.problems = append(o.problems, fleet.Problem{Overlay: o.dir, File: file, Message: err.Error(), Hint: "write lines NAME=value"})
		return
	}
	set(file, env)
	if !generates {
		given = append(given, valuesFile{file, "", env})
	}
	fail := func(obj kustomize.Object, e substitute.Error) {
		o.problems = append(o.problems, fleet.Problem{
			Overlay: o.dir, File: obj.File, Object: title(obj.Node), Field: e.Field, Message: e.Message, Hint: e.Hint,
		})
	}
	built = slices.DeleteFunc(built, func(obj kustomize.Object) bool {
		more, errs, ok := substitute.IsSource(obj.Node)
		for _, e := range errs {
			fail(obj, e)
		}
		set(obj.File, more)
		if ok {
			given = append(given, valuesFile{obj.File, "data.", more})
		}
		return ok
	})
	if len(o.problems) > 0 {
		return
	}
	set("", b.options.Values)
	o.filled = map[place]variable{}
	used := map[string]bool{}
	s := &substitute.Substituter{Values: values, AllowUnset: b.options.AllowUnset, Used: func(name string) { used[name] = true }}
	for _, obj := range built {
		var fields, names []string
		s.Filled = func(field, name string) { fields, names = append(fields, field), append(names, name) }
		s.Doubled = func(field string) {
			o.warnings = append(o.warnings, fleet.Problem{
				Overlay: o.dir, File: obj.File, Object: title(obj.Node), Field: field,
				Message: "$$ becomes $",
				Hint:    "write $ for one dollar sign and $$$$ for two, or annotate the object with " + substitute.Annotation + ": " + substitute.Disabled,
			})
		}
		for _, e := range s.Object(obj.Node) {
			fail(obj, e)
		}
		for i, field := range fields {
			if file := from[names[i]]; file != "" {
				o.filled[place{identity(obj.Node), field}] = variable{"${" + names[i] + "}", file}
			}
		}
		data, err := documents.Marshal([]*yaml.Node{obj.Node})
		if err != nil {
			o.problems = append(o.problems, fleet.Problem{Overlay: o.dir, File: obj.File, Object: title(obj.Node), Message: err.Error()})
			continue
		}
		o.see(obj.Node)
		o.objects = append(o.objects, Object{File: obj.File, YAML: data, Former: former(obj, values, b.options.AllowUnset)})
	}
	if len(o.problems) == 0 { // an object with a problem is not read to its end
		o.unmatched = append(o.unmatched, unused(o.dir, given, used, o.copied)...)
	}
}

// A valuesFile is a file that sets variables, which are fields below a path.
type valuesFile struct {
	name, below string
	values      map[string]string
}

// unused returns the warnings of variables that no object of the overlay in dir has, and no
// replacement reads.
func unused(dir string, files []valuesFile, used map[string]bool, copied []string) []fleet.Problem {
	var out []fleet.Problem
	for _, f := range files {
		for _, name := range slices.Sorted(maps.Keys(f.values)) {
			read := f.below != "" && (slices.Contains(copied, f.below+name) || slices.Contains(copied, strings.TrimSuffix(f.below, ".")))
			if !used[name] && !read {
				out = append(out, fleet.Problem{
					Overlay: dir, File: f.name, Field: f.below + name,
					Message: "the variable is not used: no object has ${" + name + "}", Hint: "remove it, or correct its name",
				})
			}
		}
	}
	return out
}

// former returns obj as earlier versions rendered it, or nil if it is the same.
func former(obj kustomize.Object, values map[string]string, allowUnset bool) []byte {
	if obj.Former == nil {
		return nil
	}
	s := &substitute.Substituter{Values: values, AllowUnset: allowUnset}
	if errs := s.Object(obj.Former); len(errs) > 0 {
		return nil // so has the object
	}
	data, err := documents.Marshal([]*yaml.Node{obj.Former})
	if err != nil {
		return nil
	}
	return data
}

// decode makes clusters of the objects of o, unless o has problems.
func (b *Builder) decode(rev fleet.Revision, cfg config, o *overlay, libraries []topology.Library) *overlay {
	o.read(func(objects []Object) {
		d, ok := b.options.Decoder.(WarningDecoder)
		if !ok {
			o.clusters, o.problems = b.options.Decoder.Decode(o.dir, objects, libraries...)
			return
		}
		var warnings []fleet.Problem
		o.clusters, o.problems, warnings = d.DecodeAndWarn(o.dir, objects, libraries...)
		o.warnings = append(o.warnings, warnings...)
	})
	for i := range o.clusters {
		c := &o.clusters[i]
		if c.Fleet != cfg.id {
			// Only fleet.yaml has the id.
			c.Fleet = cfg.id
			c.Digest = fmt.Sprintf("%x", sha256.Sum256([]byte(string(cfg.id)+" "+c.Digest)))
		}
		c.Overlay, c.Revision = o.dir, rev
	}
	o.checkNetworks()
	if len(o.clusters) == 0 && len(o.problems) == 0 && !o.part {
		o.problems = []fleet.Problem{{
			Overlay: o.dir, File: o.file, Message: "the overlay renders no Cluster",
			Hint: "add one, make it kind: Component, or exclude the folder in fleet.yaml under spec.clusters.exclude",
		}}
	}
	return o
}

// readLibrary makes classes of the objects of o, unless o has problems.
func (b *Builder) readLibrary(o *overlay) *overlay {
	o.read(func(objects []Object) {
		o.classes, o.problems = b.options.Decoder.Library(o.dir, objects)
	})
	return o
}

// read decodes the objects of o, unless o has problems, and adds to each problem the
// variable that set its value.
func (o *overlay) read(decode func(objects []Object)) {
	objects, filled, lossy := o.objects, o.filled, o.lossy
	o.objects, o.filled, o.lossy, o.decoded = nil, nil, nil, true
	if o.part || len(o.problems) > 0 {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			o.clusters, o.classes = nil, topology.Library{}
			o.problems = append(o.problems, fleet.Problem{Overlay: o.dir, File: o.file, Message: fmt.Sprintf("decoding failed on it: %v", r)})
		}
	}()
	decode(objects)
	for i := range o.problems {
		p := &o.problems[i]
		if v, ok := filled[place{p.Object, p.Field}]; ok {
			p.Hint = strings.Replace(p.Hint, QuoteIt, fmt.Sprintf("write %q where it is used", v.text), 1)
			p.Hint = strings.TrimPrefix(fmt.Sprintf("%s; %s is set %s", p.Hint, v.text, v.where), "; ")
		} else if why := lossy[kustomize.WithoutItems(p.Field)]; why != "" {
			p.Hint = strings.Replace(p.Hint, QuoteIt, why, 1)
		}
	}
}

// QuoteIt is the end of a Decoder's hint for a number or a boolean that has to be a text. A
// Builder replaces it if a variable or a replacement set the value.
const QuoteIt = "put it in quotes"

// A variable is what set the value of a field: "${ZONE}", "in clusters/a/.env".
type variable struct{ text, where string }

// A place is a field of an object.
type place struct{ object, field string }

// identity is title with the namespace that an object without one is in.
func identity(n *yaml.Node) string {
	kind, name, _ := strings.Cut(title(n), " ")
	if !strings.Contains(name, "/") {
		name = "default/" + name
	}
	return kind + " " + name
}

// title names an object: "Cluster prod/eu-1".
func title(n *yaml.Node) string {
	var o struct {
		Kind     string
		Metadata struct{ Namespace, Name string }
	}
	if err := n.Decode(&o); err != nil && o.Kind == "" {
		return ""
	}
	if o.Metadata.Namespace == "" {
		return o.Kind + " " + o.Metadata.Name
	}
	return o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
}

// readEnv adds the values in an env file, if it is there, to values.
func readEnv(tree fs.FS, file string, values map[string]string) error {
	data, err := kustomize.ReadFile(tree, file, documents.DefaultLimits())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return parseEnv(data, values)
}
