// Package contexts keeps the contexts of a person in a file, as kubectl keeps those of
// clusters: each is a fleet, with the flags that lead to it. No context holds a secret, only
// names of files with secrets.
//
// What it guarantees:
//
//   - A file is replaced as a whole, or not at all.
//   - A file that cannot be understood is refused, and never written over.
//
// For example:
//
//	name, err := contexts.File(os.Getenv)
//	known, err := contexts.Read(name)
//	known.Set(contexts.Context{Name: "prod", Flags: contexts.Flags{"source": {"https://git.example.com/fleet.git"}}})
//	err = known.Write(name)
package contexts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/sources/files"
)

// Flags are values of flags by name, without the dashes.
type Flags map[string][]string

// A Context is a fleet, by the flags that lead to it.
type Context struct {
	Name  string `json:"name"`
	Flags Flags  `json:"flags"`
}

// Source is what the context leads to; empty: it does not say.
func (c Context) Source() string { return strings.Join(c.Flags["source"], " ") }

// Contexts are those of one file.
type Contexts struct {
	Current string    // the one that counts where nothing else is said; empty: none
	List    []Context // sorted by name
}

// document is the file.
type document struct {
	APIVersion     string    `json:"apiVersion"`
	Kind           string    `json:"kind"`
	CurrentContext string    `json:"currentContext,omitempty"`
	Contexts       []Context `json:"contexts"`
}

const (
	apiVersion = "fairlead.dev/v1alpha1"
	kind       = "Config"
)

// File returns the name of the file: fairlead/config.yaml in $XDG_CONFIG_HOME, which is
// ~/.config where it is not set. getenv returns the value of an environment variable.
func File(getenv func(string) string) (string, error) {
	folder := getenv("XDG_CONFIG_HOME")
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cannot find the folder of your configuration, set XDG_CONFIG_HOME: %w", err)
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "fairlead", "config.yaml"), nil
}

// Read returns the contexts in the file called name: none where there is no file.
func Read(name string) (Contexts, error) {
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Contexts{}, nil
	}
	if err != nil {
		return Contexts{}, fmt.Errorf("cannot read your contexts: %w", err)
	}
	var d document
	if err := documents.UnmarshalStrict(content, &d, documents.DefaultLimits()); err != nil {
		return Contexts{}, fleet.Errorf(fleet.Invalid, "read your contexts", "%s: %s: fix it, or remove it", name, documents.OneLine(err))
	}
	if d.APIVersion != apiVersion || d.Kind != kind {
		return Contexts{}, fleet.Errorf(fleet.Invalid, "read your contexts", "%s is a %s of %s: it has to be a %s of %s", name, d.Kind, d.APIVersion, kind, apiVersion)
	}
	c := Contexts{Current: d.CurrentContext}
	for _, one := range d.Contexts {
		if _, twice := c.Find(one.Name); twice || one.Name == "" {
			return Contexts{}, fleet.Errorf(fleet.Invalid, "read your contexts", "%s: contexts: the name %q is empty or there twice", name, one.Name)
		}
		c.Set(one)
	}
	return c, nil
}

// Write makes c the content of the file called name, which only its owner may read.
func (c Contexts) Write(name string) error {
	b, err := yaml.Marshal(document{APIVersion: apiVersion, Kind: kind, CurrentContext: c.Current, Contexts: append([]Context{}, c.List...)})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("cannot write your contexts: %w", err)
	}
	if err := files.ReplaceFile(name, b, 0o600); err != nil {
		return fmt.Errorf("cannot write your contexts: %w", err)
	}
	return nil
}

// Find returns the context called name, and whether there is one.
func (c Contexts) Find(name string) (Context, bool) {
	i := slices.IndexFunc(c.List, func(o Context) bool { return o.Name == name })
	if i < 0 {
		return Context{}, false
	}
	return c.List[i], true
}

// Known returns the context called name; the error says which there are.
func (c Contexts) Known(name string) (Context, error) {
	if found, ok := c.Find(name); ok {
		return found, nil
	}
	names := make([]string, len(c.List))
	for i, o := range c.List {
		names[i] = o.Name
	}
	if len(names) == 0 {
		return Context{}, fleet.Errorf(fleet.NotFound, "find the context "+name, "there are no contexts yet. Create it with 'fairlead context set %s --source URL'", name)
	}
	return Context{}, fleet.Errorf(fleet.NotFound, "find the context "+name, "there are %s", strings.Join(names, ", "))
}

// Set adds one, or replaces the context with its name.
func (c *Contexts) Set(one Context) {
	i, found := slices.BinarySearchFunc(c.List, one.Name, func(o Context, name string) int { return strings.Compare(o.Name, name) })
	if found {
		c.List[i] = one
		return
	}
	c.List = slices.Insert(c.List, i, one)
}

// Delete removes the context called name. If it is the current one, there is none
// afterwards.
func (c *Contexts) Delete(name string) {
	c.List = slices.DeleteFunc(c.List, func(o Context) bool { return o.Name == name })
	if c.Current == name {
		c.Current = ""
	}
}
