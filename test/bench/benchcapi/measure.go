package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"

	"fairlead.dev/test/bench/process"
	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/run/ports"
)

// gates are the feature gates that Cluster API's end-to-end tests set, its scale test included.
const gates = "MachinePool=true,KubeadmBootstrapFormatIgnition=true,ClusterTopology=true,RuntimeSDK=true," +
	"MachineSetPreflightChecks=true,PriorityQueue=true,ReconcilerRateLimiting=true,InPlaceUpdates=true,MachineTaintPropagation=true"

// A figure is one number that was measured.
type figure struct {
	name  string
	unit  string
	value float64
}

// A bench is a management cluster.
type bench struct {
	server   *kube.Running
	client   dynamic.Interface
	docker   *http.Server
	managers map[string]*process.Process // by name
	dir      string
}

// measure creates n clusters in a new management cluster. If the time limit passes before
// all machines run, it returns what it has, and an error.
func measure(ctx context.Context, built []program, n int, s settings) (out []figure, err error) {
	dir, err := os.MkdirTemp("", "fairlead-benchcapi-")
	if err != nil {
		return nil, err
	}
	b := &bench{managers: make(map[string]*process.Process), dir: dir}
	defer func() {
		err = errors.Join(err, b.stop())
		if s.keep || err != nil {
			fmt.Fprintf(os.Stderr, "capi-%d: logs are in %s\n", n, dir)
			return
		}
		os.RemoveAll(dir)
	}()
	if b.server, err = kube.Run(ctx); err != nil {
		return nil, err
	}
	if b.client, err = dynamic.NewForConfig(b.server.Config); err != nil {
		return nil, err
	}
	if err := b.start(ctx, built); err != nil {
		return nil, err
	}
	if err := wait(ctx, 5*time.Second); err != nil { // the API server learns of webhooks a moment later
		return nil, err
	}
	return b.create(ctx, n, s.limit)
}

// start installs the kinds, starts the managers, and installs their webhooks.
func (b *bench) start(ctx context.Context, built []program) error {
	kubeconfig := filepath.Join(b.dir, "kubeconfig")
	if err := errors.Join(b.server.WriteKubeconfig(kubeconfig), b.server.WriteServing(b.dir)); err != nil {
		return err
	}
	if err := os.Setenv("POD_IP", "127.0.0.1"); err != nil { // where the workload clusters are
		return err
	}
	if err := b.serveDocker(filepath.Join(b.dir, "docker.sock")); err != nil {
		return err
	}
	webhooks := make(map[string]address)
	for _, p := range built {
		host, err := free()
		if err != nil {
			return err
		}
		webhooks[p.name] = address{host, b.server.Config.CAData}
		if err := installKinds(ctx, b.client, p.manifests, webhooks[p.name]); err != nil {
			return err
		}
	}
	if err := established(ctx, b.client); err != nil {
		return err
	}
	health := make(map[string]string)
	for _, p := range built {
		var err error
		if health[p.name], err = free(); err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(webhooks[p.name].host)
		if err != nil {
			return err
		}
		b.managers[p.name], err = process.Start(b.dir, p.name, p.path, "--kubeconfig="+kubeconfig, "--feature-gates="+gates,
			"--webhook-port="+port, "--webhook-cert-dir="+b.dir, "--health-addr="+health[p.name], "--diagnostics-address=0")
		if err != nil {
			return err
		}
	}
	for _, p := range built {
		if err := b.managers[p.name].Ready(ctx, "http://"+health[p.name]+"/readyz"); err != nil {
			return err
		}
		if err := installWebhooks(ctx, b.client, p, webhooks[p.name]); err != nil {
			return err
		}
	}
	return nil
}

