// Package transport sends HTTP requests of infrastructure providers. It limits their rate, waits
// if the server demands it, reports each request, and returns for an error whether the request
// may have been carried out.
//
//	t := transport.New(transport.Options{PerSecond: 20, Sent: metrics})
//	client := http.Client{Transport: t, Timeout: 2 * time.Minute}
//	…
//	if kind, ok := transport.KindOf(err); ok {
//		return &fleet.Error{Kind: kind, Op: op, Err: transport.Plain(err)}
//	}
package transport
