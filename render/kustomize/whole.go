package kustomize

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	k8syaml "sigs.k8s.io/yaml"
)

// kustomize replaces lists of the kinds of Cluster API as a whole. In a kustomization whose
// patches have keyed lists, a builder therefore replaces each of these lists, before the
// build, with the list that results from merging it. It takes the objects that a patch
// changes from a build of the kustomization up to that patch. All other kustomizations are
// built once.
//
// The steps of a kustomization are its resources, its generators, its components, each with
// all its steps, and its patches; other transformers follow. A component works on the
// objects of the kustomization that includes it, so each inclusion of one with such
// patches gets a copy of its own.
type builder struct {
	files  map[string][]byte // of the build; kustomizations are rewritten
	keyed  map[string]bool   // folders of kustomizations whose patches have keyed lists
	done   map[string]bool
	copies int
	// referring are the transformer configurations. Names in references are fixed in the
	// last build only: there they have their last form.
	referring map[string][]byte
}

// A kustomization is a kustomization with its file.
type kustomization struct {
	dir, file string
	types.Kustomization
}

// copyPrefix begins the names of folders with copies of components.
const copyPrefix = ".fairlead: copy "

// withWholeLists returns files with whole lists in patches. keyed are the folders of
// kustomizations whose patches have keyed lists.
func withWholeLists(overlay string, files map[string][]byte, keyed []string) (map[string][]byte, error) {
	b := &builder{
		files: maps.Clone(files), keyed: map[string]bool{}, done: map[string]bool{},
		referring: map[string][]byte{referencesFile: []byte("{}")},
	}
	for _, dir := range keyed {
		b.keyed[dir] = true
	}
	return b.files, b.folder(overlay)
}

// load reads the kustomization in dir.
func (b *builder) load(dir string) (kustomization, error) {
	for _, name := range FileNames() {
		k := kustomization{dir: dir, file: path.Join(dir, name)}
		if data, ok := b.files[k.file]; ok {
			return k, k8syaml.Unmarshal(data, &k.Kustomization)
		}
	}
	return kustomization{}, errors.New("there is no kustomization in " + dir)
}

// write stores k for the next build.
func (b *builder) write(k kustomization) error {
	data, err := k8syaml.Marshal(k.Kustomization)
	b.files[k.file] = data
	return err
}

// folder rewrites the kustomization in dir, which is no component, and those that it
// includes.
func (b *builder) folder(dir string) error {
	if b.done[dir] {
		return nil
	}
	b.done[dir] = true
	k, err := b.load(dir)
	if err != nil {
		return err
	}
	touched, err := b.included(k)
	if err != nil || !touched {
		return err
	}
	return b.steps(dir, k)
}

// included rewrites the kustomizations that k and its components include as resources, and
// reports whether k or one of its components has patches with keyed lists.
func (b *builder) included(k kustomization) (bool, error) {
	for _, ref := range k.Configurations {
		file := path.Join(k.dir, ref)
		if b.referring[file] != nil {
			continue
		}
		var err error
		if b.referring[file], err = withoutReferences(b.files[file]); err != nil {
			return false, err
		}
	}
	for _, ref := range k.Resources {
		dir := path.Join(k.dir, ref)
		if _, file := b.files[dir]; file {
			continue
		}
		if err := b.folder(dir); err != nil {
			return false, err
		}
	}
	touched := b.keyed[k.dir]
	for _, ref := range k.Components {
		component, err := b.load(path.Join(k.dir, ref))
		if err != nil {
			return false, err
		}
		below, err := b.included(component)
		if err != nil {
			return false, err
		}
		touched = touched || below
	}
	return touched, nil
}

// steps takes the steps of k, a kustomization or component that works on the objects of the
// kustomization in root. At each step, the files build the objects before it.
func (b *builder) steps(root string, k kustomization) error {
	before := k
	before.Kustomization = types.Kustomization{
		TypeMeta: k.TypeMeta, Resources: k.Resources, Configurations: k.Configurations, Crds: k.Crds,
		ConfigMapGenerator: k.ConfigMapGenerator, SecretGenerator: k.SecretGenerator,
		GeneratorOptions: k.GeneratorOptions,
	}
	if before.GeneratorOptions == nil {
		before.GeneratorOptions = &types.GeneratorOptions{} // kustomize refuses an empty kustomization
	}
	if k.dir == root {
		before.Patches = keepNames()
	}
	k.Components = slices.Clone(k.Components)
	for i, ref := range k.Components {
		component, err := b.load(path.Join(k.dir, ref))
		if err != nil {
			return err
		}
		touched, err := b.included(component)
		if err != nil {
			return err
		}
		if touched {
			component = b.copy(component)
			k.Components[i] = relative(k.dir, component.dir)
		}
		before.Components = k.Components[:i+1]
		if err := b.write(before); err != nil {
			return err
		}
		if touched {
			if err := b.steps(root, component); err != nil {
				return err
			}
		}
	}
	if b.keyed[k.dir] {
		if err := b.write(before); err != nil {
			return err
		}
		objects, err := b.objects(root)
		if err != nil {
			return err
		}
		if k.Patches, err = b.patches(k, objects); err != nil {
			return err
		}
	}
	return b.write(k)
}

