package home

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"fairlead.dev/fleet"
)

// An Addon is a file of manifests.
type Addon struct {
	Name string // of the file, for people
	Data []byte // YAML documents or JSON
}

// ReadAddons reads files, and those of folders, in the order of paths. They are
// on this machine where files is nil. The error is of kind Invalid and names the
// path.
func ReadAddons(files fs.FS, paths []string) ([]Addon, error) {
	readDir, readFile := os.ReadDir, os.ReadFile
	if files != nil {
		readDir = func(name string) ([]fs.DirEntry, error) { return fs.ReadDir(files, name) }
		readFile = func(name string) ([]byte, error) { return fs.ReadFile(files, name) }
	}
	var out []Addon
	for _, p := range paths {
		names := []string{p}
		if entries, err := readDir(p); err == nil {
			names = nil
			for _, e := range entries {
				if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(e.Name())) {
					names = append(names, path.Join(p, e.Name()))
				}
			}
			if len(names) == 0 {
				return nil, fleet.Errorf(fleet.Invalid, "read addons", "the folder %s has no manifests (.yaml, .yml, .json)", p)
			}
		}
		for _, name := range names {
			b, err := readFile(name)
			if err != nil {
				return nil, fleet.Errorf(fleet.Invalid, "read addons", "%w", err)
			}
			out = append(out, Addon{Name: name, Data: b})
		}
	}
	return out, nil
}

// objects returns what the file holds.
func (a Addon) objects() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	const buffer = 4096 // bytes that are looked at to tell YAML from JSON
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(a.Data), buffer); ; {
		o := &unstructured.Unstructured{}
		err := d.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) == 0 {
			continue
		}
		if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
			return nil, errors.New("an object has no apiVersion, kind or name")
		}
		out = append(out, o)
	}
}
