package git

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// A rewriter makes the objects of a new history. Objects that the server has are not written
// again.
type rewriter struct {
	*graph
	editor *editor
	who    object.Signature
}

// rewrite returns the last commit of a new history for h. The newest kept commits stay.
func (w *rewriter) rewrite(h history, kept int) (plumbing.Hash, error) {
	cut := h[kept]
	groups, err := w.lastCommits(cut)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	w.who.When = time.Unix(cut.when, 0).UTC() // keeps its position in time
	var line []branching
	for _, g := range groups {
		tree, err := w.folder(g.files)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		line = append(line, branching{w.copyCommit(g.of.raw, tree), g.files})
	}
	for len(line) > fanIn {
		var above []branching
		for part := range slices.Chunk(line, fanIn) {
			m, err := w.merge(part)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			above = append(above, m)
		}
		line = above
	}
	head, err := w.join(cut.tree, fmt.Sprintf("history: what was before %s, the last commit of each file\n", w.who.When.Format(time.RFC3339)), line)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, c := range slices.Backward(h[:kept]) {
		head = w.copyCommit(c.raw, c.tree, head)
	}
	return head, nil
}

// fanIn is how many commits are merged into one.
const fanIn = 50

// A branching is a commit with all files of its folder.
type branching struct {
	commit plumbing.Hash
	files  map[string]leaf
}

func (w *rewriter) merge(part []branching) (branching, error) {
	m := branching{files: map[string]leaf{}}
	for _, p := range part {
		for path, l := range p.files {
			m.files[path] = l
		}
	}
	tree, err := w.folder(m.files)
	if err != nil {
		return m, err
	}
	m.commit, err = w.join(tree, fmt.Sprintf("history: %d files\n", len(m.files)), part)
	return m, err
}

func (w *rewriter) join(tree plumbing.Hash, message string, parents []branching) (plumbing.Hash, error) {
	c := &object.Commit{Author: w.who, Committer: w.who, Message: message, TreeHash: tree}
	for _, p := range parents {
		c.ParentHashes = append(c.ParentHashes, p.commit)
	}
	return w.editor.encode(c, plumbing.ZeroHash)
}

// copyCommit copies the commit raw, with another folder and other parents, and without its
// signature.
func (w *rewriter) copyCommit(raw []byte, tree plumbing.Hash, parents ...plumbing.Hash) plumbing.Hash {
	headers, message, _ := bytes.Cut(raw, []byte("\n\n"))
	var out bytes.Buffer
	fmt.Fprintf(&out, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&out, "parent %s\n", p)
	}
	for line := range bytes.SplitSeq(headers, []byte("\n")) {
		key, _, _ := bytes.Cut(line, []byte(" "))
		if slices.Contains([]string{"author", "committer", "encoding"}, string(key)) {
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	out.WriteByte('\n')
	out.Write(message)
	return w.editor.put(plumbing.CommitObject, out.Bytes(), plumbing.ZeroHash)
}

// folder makes the folder that contains files, by path.
func (w *rewriter) folder(files map[string]leaf) (plumbing.Hash, error) {
	entries := map[string]object.TreeEntry{}
	below := map[string]map[string]leaf{}
	for path, l := range files {
		dir, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			entries[path] = object.TreeEntry{Name: path, Mode: l.mode, Hash: l.hash}
			continue
		}
		if below[dir] == nil {
			below[dir] = map[string]leaf{}
		}
		below[dir][rest] = l
	}
	for dir, files := range below {
		h, err := w.folder(files)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		entries[dir] = object.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: h}
	}
	return w.editor.writeFolder(entries, plumbing.ZeroHash)
}

// A group is the files that a commit changed last.
type group struct {
	of    *step
	files map[string]leaf
}

// lastCommits returns the commits that last changed the files of from, as git log of a file does,
// the oldest first. It leaves out files whose last commit is not in the graph.
func (w *rewriter) lastCommits(from *step) ([]group, error) {
	order, err := w.order(from)
	if err != nil {
		return nil, err
	}
	all := map[string]leaf{}
	if err := w.differ(from.tree, plumbing.ZeroHash, "", 0, func(path string, l leaf) {
		if l.mode != filemode.Submodule {
			all[path] = l
		}
	}); err != nil {
		return nil, err
	}
	looked := map[plumbing.Hash]map[string]leaf{from.hash: all}
	var out []group
	for _, c := range order {
		files := looked[c.hash]
		delete(looked, c.hash)
		if len(files) == 0 {
			continue
		}
		here, err := w.handToParents(c, files, looked)
		if err != nil {
			return nil, err
		}
		if len(here) > 0 {
			out = append(out, group{c, here})
		}
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(a.of.when, b.of.when) })
	return out, nil
}

// handToParents passes each of the files of c on to the first parent with the same file, and returns
// the files that no parent has.
func (w *rewriter) handToParents(c *step, files map[string]leaf, looked map[plumbing.Hash]map[string]leaf) (map[string]leaf, error) {
	for _, p := range c.parents {
		if w.objects[p] == nil {
			return nil, nil // a parent was not fetched
		}
		parent, err := w.commit(p)
		if err != nil {
			return nil, err
		}
		rest := map[string]leaf{}
		if err := w.differ(c.tree, parent.tree, "", 0, func(path string, _ leaf) {
			if l, ok := files[path]; ok {
				rest[path] = l
			}
		}); err != nil {
			return nil, err
		}
		for path := range rest {
			delete(files, path)
		}
		if before := looked[p]; before == nil {
			looked[p] = files
		} else {
			for path, l := range files {
				before[path] = l
			}
		}
		files = rest
	}
	return files, nil
}

// order returns the ancestors of from, each before its parents.
func (w *rewriter) order(from *step) ([]*step, error) {
	children := map[plumbing.Hash]int{}
	steps := map[plumbing.Hash]*step{from.hash: from}
	for todo := []*step{from}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range c.parents {
			children[p]++
			if steps[p] != nil || w.objects[p] == nil {
				continue
			}
			parent, err := w.commit(p)
			if err != nil {
				return nil, err
			}
			steps[p] = parent
			todo = append(todo, parent)
		}
	}
	var out []*step
	for todo := []*step{from}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		out = append(out, c)
		for _, p := range c.parents {
			if children[p]--; children[p] == 0 && steps[p] != nil {
				todo = append(todo, steps[p])
			}
		}
	}
	return out, nil
}
