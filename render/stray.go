package render

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/kustomize"
)

// A stray is a file of a folder without a kustomization that seems to be meant as an
// overlay. Flux and Argo CD take folders of manifests without a kustomization.
type stray struct {
	file     string // its name; empty: there is none
	misspelt bool   // it is a kustomization with a name that kustomize does not know
}

// maxStrays is how many files of a folder are read for a Cluster.
const maxStrays = 50

var (
	kustomizationName = regexp.MustCompile(`(?i)^(kustomization|kustomize)(\.ya?ml)?$`)
	kustomizationText = regexp.MustCompile(`(?m)^(resources|components|patches|bases):`)
	clusterKind       = regexp.MustCompile(`(?m)^kind: *["']?Cluster["']? *(#.*)?\r?$`)
	clusterVersion    = regexp.MustCompile(`(?m)^apiVersion: *["']?cluster\.x-k8s\.io/`)
)

// stray returns the stray among the files of a folder. It reads them before substitution.
func (w *walk) stray(dir string, files []string) stray {
	slices.Sort(files)
	read := 0
	for _, name := range files {
		named := kustomizationName.MatchString(name)
		if ext := path.Ext(name); !named && ext != ".yaml" && ext != ".yml" || read == maxStrays {
			continue
		}
		read++
		data, err := kustomize.ReadFile(w.tree.Tree, path.Join(dir, name), documents.DefaultLimits())
		switch {
		case err != nil:
		case named && kustomizationText.Match(data):
			return stray{name, true}
		case clusterKind.Match(data) && clusterVersion.Match(data):
			return stray{name, false}
		}
	}
	return stray{}
}

// problem returns the warning of s in dir.
func (s stray) problem(dir string) fleet.Problem {
	p := fleet.Problem{
		Overlay: dir, File: path.Join(dir, s.file),
		Message: fmt.Sprintf("the folder %s has a Cluster and no kustomization.yaml, so it is not part of the fleet", dir),
		Hint:    "add a kustomization.yaml, or exclude the folder in fleet.yaml under spec.clusters.exclude",
	}
	if s.misspelt {
		p.Message = fmt.Sprintf("kustomize does not know the name %s, so the folder %s is not part of the fleet", s.file, dir)
		p.Hint = "rename the file to kustomization.yaml"
	}
	return p
}

// strayWarnings returns the warnings of strays. A folder with files that an overlay reads is
// part of it. What a refused overlay would read is not known, so that folders below one are
// left out.
func (b *Builder) strayWarnings(strays []fleet.Problem) []fleet.Problem {
	read := map[string]bool{}
	var unread []string
	for _, o := range b.built {
		for _, name := range o.reads {
			read[path.Dir(name)] = true
		}
		if o.scanFailed {
			unread = append(unread, o.dir+"/")
		}
	}
	strays = slices.DeleteFunc(slices.Clone(strays), func(p fleet.Problem) bool {
		return read[p.Overlay] || slices.ContainsFunc(unread, func(dir string) bool { return strings.HasPrefix(p.File, dir) })
	})
	return bounded(strays)
}
