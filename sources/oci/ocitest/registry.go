package ocitest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// A Registry is one in memory. It speaks the part of the distribution specification that
// pushes and pulls, and no referrers.
type Registry struct {
	URL string

	mu        sync.Mutex
	blobs     map[string][]byte
	manifests map[string][]byte // by repository@digest
	types     map[string]string // likewise
	tags      map[string]string // repository:tag to digest
	requests  []string
	fault     func(w http.ResponseWriter, r *http.Request) bool
}

// New starts a registry without TLS, which ends with the test.
func New(t T) *Registry {
	r := &Registry{blobs: map[string][]byte{}, manifests: map[string][]byte{}, types: map[string]string{}, tags: map[string]string{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.URL = s.URL
	return r
}

// Repository returns the one of that name.
func (r *Registry) Repository(name string) Repository { return Repository{r.URL, name} }

// Fault has each request answered by f where that returns true; nil ends that.
func (r *Registry) Fault(f func(w http.ResponseWriter, r *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = f
}

// Requests returns what was asked for since the last call, "METHOD PATH" each.
func (r *Registry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.requests
	r.requests = nil
	return out
}

// Move makes tag of a repository that of another digest.
func (r *Registry) Move(repository, tag, digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags[repository+":"+tag] = digest
}

// Forget removes a manifest.
func (r *Registry) Forget(repository, digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.manifests, repository+"@"+digest)
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, req.Method+" "+req.URL.Path)
	if r.fault != nil && r.fault(w, req) {
		return
	}
	path := strings.TrimPrefix(req.URL.Path, "/v2/")
	for _, part := range []struct {
		name  string
		serve func(w http.ResponseWriter, req *http.Request, repository, rest string)
	}{{"/manifests/", r.serveManifest}, {"/blobs/", r.serveBlob}, {"/tags/list", r.serveTags}} {
		if i := strings.LastIndex(path, part.name); i > 0 {
			part.serve(w, req, path[:i], path[i+len(part.name):])
			return
		}
	}
	http.NotFound(w, req)
}

func (r *Registry) serveManifest(w http.ResponseWriter, req *http.Request, repository, ref string) {
	if req.Method == http.MethodPut {
		data, _ := io.ReadAll(req.Body)
		d := digest(data)
		r.manifests[repository+"@"+d], r.types[repository+"@"+d] = data, req.Header.Get("Content-Type")
		if !strings.HasPrefix(ref, "sha256:") {
			r.tags[repository+":"+ref] = d
		}
		w.WriteHeader(http.StatusCreated)
		return
	}
	d := ref
	if !strings.HasPrefix(ref, "sha256:") {
		d = r.tags[repository+":"+ref]
	}
	data, ok := r.manifests[repository+"@"+d]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", r.types[repository+"@"+d])
	w.Header().Set("Docker-Content-Digest", d)
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if req.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

func (r *Registry) serveBlob(w http.ResponseWriter, req *http.Request, repository, rest string) {
	switch req.Method {
	case http.MethodPost:
		w.Header().Set("Location", "/v2/"+repository+"/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
	case http.MethodPut:
		data, _ := io.ReadAll(req.Body)
		r.blobs[req.URL.Query().Get("digest")] = data
		w.WriteHeader(http.StatusCreated)
	default:
		data, ok := r.blobs[rest]
		if !ok {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data)
	}
}

func (r *Registry) serveTags(w http.ResponseWriter, _ *http.Request, repository, _ string) {
	var tags []string
	for _, name := range slices.Sorted(maps.Keys(r.tags)) {
		if tag, ok := strings.CutPrefix(name, repository+":"); ok {
			tags = append(tags, `"`+tag+`"`)
		}
	}
	fmt.Fprintf(w, `{"name":%q,"tags":[%s]}`, repository, strings.Join(tags, ","))
}

// Damage replaces what is served as a blob.
func (r *Registry) Damage(digest string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[digest] = data
}
