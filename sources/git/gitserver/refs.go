package gitserver

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// listings are answers of git that depend on the refs of a repository alone.
type listings struct {
	mu   sync.Mutex
	last map[string]listing // by repository and request
}

// A listing is git's answer at a state of the refs.
type listing struct {
	state  string
	answer *answer
}

// asksForRefs tells whether the answer to a request depends on the refs alone, and returns
// the repository's path and all of the request that git's answer depends on besides.
func asksForRefs(r *http.Request) (repository, request string, ok bool) {
	repository, rest := path.Split(path.Clean(r.URL.Path))
	switch {
	case r.Method == http.MethodGet && rest == "refs" && path.Base(repository) == "info":
		repository = path.Dir(path.Clean(repository))
	case r.Method == http.MethodPost && rest == "git-upload-pack" && r.ContentLength > 0 && r.ContentLength < 4096:
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
		if err != nil || len(body) < 4 || !bytes.HasPrefix(body[4:], []byte("command=ls-refs")) { // after the length of the line
			return "", "", false
		}
		request = string(body)
	default:
		return "", "", false
	}
	return repository, strings.Join([]string{
		repository, rest, r.URL.RawQuery, r.Header.Get("Git-Protocol"), r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"), request,
	}, "\x00"), true
}

// serve answers with what git answered at the same state of the refs, and asks git otherwise.
func (l *listings) serve(w http.ResponseWriter, r *http.Request, repository, request string, git http.Handler) {
	before, err := refs(repository)
	if err != nil {
		git.ServeHTTP(w, r)
		return
	}
	l.mu.Lock()
	last := l.last[request]
	l.mu.Unlock()
	if last.answer == nil || last.state != before {
		last = listing{before, &answer{header: http.Header{}, code: http.StatusOK}}
		git.ServeHTTP(last.answer, r)
		// A push in between may be in the answer, or not.
		if after, err := refs(repository); err == nil && after == before && last.answer.code == http.StatusOK {
			l.mu.Lock()
			if l.last == nil {
				l.last = map[string]listing{}
			}
			l.last[request] = last
			l.mu.Unlock()
		}
	}
	maps.Copy(w.Header(), last.answer.header)
	w.WriteHeader(last.answer.code)
	_, _ = w.Write(last.answer.body.Bytes()) // the client may be gone
}

// refs returns the contents of all files that say which refs a bare repository has, and what
// it allows. It fails for a repository whose refs are in tables, and not in files.
func refs(repository string) (string, error) {
	var state strings.Builder
	add := func(file string) error {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		state.WriteString(file + "\x00" + string(content) + "\x00")
		return nil
	}
	for _, name := range []string{"HEAD", "config"} {
		if err := add(filepath.Join(repository, name)); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(filepath.Join(repository, "reftable")); err == nil {
		return "", errors.ErrUnsupported
	}
	if err := add(filepath.Join(repository, "packed-refs")); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	err := filepath.WalkDir(filepath.Join(repository, "refs"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return add(file)
	})
	return state.String(), err
}

// An answer is an http.ResponseWriter that keeps the answer.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) WriteHeader(code int)        { a.code = code }
