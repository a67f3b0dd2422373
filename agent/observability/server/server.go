package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of every server. How long a request may take depends on what it asks for, so the
// handlers bound that themselves.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 256 << 10
	// shutdownTimeout is how long requests under way may go on once the server ends.
	shutdownTimeout = 3 * time.Second
)

// Options say how requests are served.
type Options struct {
	TLS *tls.Config // nil: plain HTTP
	Log *slog.Logger
}

// Scheme returns what URLs of the server begin with.
func (o Options) Scheme() string {
	if o.TLS == nil {
		return "http://"
	}
	return "https://"
}

// Serve answers requests on l with h until ctx ends, and then gives those under way a
// moment to finish. It closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler, o Options) error {
	if o.TLS != nil {
		l = tls.NewListener(l, o.TLS)
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if !stop() {
		<-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
