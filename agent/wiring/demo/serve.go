package demo

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/server"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/sources/git/gitserver"
)

// serveGit makes a bare repository and serves it over smart HTTP.
func (d *demo) serveGit(ctx context.Context, log *slog.Logger) (stop func(), err error) {
	root := filepath.Join(d.dir, "git")
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, err
	}
	server, err := gitserver.New(root, gitserver.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := server.Init("fleet.git"); err != nil {
		return nil, err
	}
	url, stop, err := serve(ctx, server, log)
	d.repoURL = url + "/fleet.git"
	return stop, err
}

// serve serves h on a free loopback port.
func serve(ctx context.Context, h http.Handler, log *slog.Logger) (url string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ctx, l, h, server.Options{Log: log}); err != nil {
			log.Error("serving ended", "error", err)
		}
	}()
	return "http://" + l.Addr().String(), func() { cancel(); <-done }, nil
}

// startAgent starts an agent with its HTTP server, as `fairlead agent` does.
func (d *demo) startAgent(ctx context.Context, log *slog.Logger) (stop func(), err error) {
	d.settings = wiring.Settings{
		Source: d.repoURL, StatusInterval: 300 * time.Millisecond,
		Secrets: filepath.Join(d.dir, "secrets"), Built: d.o.Built, Log: log,
		Providers: d.story.settings,
	}
	p, err := wiring.Start(ctx, d.settings, wiring.ProcessOptions{
		Version: d.o.Version, Agent: agent.Options{Name: "demo", Interval: time.Second, Resync: 10 * time.Minute, Workers: 8},
		Pages: wiring.Pages{Address: "127.0.0.1:0", InMemory: d.story.inMemory, OpenInMemory: d.story.inMemory},
		Page:  wiring.Page{Address: "127.0.0.1:0", Interval: time.Second},
	})
	if err != nil {
		return nil, err
	}
	d.world, d.listen, d.page = p.Runtime, p.PagesURL(), p.PageURL()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := p.Run(ctx)
		if ctx.Err() == nil {
			d.ended <- cmpErr(err)
		}
	}()
	return func() {
		cancel()
		<-done
		if err := p.Close(); err != nil {
			log.Warn("closing", "error", err)
		}
	}, nil
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("without an error")
	}
	return err
}