// serveDocker answers the one question that the in-memory provider has for Docker, about the
// size of each DevMachineTemplate's machines, on a socket file. Without an answer it asks
// again and again.
func (b *bench) serveDocker(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	b.docker = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.47")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"NCPU":2,"MemTotal":8589934592}`)
	})}
	go func() { _ = b.docker.Serve(l) }() // ends with Close
	return os.Setenv("DOCKER_HOST", "unix://"+path)
}

// stop ends all.
func (b *bench) stop() (err error) {
	for _, m := range b.managers {
		if m != nil {
			err = errors.Join(err, m.Stop())
		}
	}
	if b.docker != nil {
		err = errors.Join(err, b.docker.Close())
	}
	if b.server != nil {
		b.server.Close()
	}
	return err
}

// free returns an address that neither a program nor a workload cluster uses.
func free() (string, error) {
	for {
		address, err := ports.Free()
		if err != nil {
			return "", err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(port); err != nil || n < 19000 {
			return address, err
		}
	}
}

// create creates n clusters and measures until all machines run, and then at rest.
func (b *bench) create(ctx context.Context, n int, limit time.Duration) ([]figure, error) {
	loadBefore, err := load()
	if err != nil {
		return nil, err
	}
	before, err := b.usage()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := createFleet(limited, b.client, n); err != nil {
		return nil, err
	}
	created := time.Since(started)
	const ofCluster = 2
	var run int
	late := until(limited, func() (bool, error) {
		var err error
		run, err = running(limited, b.client)
		return run == ofCluster*n, err
	})
	took := time.Since(started)
	loadAfter, err := load()
	if err != nil {
		return nil, err
	}
	after, err := b.usage()
	if err != nil {
		return nil, err
	}
	out := []figure{
		{"took", "s", took.Seconds()},
		{"until all objects were created", "s", created.Seconds()},
		{"machines that run", "", float64(run)},
	}
	for _, g := range groups() {
		out = append(out, figure{g + " CPU", "s", after[g].CPU - before[g].CPU}, figure{g + " memory peak", "MiB", float64(after[g].Peak)})
	}
	out = append(out, figure{"load before", "", loadBefore}, figure{"load after", "", loadAfter})
	if late != nil {
		return out, late
	}
	const settle, window = 30 * time.Second, time.Minute
	if err := wait(ctx, settle); err != nil {
		return out, err
	}
	if before, err = b.usage(); err != nil {
		return out, err
	}
	if err := wait(ctx, window); err != nil {
		return out, err
	}
	if after, err = b.usage(); err != nil {
		return out, err
	}
	for _, g := range groups() {
		out = append(out, figure{g + " idle", "core", (after[g].CPU - before[g].CPU) / window.Seconds()},
			figure{g + " memory idle", "MiB", float64(after[g].RSS)})
	}
	return out, nil
}

// The groups of processes that have figures of their own.
const (
	controllers = "core, bootstrap and control-plane managers"
	provider    = "in-memory provider"
	store       = "kube-apiserver and etcd"
)

func groups() []string { return []string{controllers, provider, store} }

// usage returns what each group has used so far. Peaks are the sum of those of its processes.
func (b *bench) usage() (map[string]process.Usage, error) {
	out := make(map[string]process.Usage)
	add := func(group string, u process.Usage, err error) error {
		sum := out[group]
		out[group] = process.Usage{CPU: sum.CPU + u.CPU, RSS: sum.RSS + u.RSS, Peak: sum.Peak + u.Peak}
		return err
	}
	for name, m := range b.managers {
		group := controllers
		if name == infrastructure {
			group = provider
		}
		u, err := m.Usage()
		if err := add(group, u, err); err != nil {
			return nil, fmt.Errorf("the %s manager ended: %w", name, err)
		}
	}
	for _, id := range b.server.Processes() {
		u, err := process.UsageOf(id)
		if err := add(store, u, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// load returns how many processes wanted to run, in the last minute on average.
func load() (float64, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	one, _, _ := strings.Cut(string(text), " ")
	return strconv.ParseFloat(one, 64)
}

// until asks done once a second until it is so.
func until(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
