package maastest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve answers requests at l until ctx ends. The address of the region is that of l with the path /MAAS.
func (r *Region) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
