// Package page serves a fleet as pages for a browser: the output of fairlead status, tree and
// requests, as HTML rendered by the server and updated by server-sent events.
//
// A page answers GET only, and makes no requests. It shows a State, which a Feed makes from the
// status branch, and in an agent also from the newest reports. Each view is one file with its
// template: its content is a function of the State and of the address, and also the JSON at that
// address.
//
// What it guarantees:
//
//   - A visit changes nothing, and a browser fetches nothing from other servers.
//   - Foreign texts are shown as text, whatever they contain.
//   - Outdated content is marked with its age.
//   - A tab costs one stream; all tabs of one address share the rendered content.
//
// For example:
//
//	p := page.New(page.Options{Hosts: []string{"fleet.example.com"}, …})
//	feed := page.NewFeed(p, page.FeedParts{Branch: branch, …})
//	go feed.Run(ctx)
//	err := server.Serve(ctx, listener, p, server.Options{Log: log})
package page
