// Package transport is what infrastructure providers send requests of HTTP through. It
// keeps to a rate, waits where the other side asks for patience, tells of each request,
// and says of an error whether the request may have been carried out.
//
//	t := transport.New(transport.Options{PerSecond: 20, Sent: metrics})
//	client := http.Client{Transport: t, Timeout: 2 * time.Minute}
//	…
//	if kind, ok := transport.KindOf(err); ok {
//		return &fleet.Error{Kind: kind, Op: op, Err: transport.Plain(err)}
//	}
package transport
