// Package gitserver runs the real git as a server on loopback: smart HTTP by git
// http-backend and, for tests, ssh by sshd. The demo serves its fleet repository with it,
// and tests make it misbehave. It is not secure enough for a network.
//
// Agents ask for the refs several times a second, and each answer of git needs three
// processes. So git's answer is sent again while no ref has changed.
package gitserver

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Options change how a server behaves.
type Options struct {
	// Username and Password, if set, are required of every request. Without Username any
	// user name is accepted.
	Username, Password string

	// Before, if set, is called with each request first. If it returns true it has
	// answered, and git does not see the request.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// After, if set, is called with git's answer to a push instead of sending it. The push
	// has happened then. It may send something else, or nothing.
	After func(w http.ResponseWriter, r *http.Request)
}

// A Server serves the repositories in one folder over smart HTTP.
type Server struct {
	root    string
	options Options
	backend cgi.Handler
	refs    listings
}

var _ http.Handler = (*Server)(nil)

// New returns a server of the bare repositories in root.
func New(root string, o Options) (*Server, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find git: %w", err)
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	return &Server{root: root, options: o, backend: cgi.Handler{
		Path:       filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:        []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=fairlead", "LC_ALL=C"},
		InheritEnv: []string{"PATH", "HOME"},
		Stderr:     io.Discard,
		Logger:     log.New(io.Discard, "", 0), // a client that hangs up is no news
	}}, nil
}

// Init makes a bare repository called name ("fleet.git") whose default branch
// is main, and returns its path. It allows pushes, and fetches of any commit.
func (s *Server) Init(name string) (string, error) { return Init(s.root, name) }

// Init makes a bare repository in root as Server.Init does.
func Init(root, name string) (string, error) {
	path := filepath.Join(root, name)
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", path},
		{"-C", path, "config", "http.receivepack", "true"},
		{"-C", path, "config", "uploadpack.allowAnySHA1InWant", "true"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot make repository %s: git %s: %w: %s", path, args[0], err, out)
		}
	}
	return path, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.options.Before != nil && s.options.Before(w, r) {
		return
	}
	if !s.allowed(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "wrong or missing credentials", http.StatusUnauthorized)
		return
	}
	body, err := spool(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer body.Close()
	backend := s.backend
	if p := r.Header.Get("Git-Protocol"); p != "" {
		backend.Env = append(backend.Env[:len(backend.Env):len(backend.Env)], "GIT_PROTOCOL="+p)
	}
	if s.options.After != nil && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
		backend.ServeHTTP(&answer{header: http.Header{}}, r)
		s.options.After(w, r)
		return
	}
	if repository, request, ok := asksForRefs(r); ok {
		s.refs.serve(w, r, filepath.Join(s.root, filepath.FromSlash(repository)), request, &backend)
		return
	}
	backend.ServeHTTP(w, r)
}

func (s *Server) allowed(r *http.Request) bool {
	if s.options.Password == "" {
		return true
	}
	user, password, _ := r.BasicAuth()
	return (s.options.Username == "" || user == s.options.Username) &&
		subtle.ConstantTimeCompare([]byte(password), []byte(s.options.Password)) == 1
}

// spool reads a body of unknown length to get its length: CGI has no chunks. The caller
// closes the result.
func spool(r *http.Request) (io.Closer, error) {
	if len(r.TransferEncoding) == 0 {
		return r.Body, nil
	}
	f, err := os.CreateTemp("", "gitserver-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	n, err := io.Copy(f, r.Body)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	r.Body, r.ContentLength, r.TransferEncoding = f, n, nil
	return f, nil
}
