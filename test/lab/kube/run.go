package kube

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// A Running server is one that a program uses, not a test. Close it.
type Running struct {
	Config *rest.Config // of a user who may do everything

	server *server
}

// Run starts a server and waits until it is ready. It fails if the binaries are
// not built.
func Run(ctx context.Context) (*Running, error) { return RunVersion(ctx, Version()) }

// RunVersion is Run with a minor version of Kubernetes, like 1.36, and with flags of kube-apiserver in addition to
// those that every one here has.
func RunVersion(ctx context.Context, minor string, flags ...string) (*Running, error) {
	programs, err := findVersion(minor)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s, err := newServer(ctx, programs, flags...)
	if err != nil {
		return nil, err
	}
	r := &Running{server: s}
	if r.Config, err = s.user("admin", administrators); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Upgrade has a kube-apiserver of another minor version take the place of the one that runs, at its address and with
// what it stored. Without an error it is ready.
func (r *Running) Upgrade(ctx context.Context, minor string) error {
	programs, err := findVersion(minor)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	r.server.api.stop()
	r.server.programs = programs
	return r.server.startAPI(ctx)
}

// Close stops the server and removes what it wrote.
func (r *Running) Close() { r.server.close() }

// Processes returns the ids of the processes of the server: etcd and
// kube-apiserver.
func (r *Running) Processes() []int {
	return []int{r.server.etcd.cmd.Process.Pid, r.server.api.cmd.Process.Pid}
}

// WriteKubeconfig writes a kubeconfig of a user who may do everything to a file.
func (r *Running) WriteKubeconfig(path string) error { return writeKubeconfig(path, r.Config) }

// WriteServing writes tls.crt and tls.key to dir: the certificate of a webhook
// that the server calls on 127.0.0.1, signed by the CA of Config.
func (r *Running) WriteServing(dir string) error {
	cert, key, err := r.server.ca.issueServing()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)
}
