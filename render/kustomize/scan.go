package kustomize

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// A scanner walks the kustomizations that an overlay includes, up to the first error.
type scanner struct {
	tree    fs.FS
	overlay string
	limits  Limits
	builtin configuration
	apart   []string // folders that nothing outside of them may include from within

	reads    map[string]bool
	files    map[string][]byte
	includes map[string]bool
	mentions map[string]bool // folders that refused files name
	keyed    map[string]bool // folders of kustomizations whose patches have keyed lists
	kust     string          // the overlay's own kustomization file
	part     bool            // it is a Component

	weights  map[string]weight // weights of folders that are done
	parsed   map[string]int    // numbers of objects in YAML files that are done
	stack    []string          // folders that are being walked
	configs  []fieldSpecs      // configurations in overlays
	feedback feedback
	targets  targets
	quotes   quotes
}

// A weight is what a folder costs each time that it is included.
type weight struct {
	includes, objects int
	bytes             int64
	transforming      int64 // bytes that may be added to each object
	patches           int   // patches that may be tried on each object
	work              work  // work of the patches in included folders
}

// A work is the cost of patches: each looks at all objects of its kustomization, and
// rewrites those that it changes.
type work struct {
	tries int
	bytes int64
}

func (w *weight) add(o weight) {
	w.includes += o.includes
	w.objects += o.objects
	w.bytes += o.bytes
	w.work.tries += o.work.tries
	w.work.bytes += o.work.bytes
}

// total returns the work of the patches of included folders and of the kustomization
// itself.
func (w *weight) total() work {
	return work{w.work.tries + w.patches*w.objects, w.work.bytes + int64(w.patches)*w.bytes}
}

func newScanner(tree fs.FS, overlay string, l Limits, c configuration) *scanner {
	return &scanner{
		tree: tree, overlay: overlay, limits: l, builtin: c,
		reads: map[string]bool{}, files: map[string][]byte{}, includes: map[string]bool{}, mentions: map[string]bool{}, keyed: map[string]bool{},
		weights: map[string]weight{}, parsed: map[string]int{}, quotes: quotes{}, targets: newTargets(),
	}
}

func (s *scanner) run() *fleet.Problem {
	if _, err := s.folder(s.overlay, place{}); err != nil {
		return s.problem(err)
	}
	if s.part {
		return nil
	}
	if err := s.feedback.copies(s); err != nil {
		return s.problem(err)
	}
	s.addConfiguration()
	return nil
}

func (s *scanner) result() *Scan {
	return &Scan{
		Overlay:   s.overlay,
		File:      s.kust,
		Component: s.part,
		Reads:     slices.Sorted(maps.Keys(s.reads)),
		Includes:  slices.Sorted(maps.Keys(s.includes)),
		Mentions:  slices.Sorted(maps.Keys(s.mentions)),
		Lossy:     s.feedback.lossy(),
		Copied:    s.feedback.sources,
		files:     s.files,
		keyed:     slices.Sorted(maps.Keys(s.keyed)),
		quotes:    s.quotes,
	}
}

// problem makes the error of a scan a problem.
func (s *scanner) problem(err error) *fleet.Problem {
	if err == nil {
		return nil
	}
	p := &fleet.Problem{Overlay: s.overlay, File: s.kust, Message: err.Error()}
	if r, ok := errors.AsType[*refusal](err); ok {
		p.Field, p.Message, p.Hint = r.field, r.message, r.hint
		if r.file != "" {
			p.File = r.file
		}
	}
	return p
}

// folder walks the kustomization in dir, which from includes, and returns its weight.
func (s *scanner) folder(dir string, from place) (weight, error) {
	if w, ok := s.weights[dir]; ok {
		return w, nil
	}
	for _, open := range s.stack {
		if open == dir || dir == "." || strings.HasPrefix(open, dir+"/") {
			return weight{}, from.refuse("a kustomization cannot include itself, what includes it, or a folder above either",
				"the kustomizations include each other in a circle: %s", strings.Join(append(s.stack, dir), " → "))
		}
	}
	if len(s.stack) >= s.limits.Depth {
		return weight{}, from.refuse("include fewer levels", "kustomizations include each other more than %d levels deep", s.limits.Depth)
	}
	if len(s.stack) > 0 {
		s.includes[dir] = true
	}
	s.stack = append(s.stack, dir)
	defer func() { s.stack = s.stack[:len(s.stack)-1] }()

	file, data, err := s.kustomizationFile(dir, from)
	if err != nil {
		return weight{}, err
	}
	if dir == s.overlay {
		s.kust = file
	}
	k, err := s.kustomization(place{file: file}, data)
	if err != nil {
		s.mention(dir, data)
		return weight{}, err
	}
	if dir == s.overlay && k.Kind == types.ComponentKind {
		s.part = true
		return weight{}, nil
	}
	if err := kindFits(k, place{file: file}, from); err != nil {
		return weight{}, err
	}
	v := &visit{scanner: s, dir: dir, place: place{file: file}, k: k}
	v.weight.bytes, v.weight.transforming = int64(len(data)), int64(len(data))
	if err := v.run(); err != nil {
		s.mention(dir, data)
		return weight{}, err
	}
	if err := s.put(file, k); err != nil {
		return weight{}, err
	}
	if err := s.within(v.weight, from); err != nil {
		return weight{}, err
	}
	v.weight.work = v.weight.total()
	s.weights[dir] = v.weight
	return v.weight, nil
}

