package kustomize

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/fleet/documents"
)

// A visit checks one kustomization, and rewrites it for kustomize: local references in one
// form, deprecated fields as `kustomize edit fix` replaces them, and the built-in
// configuration.
type visit struct {
	*scanner
	place

	dir    string
	k      *types.Kustomization
	weight weight
}

// kustomization decodes a kustomization file.
func (s *scanner) kustomization(at place, data []byte) (*types.Kustomization, error) {
	f, err := documents.Parse(data, s.limits.File)
	if err != nil {
		return nil, refusalOf(at, at.file, err)
	}
	if len(f.Documents) != 1 || f.Documents[0].Kind != yaml.MappingNode {
		return nil, at.refuse("write kind: Kustomization with resources", "the file must hold one kustomization")
	}
	var k types.Kustomization
	if err := k.Unmarshal(f.Plain); err != nil {
		return nil, undecodable(at, f.Documents[0], err)
	}
	k.FixKustomization()
	if errs := k.EnforceFields(); len(errs) > 0 {
		return nil, at.at("kind").refuse("", "%s", strings.Join(errs, ", "))
	}
	if err := k.CheckEmpty(); err != nil {
		return nil, at.refuse("add resources", "the kustomization is empty")
	}
	return &k, nil
}

// put stores k as the kustomization file for the build. Empty lists are left out, so that a
// kustomization with nothing else gets empty options: kustomize refuses a file without fields.
func (s *scanner) put(file string, k *types.Kustomization) error {
	data, err := k8syaml.Marshal(k)
	if err == nil && !hasFields(data) {
		k.GeneratorOptions = &types.GeneratorOptions{}
		data, err = k8syaml.Marshal(k)
	}
	if err != nil {
		return place{file: file}.refuse("", "cannot be written again: %v", err)
	}
	s.files[file] = data
	return nil
}

// hasFields reports whether a kustomization has a field beside its version and kind.
func hasFields(data []byte) bool {
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte("apiVersion:")) && !bytes.HasPrefix(line, []byte("kind:")) {
			return true
		}
	}
	return false
}

func (v *visit) run() error {
	if err := v.forbidden(); err != nil {
		return err
	}
	if err := v.growth(); err != nil {
		return err
	}
	v.deprecated()
	v.targets.kustomization(v.k)
	steps := []func() error{
		v.resources, v.patches, v.replacements, v.configurations,
		v.crds, v.generated, v.plugins,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if err := v.within(v.weight, v.place); err != nil {
			return err
		}
	}
	return nil
}

// forbidden refuses what has effects beyond the build: the process-global schema, programs
// and charts.
func (v *visit) forbidden() error {
	switch k := v.k; {
	case len(k.OpenAPI) > 0:
		return v.at("openapi").refuse("remove it: the merge keys of Cluster API's kinds are built in", "openapi changes every other build in the process and is refused")
	case len(k.HelmCharts) > 0:
		return v.at("helmCharts").refuse("render the chart and commit the result", "charts are not inflated")
	case k.HelmGlobals != nil:
		return v.at("helmGlobals").refuse("render the chart and commit the result", "charts are not inflated")
	}
	return nil
}

// deprecated moves fields to their replacements. This also keeps kustomize from printing
// warnings.
func (v *visit) deprecated() {
	k := v.k
	var patches []types.Patch
	for _, p := range k.PatchesStrategicMerge {
		if text := string(p); strings.ContainsAny(text, "\n{") {
			patches = append(patches, types.Patch{Patch: text})
		} else {
			patches = append(patches, types.Patch{Path: text})
		}
	}
	k.Patches = slices.Concat(patches, k.Patches, k.PatchesJson6902)
	k.PatchesStrategicMerge, k.PatchesJson6902 = nil, nil
	if len(k.CommonLabels) > 0 {
		k.Labels = append(k.Labels, types.Label{Pairs: k.CommonLabels, IncludeSelectors: true})
		k.CommonLabels = nil
	}
	k.BuildMetadata = slices.DeleteFunc(k.BuildMetadata, func(o string) bool { return o != types.ManagedByLabelOption })
	if v.dir == v.overlay {
		k.BuildMetadata = append(k.BuildMetadata, types.OriginAnnotations)
	}
}

func (v *visit) resources() error {
	for i, ref := range v.k.Resources {
		at := v.at("resources[%d]", i)
		target, dir, err := v.resolve(v.dir, ref, at)
		if err != nil {
			return err
		}
		v.k.Resources[i] = relative(v.dir, target)
		if dir {
			err = v.include(target, at)
		} else {
			err = v.yamlFile(target, at, true)
		}
		if err != nil {
			return err
		}
	}
	for i, ref := range v.k.Components {
		at := v.at("components[%d]", i)
		target, dir, err := v.resolve(v.dir, ref, at)
		if err != nil {
			return err
		}
		if !dir {
			return at.refuse("name the folder of the component", "%q is not a folder", ref)
		}
		v.k.Components[i] = relative(v.dir, target)
		if err := v.include(target, at); err != nil {
			return err
		}
		v.weight.transforming += v.weights[target].transforming
		v.weight.patches += v.weights[target].patches
	}
	return nil
}

