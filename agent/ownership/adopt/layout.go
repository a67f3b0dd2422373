package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/sops"
	"fairlead.dev/sources/files"
)

// A document is one object of a file.
type document struct {
	file   string // name in the folder
	object Object
}

// pausedLine keeps agents from acting on a cluster whose adoption is not finished.
const pausedLine = "  paused: true # held until fairlead adopt is through\n"

// clusterFile is the file of the Cluster.
const clusterFile = "cluster.yaml"

// overlayOf returns the folder of a cluster.
func overlayOf(k fleet.Key) string { return path.Join("clusters", k.Namespace, k.Name) }

func libraryOf(class fleet.Key) string {
	return path.Join("clusters", class.Namespace, "classes", class.Name)
}

// layout returns the documents for the folder of the cluster, with the Secrets of inGit.
func (a *Adoption) layout(f *existing) []document {
	var out []document
	add := func(file string, o Object) {
		if !slices.ContainsFunc(out, func(d document) bool { return d.object.GetKind() == o.GetKind() && keyOf(d.object) == keyOf(o) }) {
			out = append(out, document{file, clean(o)})
		}
	}
	add(clusterFile, f.cluster)
	keep := f.topology && a.o.Classes != ExpandClasses
	if f.topology && !keep {
		unstructured.RemoveNestedField(out[0].object.Object, "spec", "topology")
	}
	if f.cluster.GetAnnotations()[adoptedBy] != "" && f.cluster.GetAnnotations()[pausedBefore] == "" {
		unstructured.RemoveNestedField(out[0].object.Object, "spec", "paused")
	}
	if !keep && f.infra != nil {
		add(clusterFile, f.infra)
	}
	for _, p := range f.pools {
		if keep && p.byTopology {
			continue
		}
		file := p.object.GetName() + ".yaml"
		if p.controller {
			file = "control-plane.yaml"
		}
		add(file, p.object)
		for _, t := range p.templates {
			add(file, t)
		}
	}
	for _, o := range f.health {
		if _, owned := o.GetLabels()[clusterv1.ClusterTopologyOwnedLabel]; !keep || !owned {
			add("health-checks.yaml", o)
		}
	}
	for _, o := range f.companions {
		file := "companions.yaml"
		if o.GroupVersionKind().Group == metal3Hosts {
			file = "hosts.yaml"
		}
		add(file, o)
	}
	for _, o := range f.credentials {
		if a.inGit(f, o) {
			file := "secret-" + o.GetName() + ".yaml"
			if o.GetNamespace() != f.key.Namespace {
				file = "secret-" + o.GetNamespace() + "." + o.GetName() + ".yaml"
			}
			add(file, o)
		}
	}
	return out
}

// inGit reports whether the Secret s goes to Git. All Secrets do where people want that. A
// Secret that user data takes values from always does, since rendering has to find it.
func (a *Adoption) inGit(f *existing, s Object) bool {
	if a.o.Credentials == InGit {
		return true
	}
	objects := slices.Clone(f.classes)
	for _, p := range f.pools {
		objects = append(append(objects, p.object), p.templates...)
	}
	return slices.ContainsFunc(objects, func(o Object) bool { return slices.Contains(bootSecrets(o), keyOf(s)) })
}

// classLayout returns the documents for the folder of the class.
func (f *existing) classLayout() []document {
	var out []document
	for _, o := range f.classes {
		file := "templates.yaml"
		if o.GetKind() == "ClusterClass" {
			file = "class.yaml"
		}
		out = append(out, document{file, clean(o)})
	}
	return out
}

// rendered returns docs in the form that a decoder reads.
func rendered(folder string, docs []document) ([]render.Object, error) {
	var out []render.Object
	for _, d := range docs {
		data, err := yaml.Marshal(d.object.Object)
		if err != nil {
			return nil, fmt.Errorf("cannot write %s %s as YAML: %w", d.object.GetKind(), keyOf(d.object), err)
		}
		out = append(out, render.Object{File: path.Join(folder, d.file), YAML: data})
	}
	return out, nil
}

// files returns the content of a folder with docs, by file name. Secrets are encrypted.
// With pause the Cluster gets spec.paused.
func (a *Adoption) files(docs []document, pause bool) (map[string][]byte, error) {
	out := make(map[string][]byte)
	var order []string
	for _, d := range docs {
		data, err := encode(d.object)
		if err != nil {
			return nil, err
		}
		switch d.object.GetKind() {
		case "Secret":
			if data, err = sops.EncryptSecret(data, a.o.Recipients, a.o.Now()); err != nil {
				return nil, err
			}
		case "Cluster":
			if p, _, _ := unstructured.NestedBool(d.object.Object, "spec", "paused"); pause && !p {
				data = bytes.Replace(data, []byte("\nspec:\n"), []byte("\nspec:\n"+pausedLine), 1)
			}
		}
		if before, ok := out[d.file]; ok {
			data = slices.Concat(before, []byte("---\n"), data)
		} else {
			order = append(order, d.file)
		}
		out[d.file] = data
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for _, file := range order {
		text += "  - " + file + "\n"
	}
	out["kustomization.yaml"] = []byte(text)
	return out, nil
}

// put writes contents as the files of a new folder: all of them, or none.
func put(folder string, contents map[string][]byte) error {
	parent := filepath.Dir(folder)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	// An overlay's name does not begin with a dot.
	draft, err := os.MkdirTemp(parent, "."+filepath.Base(folder)+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	if err := os.Chmod(draft, 0o755); err != nil { //nolint:gosec // a folder of a repository
		return err
	}
	for name, data := range contents {
		if err := os.WriteFile(filepath.Join(draft, name), data, 0o644); err != nil { //nolint:gosec // a file of a repository
			return err
		}
	}
	return os.Rename(draft, folder)
}

// setPaused writes pausedLine into the Cluster in file, or removes it.
func setPaused(file string, pause bool) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	is := bytes.Contains(data, []byte(pausedLine))
	if is == pause || pause && bytes.Contains(data, []byte("\n  paused: true\n")) {
		return nil
	}
	if pause {
		at := bytes.Index(data, []byte("kind: Cluster\n"))
		if at < 0 || !bytes.Contains(data[at:], []byte("\nspec:\n")) {
			return fmt.Errorf("cannot hold the cluster: %s is not as fairlead adopt wrote it (write spec.paused: true into the Cluster, commit, and run this again)", file)
		}
		data = slices.Concat(data[:at], bytes.Replace(data[at:], []byte("\nspec:\n"), []byte("\nspec:\n"+pausedLine), 1))
	} else {
		data = bytes.Replace(data, []byte(pausedLine), nil, 1)
	}
	return files.ReplaceFile(file, data, 0o644)
}

// isPaused reports whether file has pausedLine. It is false where there is no such file.
func isPaused(file string) (bool, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.Contains(string(data), pausedLine), err
}
