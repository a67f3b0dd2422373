package wiring

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/oklog/run"

	"fairlead.dev/agent"
	"fairlead.dev/agent/inputs/autoscaler"
	"fairlead.dev/agent/inputs/webhook"
	"fairlead.dev/agent/observability/health"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/observability/server"
	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/agent/secrets/certs"
)

// ProcessOptions say what one process of an agent is made of, beside its settings. What is
// zero is left out.
type ProcessOptions struct {
	Version    string
	Agent      agent.Options
	HungAfter  time.Duration // that a poll or a render may take, and a pass twice as long; 0: for ever
	Replicas   Replicas
	Autoscaler Autoscaler
	Pages      Pages
	Webhooks   Webhooks
	Page       Page
}

// Pages are served on an address of the process: probes, metrics, profiles.
type Pages struct {
	Address      string      // empty: none are served
	Certificates certs.Files // without one it is plain HTTP
	Access       server.Access
	Profiling    bool
	AllClusters  bool // have series of their own, and not the unhealthy ones alone
	// InMemory serves the in-memory cloud of the process as well, once it is open, and
	// OpenInMemory opens it at once.
	InMemory, OpenInMemory bool
}

// Webhooks say where the process hears of pushes, and by which secrets.
type Webhooks struct {
	Address      string // empty: it does not
	Secrets      webhook.Secrets
	Certificates certs.Files // without one it is plain HTTP
}

// Autoscaler says where the process answers cluster-autoscalers while it leads.
type Autoscaler struct {
	Address string // empty: it does not
	Files   autoscaler.Files
}

// A Process is one process of an agent: the agent itself, while it leads, and all that it
// serves.
type Process struct {
	Runtime *Runtime

	o         ProcessOptions
	settings  Settings
	metrics   *metrics.Metrics
	replica   *replica
	listeners []listener
	shown     *shown // nil: no page is
}

// A listener is what is served on an address.
type listener struct {
	net.Listener
	handler http.Handler
	options server.Options
}

// Start puts a process together, of an agent with settings s, and listens where o says so.
// Nothing is done and no request is answered before Run. The caller closes it.
func Start(ctx context.Context, s Settings, o ProcessOptions) (*Process, error) {
	m := metrics.New(o.Version)
	m.SetSource(WithoutUser(s.Source))
	m.ShowAll(o.Pages.AllClusters)
	s.Watchdog = health.NewWatchdog(o.HungAfter)
	if s.Tracer != nil {
		s.Log = slog.New(tracing.LogHandler(s.Log.Handler()))
		m.SetExemplars(tracing.TraceID)
	}
	world, err := OpenRuntime(ctx, s, ReadWrite, m)
	if err != nil {
		return nil, err
	}
	world.doubtful = max(1, o.Agent.Workers/4)
	var page *shown
	if o.Page.Address != "" {
		page = &shown{}
		s.Reports, s.Committed = page.changed, page.written
	}
	_, port, _ := net.SplitHostPort(o.Webhooks.Address)
	p := &Process{
		Runtime: world, o: o, settings: s, metrics: m, shown: page,
		replica: &replica{o: o.Replicas, scale: o.Autoscaler, port: port, log: s.Log},
	}
	for _, open := range []func(context.Context) error{p.openPages, p.openWebhooks, p.openPage} {
		if err := open(ctx); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// PagesURL returns where the pages are served; empty where they are not.
func (p *Process) PagesURL() string {
	if p.o.Pages.Address == "" {
		return ""
	}
	l := p.listeners[0]
	return l.options.Scheme() + l.Addr().String()
}

// PageURL returns where the page of the fleet is served; empty where it is not.
func (p *Process) PageURL() string {
	if p.shown == nil {
		return ""
	}
	l := p.listeners[len(p.listeners)-1]
	return l.options.Scheme() + l.Addr().String() + "/"
}

// Run works until ctx ends, which is no error, or until it cannot go on. The error is an
// *agent.NotOwnerError where another agent owns the fleet.
func (p *Process) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	g.Add(func() error { return p.replica.run(ctx, p.settings, p.o.Agent, p.Runtime, p.metrics) }, func(error) { cancel() })
	if p.shown != nil {
		g.Add(func() error { return p.shown.run(ctx, p.settings, p.o.Page, p.facts) }, func(error) { cancel() })
	}
	for _, l := range p.listeners {
		g.Add(func() error { return server.Serve(ctx, l.Listener, l.handler, l.options) }, func(error) { cancel() })
	}
	return g.Run()
}

// Close closes what Start opened.
func (p *Process) Close() error {
	for _, l := range p.listeners {
		_ = l.Close() // Run has closed it, where it was called
	}
	return p.Runtime.Close()
}

// listen adds a listener on the address that a flag sets, called what in the log.
func (p *Process) listen(ctx context.Context, what, flag, address string, h http.Handler, config *tls.Config) error {
	l, err := server.Listen(ctx, flag, address)
	if err != nil {
		return err
	}
	o := server.Options{TLS: config, Log: p.settings.Log}
	p.settings.Log.Info(what, "url", o.Scheme()+l.Addr().String())
	p.listeners = append(p.listeners, listener{l, h, o})
	return nil
}

func (p *Process) openPages(ctx context.Context) error {
	o := p.o.Pages
	if o.Address == "" {
		return nil
	}
	pages := server.Pages{Metrics: p.metrics.Handler(p.settings.Log), Health: p.settings.Watchdog, Ready: p.replica, Profiling: o.Profiling}.Handler()
	if o.OpenInMemory {
		if err := p.Runtime.OpenInMemory(); err != nil {
			return err
		}
	}
	if o.InMemory {
		pages.Handle("/inmemory/", http.StripPrefix("/inmemory", p.Runtime.InMemory()))
	}
	var config *tls.Config
	if o.Certificates.Certificate != "" {
		w, err := certs.Watch(o.Certificates)
		if err != nil {
			return fmt.Errorf("--listen-tls-…: %w", err)
		}
		config = w.Server(tls.VerifyClientCertIfGiven, "h2", "http/1.1")
	}
	protected, err := o.Access.Protect(pages)
	if err != nil {
		return fmt.Errorf("--listen-token-file: %w", err)
	}
	return p.listen(ctx, "serving", "listen", o.Address, protected, config)
}

func (p *Process) openWebhooks(ctx context.Context) error {
	o, s, r := p.o.Webhooks, p.settings, p.replica
	if o.Address == "" {
		return nil
	}
	hooks := webhook.Options{
		Target:  webhook.Target{Repository: s.Source, Ref: s.Ref, StatusRepository: s.StatusRepository, Own: r.Writes, Wrote: r.Wrote},
		Secrets: o.Secrets, Trigger: r.Poll, Observe: p.metrics.Webhooks(), Log: s.Log,
	}
	if p.o.Replicas.Elect {
		hooks.Leader = r.Leader
	}
	var config *tls.Config
	if o.Certificates.Certificate != "" {
		w, err := certs.Watch(o.Certificates)
		if err != nil {
			return fmt.Errorf("--webhook-tls-…: %w", err)
		}
		hooks.Peer, config = w.Peer(), w.Server(tls.NoClientCert, "h2", "http/1.1")
	}
	return p.listen(ctx, "hearing webhooks", "webhook-listen", o.Address, webhook.New(hooks), config)
}
