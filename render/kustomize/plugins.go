package kustomize

import (
	"slices"
	"strings"

	"fairlead.dev/fleet/documents"
)

// builtinTransformers are the transformers that only compute: they read no
// files and run no programs.
func builtinTransformers() []string {
	return []string{
		"AnnotationsTransformer", "HashTransformer", "ImageTagTransformer", "LabelTransformer",
		"NamespaceTransformer", "PrefixTransformer", "ReplicaCountTransformer", "SuffixTransformer",
	}
}

// plugins admits built-in transformers and refuses every other generator,
// transformer and validator: they run programs, containers or scripts.
func (v *visit) plugins() error {
	if len(v.k.Generators) > 0 {
		return v.at("generators").refuse("use configMapGenerator, secretGenerator or plain resources", "generators are programs and are not run")
	}
	if len(v.k.Validators) > 0 {
		return v.at("validators").refuse("remove it; run validators in CI", "validators are programs and are not run")
	}
	for i, entry := range v.k.Transformers {
		at := v.at("transformers[%d]", i)
		if strings.Contains(entry, "\n") {
			plain, err := v.inline(entry, at)
			if err != nil {
				return err
			}
			if err := v.onlyBuiltin([]byte(plain), at); err != nil {
				return err
			}
			v.k.Transformers[i] = plain
			continue
		}
		file, err := v.localFile(entry, at)
		if err != nil {
			return err
		}
		if err := v.yamlFile(file, at, false); err != nil {
			return err
		}
		if err := v.onlyBuiltin(v.files[file], place{file: file}); err != nil {
			return err
		}
		v.weight.transforming += int64(len(v.files[file])) // as if it stood in the kustomization
		v.k.Transformers[i] = relative(v.dir, file)
	}
	return nil
}

// onlyBuiltin refuses data if it configures anything but built-in transformers.
func (v *visit) onlyBuiltin(data []byte, at place) error {
	f, err := documents.Parse(data, v.limits.File)
	if err != nil {
		return refusalOf(at, at.file, err)
	}
	for _, d := range f.Documents {
		var apiVersion, kind string
		if c := documents.Child(d, "apiVersion"); c != nil {
			apiVersion = c.Value
		}
		if c := documents.Child(d, "kind"); c != nil {
			kind = c.Value
		}
		if meta := documents.Child(d, "metadata"); meta != nil {
			if notes := documents.Child(meta, "annotations"); notes != nil && documents.Child(notes, "config.kubernetes.io/function") != nil {
				return at.refuse("use the fields of the kustomization", "the transformer %s is a function and is not run", kind)
			}
		}
		if apiVersion != "builtin" || !slices.Contains(builtinTransformers(), kind) {
			return at.refuse("use the fields of the kustomization; allowed are the builtin "+strings.Join(builtinTransformers(), ", "),
				"the transformer %s %s is not run", apiVersion, kind)
		}
	}
	return nil
}
