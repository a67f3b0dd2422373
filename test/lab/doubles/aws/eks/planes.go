package eks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/kube"
)

// Planes are the API servers of clusters.
type Planes struct {
	log   func(string)
	hooks net.Listener
	dir   string // of the files that say where the webhooks are

	mu     sync.Mutex
	planes map[string]*plane // by the name of the cluster
	ended  []*plane          // that no cluster has any more
}

var _ awstest.Planes = (*Planes)(nil)

// A plane is an API server.
type plane struct {
	cluster string
	version string        // that is wanted
	busy    bool          // somebody starts or stops it
	is      string        // the version that runs
	running *kube.Running // nil: it does not run yet
	err     error         // why it does not run
}

// New returns Planes. log is called with what is done.
func New(log func(string)) (*Planes, error) {
	hooks, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "eks-")
	if err != nil {
		return nil, errors.Join(err, hooks.Close())
	}
	return &Planes{log: log, hooks: hooks, dir: dir, planes: make(map[string]*plane)}, nil
}

// Run implements awstest.Planes.
func (p *Planes) Run(cluster, version string) (awstest.Plane, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.planes[cluster]
	if one == nil {
		one = &plane{cluster: cluster}
		p.planes[cluster] = one
	}
	if one.version != version {
		one.version, one.err = version, nil
	}
	if one.running == nil || one.is != version || one.err != nil {
		return awstest.Plane{}, false, one.err
	}
	return awstest.Plane{Endpoint: one.running.Config.Host, CA: one.running.Config.CAData}, true, nil
}

// Stop implements awstest.Planes.
func (p *Planes) Stop(cluster string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.planes[cluster]; one != nil {
		p.ended = append(p.ended, one)
		delete(p.planes, cluster)
	}
}

// Serve does what c asks for until ctx ends. No API server runs after that.
func (p *Planes) Serve(ctx context.Context, c *awstest.Cloud) error {
	var work sync.WaitGroup
	server := &http.Server{Handler: &webhooks{c, p.running, p.log}, ReadHeaderTimeout: time.Minute}
	work.Go(func() { _ = server.Serve(p.hooks) }) // ends with Close
	n := newNodes(c, p.log)
	work.Go(func() {
		for each := time.NewTicker(200 * time.Millisecond); ctx.Err() == nil; {
			n.follow(ctx, p.running())
			select {
			case <-ctx.Done():
			case <-each.C:
			}
		}
	})
	for each := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
		p.act(ctx, &work)
		select {
		case <-ctx.Done():
		case <-each.C:
		}
	}
	err := server.Close()
	work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.planes {
		p.ended = append(p.ended, one)
	}
	for _, one := range p.ended {
		one.close()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// running returns the API servers that run.
func (p *Planes) running() map[string]*kube.Running {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]*kube.Running)
	for name, one := range p.planes {
		if one.running != nil && !one.busy {
			out[name] = one.running
		}
	}
	return out
}

// act begins what is to be done.
func (p *Planes) act(ctx context.Context, work *sync.WaitGroup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.planes {
		if !one.busy && one.err == nil && one.is != one.version {
			one.busy = true
			work.Go(func() { p.start(ctx, one, one.version) })
		}
	}
	var later []*plane
	for _, one := range p.ended {
		if one.busy {
			later = append(later, one)
			continue
		}
		p.log("cluster " + one.cluster + " is served no more")
		work.Go(one.close)
	}
	p.ended = later
}

// start has a plane run in a version.
func (p *Planes) start(ctx context.Context, one *plane, version string) {
	begun, running := time.Now(), one.running
	var err error
	if running != nil {
		err = running.Upgrade(ctx, version)
	} else {
		running, err = p.begin(ctx, one.cluster, version)
	}
	p.log(fmt.Sprintf("cluster %s is served in %s after %s: %v", one.cluster, version, time.Since(begun).Round(time.Millisecond), err))
	p.mu.Lock()
	defer p.mu.Unlock()
	one.busy = false
	if err != nil {
		one.err = err
		return
	}
	one.is, one.running = version, running
}

// begin starts the API server of a cluster.
func (p *Planes) begin(ctx context.Context, cluster, version string) (*kube.Running, error) {
	flags := []string{
		"--authentication-token-webhook-version=v1", "--authentication-token-webhook-cache-ttl=0s",
		"--authorization-mode=Webhook", // the last one
		"--authorization-webhook-version=v1", "--authorization-webhook-cache-authorized-ttl=0s", "--authorization-webhook-cache-unauthorized-ttl=0s",
		"--enable-admission-plugins=NodeRestriction",
	}
	for flag, path := range map[string]string{"--authentication-token-webhook-config-file": authenticatePath, "--authorization-webhook-config-file": authorizePath} {
		const name = "eks"
		config, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Config", "current-context": name,
			"clusters": []any{map[string]any{"name": name, "cluster": map[string]string{"server": "http://" + p.hooks.Addr().String() + path + cluster}}},
			"users":    []any{map[string]any{"name": name, "user": map[string]string{}}},
			"contexts": []any{map[string]any{"name": name, "context": map[string]string{"cluster": name, "user": name}}},
		})
		if err != nil {
			return nil, err
		}
		file := filepath.Join(p.dir, cluster+filepath.Clean(path)[1:])
		if err := os.WriteFile(file, config, 0o600); err != nil {
			return nil, err
		}
		flags = append(flags, flag+"="+file)
	}
	return kube.RunVersion(ctx, version, flags...)
}

func (one *plane) close() {
	if one.running != nil {
		one.running.Close()
	}
}