// maxMentions is how many paths of a refused kustomization are read.
const maxMentions = 10_000

// mention records the folders that the text of a refused kustomization in dir names, which
// it may include. A path that does not exist is recorded as read, since it may come. A
// folder apart includes nothing outside.
func (s *scanner) mention(dir string, data []byte) {
	seen, home := map[string]bool{}, s.home(dir)
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n,[]{}'\"", r) }) {
			target := path.Join(dir, word)
			if target == dir || home != "" && s.home(target) != home || !fs.ValidPath(target) || seen[target] || len(seen) == maxMentions {
				continue
			}
			seen[target], s.reads[target] = true, true
			if info, err := fs.Stat(s.tree, target); err == nil && info.IsDir() {
				s.mentions[target] = true
			}
		}
	}
}

// kindFits checks that resources refer to Kustomizations and components to Components.
func kindFits(k *types.Kustomization, at, from place) error {
	component := strings.HasPrefix(from.field, "components")
	switch {
	case component && k.Kind != types.ComponentKind:
		return at.at("kind").refuse("write kind: Component, apiVersion: "+types.ComponentVersion, "it is included as a component of %s and is a %s", from.file, k.Kind)
	case !component && k.Kind == types.ComponentKind:
		return from.refuse("list it under components", "%s is a Component", at.file)
	}
	return nil
}

// kustomizationFile finds and reads the one kustomization file in dir.
func (s *scanner) kustomizationFile(dir string, from place) (string, []byte, error) {
	var found []string
	for _, name := range FileNames() {
		file := path.Join(dir, name)
		s.reads[file] = true
		if info, err := fs.Stat(s.tree, file); err == nil && !info.IsDir() {
			found = append(found, file)
		}
	}
	switch len(found) {
	case 0:
		if module := s.submodule(dir); module != "" {
			return "", nil, from.refuse(pinIt, "the folder %s is in the submodule %s, whose content is not fetched", dir, module)
		}
		return "", nil, from.refuse("add one, or name a file", "the folder %s has no kustomization.yaml", dir)
	case 1:
		data, err := s.read(found[0], place{file: found[0]})
		return found[0], data, err
	}
	return "", nil, place{file: found[0]}.refuse("keep one of them", "the folder has more than one kustomization file: %s", strings.Join(found, ", "))
}

// within checks that w is within the budget.
func (s *scanner) within(w weight, from place) error {
	hint := "split the overlay; check for folders that are included many times"
	switch {
	case w.includes > s.limits.Includes:
		return from.refuse(hint, "the overlay includes more than %d files and folders", s.limits.Includes)
	case w.objects > s.limits.Objects:
		return from.refuse(hint, "the overlay has more than %d objects", s.limits.Objects)
	case w.transforming*int64(w.objects) > s.limits.Bytes:
		return from.refuse("patch fewer objects at once", "the kustomization and its patches have %d bytes for each of %d objects, together more than %d", w.transforming, w.objects, s.limits.Bytes)
	case w.total().tries > s.limits.Tries:
		return from.refuse("patch fewer objects at once, or join patches", "the overlay has %d patches for each of %d objects, more than kustomize gets through in time", w.patches, w.objects)
	case w.total().bytes > 4*s.limits.Bytes:
		return from.refuse("patch smaller objects, or join patches", "the overlay has %d patches on files of %d bytes, more than kustomize gets through in time", w.patches, w.bytes)
	case w.bytes > s.limits.Bytes:
		return from.refuse(hint, "the overlay reads more than %d bytes", s.limits.Bytes)
	}
	return nil
}

// read returns the content of a file, within the budget for one.
func (s *scanner) read(file string, at place) ([]byte, error) {
	s.reads[file] = true
	data, err := ReadFile(s.tree, file, s.limits.File)
	if err != nil {
		return nil, refusalOf(at, file, err)
	}
	return data, nil
}

// refusalOf adds to err, which is about file, a field: in the file itself for its content,
// else the reference to it.
func refusalOf(at place, file string, err error) error {
	r, ok := errors.AsType[*documents.Refusal](err)
	if !ok {
		return at.refuse("", "cannot read %s: %v", file, err)
	}
	return place{file: file}.refuse(r.Hint, "%s", r.Error())
}

// ReadFile reads a file of at most l.Bytes bytes. For a larger file the error is a
// *documents.Refusal.
func ReadFile(tree fs.FS, file string, l documents.Limits) ([]byte, error) {
	f, err := tree.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > int64(l.Bytes) {
		return nil, documents.TooLarge(info.Size(), l)
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(l.Bytes)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > l.Bytes {
		return nil, documents.TooLarge(int64(len(data)), l)
	}
	return data, nil
}
