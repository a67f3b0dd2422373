//go:build linux

package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/test/run/needs"
	"fairlead.dev/test/run/ports"
)

// A Server is a Gitea with one user, who may do everything.
type Server struct {
	URL        string // http://127.0.0.1:port
	SSH        string // ssh://git@127.0.0.1:port
	KnownHosts []byte
	User       string
	Password   string // of User in the browser
	Token      string

	t   testing.TB
	dir string
}

// Start returns a Gitea that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	built, err := Dir()
	if err != nil {
		t.Skip(err)
	}
	if _, err := needs.Stat(filepath.Join(built, "gitea")); err != nil {
		t.Skip("Gitea is not built: run make gitea")
	}
	// It refuses to run as root, and who it runs as need not see the cache.
	dir, err := os.MkdirTemp("", "gitea-") //nolint:usetesting // its folder has to be of another user, who may go there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	web, shell := freePort(t), freePort(t)
	s := &Server{URL: "http://127.0.0.1:" + web, SSH: "ssh://git@127.0.0.1:" + shell, User: "ann", Password: "pass-of-ann", t: t, dir: dir}
	s.install(built, dir, web, shell)
	log := &bytes.Buffer{}
	run := command(dir, "web")
	run.Stdout, run.Stderr = log, log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() {
		_ = run.Process.Kill()
		if err := <-ended; err == nil {
			t.Error("Gitea ended before it was killed")
		}
	})
	for s.Try(http.MethodGet, "/version", nil, nil) != nil {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Gitea ended: %v\n%s", err, log)
		case <-t.Context().Done():
			t.Fatal("Gitea did not start")
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.admin("user", "create", "--admin", "--username", s.User, "--password", s.Password, "--email", "ann@example.com", "--must-change-password=false")
	s.Token = s.TokenOf(s.User)
	s.KnownHosts = hostKey(t, shell)
	return s
}

// TokenOf returns a token of a user.
func (s *Server) TokenOf(user string) string {
	s.t.Helper()
	return s.admin("user", "generate-access-token", "--username", user, "--token-name", "t", "--scopes", "all", "--raw")
}

// admin runs a command of an administrator, and returns the last line of what it says.
func (s *Server) admin(args ...string) string {
	s.t.Helper()
	out, err := command(s.dir, append([]string{"admin"}, args...)...).Output()
	if err != nil {
		s.t.Fatalf("gitea admin %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// install puts all that Gitea needs into dir.
func (s *Server) install(built, dir, web, shell string) {
	s.t.Helper()
	for _, part := range []string{"templates", "options", "public"} {
		from := filepath.Join(built, "src", part)
		if _, err := os.Stat(from); err != nil {
			continue // it is built without a front end
		}
		if err := os.CopyFS(filepath.Join(dir, "static", part), os.DirFS(from)); err != nil {
			s.t.Fatal(err)
		}
	}
	program, err := os.ReadFile(filepath.Join(built, "gitea"))
	if err != nil {
		s.t.Fatal(err)
	}
	config := fmt.Sprintf(`RUN_USER = %s
WORK_PATH = %[2]s/data
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]s
ROOT_URL = %[4]s/
STATIC_ROOT_PATH = %[2]s/static
START_SSH_SERVER = true
BUILTIN_SSH_SERVER_USER = git
SSH_LISTEN_HOST = 127.0.0.1
SSH_LISTEN_PORT = %[5]s
SSH_PORT = %[5]s
[database]
DB_TYPE = sqlite3
PATH = %[2]s/data/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
ALLOWED_HOST_LIST = loopback
[webhook]
ALLOWED_HOST_LIST = loopback
[indexer]
ISSUE_INDEXER_TYPE = db
`, who(), dir, web, s.URL, shell)
	for name, content := range map[string][]byte{"gitea": program, "app.ini": []byte(config)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range []string{"", "app.ini", "data"} {
		if err := os.Chown(filepath.Join(dir, name), nobody, nobody); err != nil {
			s.t.Fatal(err)
		}
	}
}

// nobody is the user that Gitea runs as where the test is root's.
const nobody = 65534

func who() string {
	if os.Geteuid() == 0 {
		return "nobody"
	}
	return os.Getenv("USER")
}

func command(dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), filepath.Join(dir, "gitea"), append([]string{"--config", filepath.Join(dir, "app.ini")}, args...)...)
	c.Dir = dir
	c.Env = []string{"HOME=" + filepath.Join(dir, "data"), "PATH=" + os.Getenv("PATH"), "USER=" + who()}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return c
}

// Call asks the API for something that has to work, as the user.
func (s *Server) Call(method, path string, in, out any) {
	s.t.Helper()
	if err := s.Try(method, path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

// Try asks the API for something that need not work, as the user.
func (s *Server) Try(method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.Token != "" {
		req.Header.Set("Authorization", "token "+s.Token)
	}
	res, err := (&http.Client{Timeout: 5 * time.Minute}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	case out != nil:
		return json.Unmarshal(answer, out)
	}
	return nil
}

func freePort(t testing.TB) string {
	t.Helper()
	address, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// hostKey returns the line of known_hosts for the SSH server at port.
func hostKey(t testing.TB, port string) []byte {
	t.Helper()
	var line []byte
	_, err := ssh.Dial("tcp", "127.0.0.1:"+port, &ssh.ClientConfig{User: "git", HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
		line = fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, ssh.MarshalAuthorizedKey(key))
		return nil
	}})
	if line == nil {
		t.Fatal("the SSH server shows no key: ", err)
	}
	return line
}
