package hostile

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
)

// A repository is what a server of Git answers with, in version 0 of the protocol unless
// refs says otherwise. Source: git, gitprotocol-pack(5), -http(5) and -v2(5).
type repository struct {
	tip  id                // of main
	pack func(w io.Writer) // what it gives for tip
	refs func(w io.Writer) // the whole list of refs, in place of one with main in it
	all  func(w io.Writer) // the whole answer to who fetches, in place of pack
}

// line returns a pkt-line.
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

const (
	flush     = "0000"
	service   = "001e# service=git-upload-pack\n" + flush
	version2  = "000eversion 2\n"
	greeting2 = version2 + "000cls-refs\n" + flush
)

// ServeHTTP implements http.Handler.
func (r *repository) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case strings.HasSuffix(req.URL.Path, "/info/refs"):
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		if r.refs != nil {
			r.refs(w)
			return
		}
		_, _ = io.WriteString(w, service+line(r.tip.String()+" HEAD\x00symref=HEAD:refs/heads/main ofs-delta agent=x\n")+line(r.tip.String()+" refs/heads/main\n")+flush)
	case strings.HasSuffix(req.URL.Path, "/git-upload-pack"):
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		if r.all != nil {
			r.all(w)
			return
		}
		_, _ = io.WriteString(w, line("NAK\n"))
		r.pack(w)
	default:
		http.NotFound(w, req)
	}
}

// good returns a repository with one file.
func good(text string) *repository {
	var p pile
	tip := p.commit(entry("100644", "a", p.add(packBlob, text)))
	return &repository{tip: tip, pack: p.pack()}
}

// walked comes to all of tree, as a fleet does to what its overlays name, and returns the
// first of what is kept back or cannot be read.
func walked(tree fs.FS) error {
	judged, _ := tree.(sources.Judged)
	return fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && judged != nil:
			for _, b := range judged.Bad(path) {
				return fmt.Errorf("%q in %s: %w", b.Name, b.Folder, b.Err)
			}
		case d.Type() == 0:
			_, err := fs.ReadFile(tree, path)
			return err
		}
		return nil
	})
}

// followed has a repository followed that is good, then bad, where file is read, if it has
// a name, and then good again. The problem is what the bad one gives; all else goes on if
// the revision before stays readable meanwhile and the one after is followed.
func followed(t *testing.T, bad *repository, file string) (problem error, others bool) {
	t.Helper()
	var now atomic.Pointer[repository]
	now.Store(good("before"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	defer s.Close()
	r, err := git.New(git.Options{URL: s.URL + "/fleet.git", Ref: "main"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := func(file string) (fs.FS, string, error) {
		rev, err := r.Resolve(t.Context())
		if err != nil {
			return nil, "", err
		}
		tree, err := r.Fetch(t.Context(), rev)
		if err != nil {
			return nil, "", err
		}
		if file == "" {
			return tree, "", walked(tree)
		}
		b, err := fs.ReadFile(tree, file)
		return tree, string(b), err
	}
	before, text, err := read("a")
	if err != nil || text != "before" {
		t.Fatalf("the good one has %q, %v", text, err)
	}
	now.Store(bad)
	_, _, problem = read(file)
	still, errStill := fs.ReadFile(before, "a")
	now.Store(good("after"))
	_, text, errAfter := read("a")
	return problem, errStill == nil && string(still) == "before" && errAfter == nil && text == "after"
}