// copy returns a copy of a component. Its folder is below that of the component.
func (b *builder) copy(k kustomization) kustomization {
	b.copies++
	dir := path.Join(k.dir, copyPrefix+strconv.Itoa(b.copies))
	k.Kustomization = moved(k.Kustomization)
	b.keyed[dir] = b.keyed[k.dir]
	k.dir, k.file = dir, path.Join(dir, path.Base(k.file))
	return k
}

// moved returns k for a folder below its own: its references to files lead there from below.
func moved(k types.Kustomization) types.Kustomization {
	up := func(ref string) string {
		if ref == "" || strings.Contains(ref, "\n") {
			return ref
		}
		return "../" + ref
	}
	all := func(refs []string) []string {
		refs = slices.Clone(refs)
		for i, ref := range refs {
			refs[i] = up(ref)
		}
		return refs
	}
	sources := func(kv *types.KvPairSources) {
		kv.EnvSources, kv.FileSources = all(kv.EnvSources), slices.Clone(kv.FileSources)
		for i, src := range kv.FileSources {
			if key, ref, ok := strings.Cut(src, "="); ok {
				kv.FileSources[i] = key + "=" + up(ref)
			} else {
				kv.FileSources[i] = up(src)
			}
		}
	}
	k.Resources, k.Components, k.Configurations = all(k.Resources), all(k.Components), all(k.Configurations)
	k.Crds, k.Transformers = all(k.Crds), all(k.Transformers)
	k.Patches, k.Replacements = slices.Clone(k.Patches), slices.Clone(k.Replacements)
	for i := range k.Patches {
		k.Patches[i].Path = up(k.Patches[i].Path)
	}
	for i := range k.Replacements {
		k.Replacements[i].Path = up(k.Replacements[i].Path)
	}
	k.ConfigMapGenerator, k.SecretGenerator = slices.Clone(k.ConfigMapGenerator), slices.Clone(k.SecretGenerator)
	for i := range k.ConfigMapGenerator {
		sources(&k.ConfigMapGenerator[i].KvPairSources)
	}
	for i := range k.SecretGenerator {
		sources(&k.SecretGenerator[i].KvPairSources)
	}
	return k
}

// withoutReferences returns a transformer configuration without its nameReference.
func withoutReferences(config []byte) ([]byte, error) {
	var fields map[string]any
	if err := k8syaml.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	delete(fields, "nameReference")
	return k8syaml.Marshal(fields)
}

// The annotations in which kustomize keeps the former names of an object, which patches may
// use. It removes them after a build, so that keepNames copies them.
const (
	namesPrefix = "internal.config.kubernetes.io/"
	keptPrefix  = "fairlead.dev/kept-"
)

func names() []string { return []string{"previousKinds", "previousNames", "previousNamespaces"} }

// keepNames returns the patch that copies the former names of objects.
func keepNames() []types.Patch {
	var ops []map[string]string
	for _, name := range names() {
		pointer := func(prefix string) string {
			return "/metadata/annotations/" + strings.ReplaceAll(prefix, "/", "~1") + name
		}
		ops = append(ops, map[string]string{"op": "copy", "from": pointer(namesPrefix), "path": pointer(keptPrefix)})
	}
	text, err := k8syaml.Marshal(ops)
	if err != nil {
		panic(err) // it is made of strings
	}
	return []types.Patch{{Patch: string(text), Target: &types.Selector{AnnotationSelector: namesPrefix + names()[0]}}}
}

// objects builds the kustomization in root, and gives the objects their former names.
func (b *builder) objects(root string) (resmap.ResMap, error) {
	files := newScanned(b.files)
	for name, data := range b.referring {
		files.files[path.Join("/", name)] = data
	}
	out, err := run(files, root)
	if err != nil {
		return nil, err
	}
	for _, r := range out.Resources() {
		notes := r.GetAnnotations()
		for _, name := range names() {
			if kept, ok := notes[keptPrefix+name]; ok {
				notes[namesPrefix+name] = kept
				delete(notes, keptPrefix+name)
			}
		}
		if err := r.SetAnnotations(notes); err != nil {
			return nil, err
		}
	}
	return out, nil
}
