package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"fairlead.dev/test/lab/kube/binaries"
)

// programs are the files of what runs.
type programs struct{ etcd, api string }

func find() (programs, error) { return findVersion(Version()) }

// Version returns the minor version of Kubernetes that servers have unless another is asked for, like 1.36.
func Version() string {
	b, err := binaries.Find(apiServer)
	if err != nil {
		panic(err) // the list has it
	}
	return b.Version[1:strings.LastIndex(b.Version, ".")]
}

const apiServer = "kube-apiserver"

// findVersion finds the programs for a minor version of Kubernetes.
func findVersion(minor string) (programs, error) {
	var p programs
	var err error
	if p.etcd, err = binaries.Path("etcd"); err != nil {
		return p, err
	}
	name := apiServer
	if minor != Version() {
		name += "-" + minor
	}
	p.api, err = binaries.Path(name)
	return p, err
}

// A server is a kube-apiserver and its etcd.
type server struct {
	programs
	ca    *authority
	port  *port
	host  string // URL
	dir   *folder
	etcd  *process
	api   *process
	flags []string
}

// newServer starts a server and waits until it is ready.
func newServer(ctx context.Context, p programs, flags ...string) (*server, error) {
	s := &server{programs: p, flags: flags}
	err := s.prepare()
	if err == nil {
		err = s.startEtcd()
	}
	if err == nil {
		err = s.startAPI(ctx)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("cannot start Kubernetes for tests: %w", err)
	}
	return s, nil
}

// close stops the server and removes what it wrote.
func (s *server) close() {
	s.api.stop()
	s.etcd.stop()
	s.port.close()
	s.dir.remove()
}

func (s *server) file(name string) string { return filepath.Join(s.dir.path, name) }
func (s *server) log(name string) string  { return s.file(name + ".log") }

// prepare makes what is on disk before the first start.
func (s *server) prepare() error {
	var err error
	if s.dir, err = newFolder(); err != nil {
		return err
	}
	if s.port, err = reserve(); err != nil {
		return err
	}
	s.host = fmt.Sprintf("https://127.0.0.1:%d", s.port.number)
	if s.ca, err = newAuthority(); err != nil {
		return err
	}
	cert, key, err := s.ca.issueServing()
	if err != nil {
		return err
	}
	signer, err := newKey()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"ca.crt": s.ca.pem, "server.crt": cert, "server.key": key, "sa.key": signer} {
		if err := os.WriteFile(s.file(name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startEtcd starts etcd on a socket file, where no other etcd can be.
func (s *server) startEtcd() error {
	clients, peers := "unix://"+s.file("etcd.sock"), "unix://"+s.file("peer.sock")
	var err error
	s.etcd, err = start(s.log("etcd"), s.programs.etcd,
		"--name=test", "--data-dir="+s.file("etcd"), "--log-level=warn",
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=test="+peers,
		"--unsafe-no-fsync") // what it stores need not outlive the machine
	return err
}

func (s *server) startAPI(ctx context.Context) error {
	var err error
	s.api, err = start(s.log("kube-apiserver"), s.programs.api, append([]string{
		"--etcd-servers=unix://" + s.file("etcd.sock"),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.port.number), "--permit-port-sharing",
		"--tls-cert-file=" + s.file("server.crt"), "--tls-private-key-file=" + s.file("server.key"), "--client-ca-file=" + s.file("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-bootstrap-token-auth", "--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + s.file("sa.key"), "--service-account-signing-key-file=" + s.file("sa.key"),
		"--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none", "--profiling=false",
	}, s.flags...)...)
	if err != nil {
		return err
	}
	return s.ready(ctx)
}

// ready waits until the server says that it is, or has ended.
func (s *server) ready(ctx context.Context) error {
	cert, key, err := s.ca.issue("ready", []string{administrators})
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem, CertData: cert, KeyData: key}})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	last := errors.New("not asked yet")
	for {
		select {
		case <-s.etcd.done:
			return s.etcd.ended()
		case <-s.api.done:
			return s.api.ended()
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %w (%w)", last, context.Cause(ctx))
		case <-again.C:
		}
		if last = ask(ctx, client, s.host+"/readyz"); last == nil {
			return nil
		}
	}
}

func ask(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
