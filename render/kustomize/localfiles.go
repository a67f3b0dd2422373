package kustomize

import (
	"errors"
	"strings"

	"fairlead.dev/fleet/documents"
	yaml "go.yaml.in/yaml/v3"
)

// localFile returns the path of the file that ref refers to.
func (v *visit) localFile(ref string, at place) (string, error) {
	target, dir, err := v.resolve(v.dir, ref, at)
	if err != nil {
		return "", err
	}
	if dir {
		v.reads[target] = true
		return "", at.refuse("name a file", "%q is a folder", ref)
	}
	return target, nil
}

// rawFile admits a file that is not parsed.
func (v *visit) rawFile(ref string, at place) (string, error) {
	file, err := v.localFile(ref, at)
	if err != nil {
		return "", err
	}
	data, err := v.read(file, at)
	if err != nil {
		return "", err
	}
	// A file that is also read as YAML keeps its plain form.
	if _, ok := v.files[file]; !ok {
		v.files[file] = data
	}
	v.weight.add(weight{includes: 1, bytes: int64(len(data))})
	return file, v.within(v.weight, at)
}

// yamlFile admits a file that kustomize parses.
func (v *visit) yamlFile(file string, at place, resource bool) error {
	objects, ok := v.parsed[file]
	if !ok {
		data, err := v.read(file, at)
		if err != nil {
			return err
		}
		f, err := documents.Parse(data, v.limits.File)
		if err != nil {
			return refusalOf(at, file, err)
		}
		if objects, err = countObjects(file, f.Documents, resource); err != nil {
			return err
		}
		v.files[file] = f.Plain
		v.parsed[file] = objects
		v.quotes.learn(f.Documents)
		v.targets.learn(file, f.Documents)
	}
	v.weight.add(weight{includes: 1, bytes: int64(len(v.files[file]))})
	if resource {
		v.targets.used[file] = true
		v.weight.objects += objects
	}
	return v.within(v.weight, at)
}

// countObjects counts the objects in documents, including those in lists. It refuses a
// resource that does not look like an object, with a clearer message than kustomize's.
func countObjects(file string, docs []*yaml.Node, resource bool) (int, error) {
	n := 0
	for _, d := range docs {
		n++
		if d.Kind != yaml.MappingNode {
			if resource {
				return 0, place{file: file}.refuse("write apiVersion, kind and metadata", "line %d: a document is not an object", d.Line)
			}
			continue
		}
		if items := documents.Child(d, "items"); items != nil && items.Kind == yaml.SequenceNode {
			more, err := countObjects(file, items.Content, resource && strings.HasSuffix(documents.ChildText(d, "kind"), "List"))
			if err != nil {
				return 0, err
			}
			n += more
			continue
		}
		if !resource {
			continue
		}
		for _, key := range []string{"apiVersion", "kind", "metadata"} {
			if c := documents.Child(d, key); c == nil || c.Kind == yaml.ScalarNode && (c.Value == "" || c.ShortTag() == "!!null") {
				return 0, place{file: file, field: key}.refuse("write apiVersion, kind and metadata", "line %d: an object has no %s", d.Line, key)
			}
		}
	}
	return n, nil
}

// inline returns the plain form of YAML that stands in a field.
func (v *visit) inline(text string, at place) (string, error) {
	if text == "" {
		return "", nil
	}
	f, err := documents.Parse([]byte(text), v.limits.File)
	if r, ok := errors.AsType[*documents.Refusal](err); ok {
		return "", at.refuse(r.Hint, "%s", r.Error())
	}
	v.quotes.learn(f.Documents)
	return string(f.Plain), nil
}