// include adds the weight of the folder dir. The transformations of a kustomization are its
// own; those of a component belong to the kustomization that includes it.
func (v *visit) include(dir string, at place) error {
	w, err := v.folder(dir, at)
	if err != nil {
		return err
	}
	w.includes++
	v.weight.add(w)
	return v.within(v.weight, at)
}

func (v *visit) patches() error {
	v.weight.patches += len(v.k.Patches)
	for i := range v.k.Patches {
		p := &v.k.Patches[i]
		at := v.at("patches[%d]", i)
		if p.Path != "" {
			file, err := v.localFile(p.Path, at.at("patches[%d].path", i))
			if err != nil {
				return err
			}
			p.Path = relative(v.dir, file)
			if err := v.yamlFile(file, at, false); err != nil {
				return err
			}
			if err := v.patch(v.files[file], place{file: file}); err != nil {
				return err
			}
			v.weight.transforming += int64(len(v.files[file]))
		}
		plain, err := v.inline(p.Patch, at.at("patches[%d].patch", i))
		if err != nil {
			return err
		}
		if err := v.patch([]byte(plain), at); err != nil {
			return err
		}
		p.Patch = plain
		if p.Target != nil {
			v.targets.selected = append(v.targets.selected, selected{at.at("patches[%d].target", i), *p.Target})
		}
	}
	return nil
}

// patch checks the text of a patch.
func (v *visit) patch(text []byte, at place) error {
	f, err := documents.Parse(text, v.limits.File)
	if err != nil {
		return refusalOf(at, at.file, err)
	}
	objects := objectsIn(f.Documents)
	if keyedIn(objects) {
		v.keyed[v.dir] = true
	}
	for _, o := range objects {
		if err := directives(o, at); err != nil {
			return err
		}
	}
	return v.jsonPatch(f.Documents, at)
}

func (v *visit) replacements() error {
	for i := range v.k.Replacements {
		r := &v.k.Replacements[i]
		if r.Path == "" {
			v.replacement(r.Replacement, v.at("replacements[%d]", i))
			continue
		}
		at := v.at("replacements[%d].path", i)
		file, err := v.localFile(r.Path, at)
		if err != nil {
			return err
		}
		r.Path = relative(v.dir, file)
		if err := v.yamlFile(file, at, false); err != nil {
			return err
		}
		list, err := parseReplacements(v.files[file])
		if err != nil {
			return place{file: file}.refuse("write one replacement or a list of them", "%s", documents.OneLine(err))
		}
		for _, r := range list {
			v.replacement(r, place{file: file})
		}
	}
	return v.feedback.check()
}

// replacement notes what r reads and writes.
func (v *visit) replacement(r types.Replacement, at place) {
	v.feedback.add(r, at)
	for _, t := range r.Targets {
		for _, path := range t.FieldPaths {
			v.targets.changed(path)
		}
	}
}

func (v *visit) crds() error {
	for i, ref := range v.k.Crds {
		at := v.at("crds[%d]", i)
		file, err := v.localFile(ref, at)
		if err != nil {
			return err
		}
		v.k.Crds[i] = relative(v.dir, file)
		if err := v.yamlFile(file, at, false); err != nil {
			return err
		}
	}
	return nil
}

// generated checks the files of generated ConfigMaps and Secrets. Their content is text,
// and is not parsed.
func (v *visit) generated() error {
	for i := range v.k.ConfigMapGenerator {
		v.targets.generated("ConfigMap", v.k.ConfigMapGenerator[i].GeneratorArgs)
		if err := v.sources(&v.k.ConfigMapGenerator[i].GeneratorArgs, fmt.Sprintf("configMapGenerator[%d]", i)); err != nil {
			return err
		}
	}
	for i := range v.k.SecretGenerator {
		v.targets.generated("Secret", v.k.SecretGenerator[i].GeneratorArgs)
		if err := v.sources(&v.k.SecretGenerator[i].GeneratorArgs, fmt.Sprintf("secretGenerator[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) sources(kv *types.GeneratorArgs, field string) error {
	v.weight.objects++
	if kv.Behavior != "" && types.NewGenerationBehavior(kv.Behavior) == types.BehaviorUnspecified {
		return v.at("%s.behavior", field).refuse("write create, merge or replace", "%q is no behavior", kv.Behavior)
	}
	for i, src := range kv.FileSources {
		key, ref, ok := strings.Cut(src, "=")
		if !ok {
			key, ref = "", src
		}
		file, err := v.rawFile(ref, v.at("%s.files[%d]", field, i))
		if err != nil {
			return err
		}
		kv.FileSources[i] = relative(v.dir, file)
		if ok {
			kv.FileSources[i] = key + "=" + kv.FileSources[i]
		}
	}
	for i, ref := range kv.EnvSources {
		file, err := v.rawFile(ref, v.at("%s.envs[%d]", field, i))
		if err != nil {
			return err
		}
		kv.EnvSources[i] = relative(v.dir, file)
	}
	return nil
}
