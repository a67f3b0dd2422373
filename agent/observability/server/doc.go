// Package server serves HTTP for the agent: its own pages, and what other rooms hand to
// it.
//
// What it guarantees:
//
//   - No client holds a connection by being slow: headers, idle connections and each of
//     the agent's own pages have a time limit.
//   - Where an Access asks for a certificate or a token, nothing but the two probes is
//     served without.
//   - Certificates and tokens are read again when their files change.
//
// For example:
//
//	h := access.Protect(server.Pages{Metrics: m.Handler(log), Health: watchdog, Ready: ready}.Handler())
//	err := server.Serve(ctx, listener, h, server.Options{TLS: config, Log: log})
package server
