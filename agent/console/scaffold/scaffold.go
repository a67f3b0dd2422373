package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// Files are texts by their names, below the root of a fleet.
type Files map[string]string

// Names returns the names of f, sorted.
func (f Files) Names() []string { return slices.Sorted(maps.Keys(f)) }

// configFile is where an example has what holds for the whole fleet.
const configFile = "fleet.yaml"

// A Cluster is one to be made.
type Cluster struct {
	Key    fleet.Key
	Flavor string            // empty: the default
	Values map[string]string // of variables
}

// Fleet returns fleet.yaml of a fleet of the given name, with those of values that the
// example has there.
func (t Template) Fleet(name string, values map[string]string) (Files, error) {
	text, err := fs.ReadFile(t.Files, configFile)
	if err != nil {
		return nil, err
	}
	out := fleetName.ReplaceAllLiteralString(string(text), "\n  name: "+scalar(name, "")+"\n")
	there := settingsOf(out)
	for _, v := range slices.Sorted(maps.Keys(values)) {
		if _, ok := there[v]; ok {
			out = set(out, v, values[v])
		}
	}
	return Files{configFile: out}, nil
}

// fleetName matches the line of the example with the name of the fleet.
var fleetName = regexp.MustCompile(`\n {2}name: .*\n`)

// Shared returns the variables that fleet.yaml of the example sets, as it does.
func (t Template) Shared() (map[string]string, error) {
	text, err := fs.ReadFile(t.Files, configFile)
	if err != nil {
		return nil, err
	}
	out := settingsOf(string(text))
	for name, value := range out {
		out[name] = unquoted(value)
	}
	return out, nil
}

// Folder returns where the overlay of the cluster k is.
func Folder(k fleet.Key) string { return path.Join("clusters", k.Namespace, k.Name) }

// Cluster returns the overlay of c, and by their names the folders that it includes. What a
// fleet has of these already is to be kept: the overlay fits it as far as its variables do.
func (t Template) Cluster(c Cluster) (overlay Files, included map[string]Files, err error) {
	f, err := t.Flavor(c.Flavor)
	if err != nil {
		return nil, nil, err
	}
	if err := t.check(f, c.Values); err != nil {
		return nil, nil, err
	}
	t = t.For(f)
	to := Folder(c.Key)
	if overlay, err = copied(t.Files, f.Folder, to); err != nil {
		return nil, nil, err
	}
	file := path.Join(to, "values.yaml")
	text, ok := overlay[file]
	if !ok {
		return nil, nil, fmt.Errorf("the template %s has no values.yaml", f.Folder)
	}
	text = set(text, ClusterName, c.Key.Name)
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		text = set(text, name, c.Values[name])
	}
	overlay[file] = text
	included, err = t.include(overlay, f, c.Key.Namespace, path.Join(to, "kustomization.yaml"))
	return overlay, included, err
}

// check returns why f cannot be made with values.
func (t Template) check(f Flavor, values map[string]string) error {
	if missing := f.missing(values); len(missing) > 0 {
		return fmt.Errorf("flavor %s of provider %s needs a value for %s: give --set %s=VALUE", f.Name, t.Provider, strings.Join(missing, ", "), missing[0])
	}
	known, err := t.Variables(f)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := known[name]; !ok {
			return fmt.Errorf("flavor %s of provider %s has no variable %s: there are %s", f.Name, t.Provider, name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// missing returns those of the required variables that values do not have.
func (f Flavor) missing(values map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(f.Required), func(name string) bool { return values[name] != "" })
}

// outside matches a line of an overlay that names a folder elsewhere in the fleet.
var outside = regexp.MustCompile(`(?m)^ *- \.\./\.\./\.\./(\S+)$`)

// include moves the kustomization into namespace, and returns the folders that it names. A
// folder of the example's namespace is one of this namespace.
func (t Template) include(overlay Files, f Flavor, namespace, file string) (map[string]Files, error) {
	text := overlay[file]
	theirs := path.Base(path.Dir(f.Folder))
	text = strings.Replace(text, "\nnamespace: "+theirs+"\n", "\nnamespace: "+scalar(namespace, "")+"\n", 1)
	out := make(map[string]Files)
	for _, m := range outside.FindAllStringSubmatch(text, -1) {
		from, to := m[1], m[1]
		if path.Base(from) == theirs {
			to = path.Join(path.Dir(from), namespace)
			text = strings.Replace(text, m[0], strings.TrimSuffix(m[0], from)+to, 1)
		}
		files, err := copied(t.Files, from, to)
		if err != nil {
			return nil, err
		}
		out[to] = files
	}
	overlay[file] = text
	for _, folder := range f.Also {
		files, err := copied(t.Files, folder, folder)
		if err != nil {
			return nil, err
		}
		out[folder] = files
	}
	return out, nil
}

// Variables returns what f has, with the values in the example; empty where that has none.
func (t Template) Variables(f Flavor) (map[string]string, error) {
	t = t.For(f)
	overlay, err := copied(t.Files, f.Folder, "overlay")
	if err != nil {
		return nil, err
	}
	included, err := t.include(overlay, f, path.Base(path.Dir(f.Folder)), "overlay/kustomization.yaml")
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for _, files := range append(slices.Collect(maps.Values(included)), overlay) {
		for _, text := range files {
			for name, value := range variablesOf(text) {
				out[name] = max(out[name], value) // the same wherever it is, or none
			}
		}
	}
	shared, err := t.Shared()
	if err != nil {
		return nil, err
	}
	own := settingsOf(overlay["overlay/values.yaml"])
	for name := range out {
		if value, ok := shared[name]; ok {
			out[name] = value
		}
		if value, ok := own[name]; ok {
			out[name] = unquoted(value)
		}
	}
	for _, name := range f.Required {
		out[name] = ""
	}
	delete(out, ClusterName)
	return out, nil
}

// copied returns the files below the folder from, as if they were below to.
func copied(tree fs.FS, from, to string) (Files, error) {
	out := make(Files)
	err := fs.WalkDir(tree, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		out[path.Join(to, strings.TrimPrefix(name, from))] = string(text)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the template has no folder %s", from)
	}
	return out, err
}
