package install

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// An Addon is a file of manifests.
type Addon struct {
	Name string // name of the file, for people
	Data []byte // YAML documents or JSON
}

// ReadAddons reads files, and the files of folders, in the order of paths. Without files
// they are on this computer. An error is of kind Invalid and names the path.
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

// objects returns the objects in the file.
func (a Addon) objects() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	list, err := documents.Objects(a.Data, documents.AddonLimits())
	if err != nil {
		return nil, err
	}
	for _, object := range list {
		o := &unstructured.Unstructured{Object: object}
		if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
			return nil, errors.New("an object has no apiVersion, kind or name")
		}
		out = append(out, o)
	}
	return out, nil
}
