// Package page serves a fleet as pages for a browser: what fairlead status, tree and
// requests say, as HTML that the server makes, kept fresh by server-sent events.
//
// A page answers GET alone, and asks nobody. What it shows is a State, which a Feed makes
// from the status branch, and in an agent from the newest reports as well. Each view is one
// file with its template: what it shows is a function of the State and of the address, and
// is the JSON at that address too.
//
// What it guarantees:
//
//   - Nothing is changed by a visit, and nothing is fetched from elsewhere by a browser.
//   - Texts of others are shown as text, whatever they contain.
//   - What is not fresh says so.
//   - A tab costs one stream; all tabs of one address share what is rendered.
//
// For example:
//
//	p := page.New(page.Options{Hosts: []string{"fleet.example.com"}, …})
//	feed := page.NewFeed(p, page.FeedParts{Branch: branch, …})
//	go feed.Run(ctx)
//	err := server.Serve(ctx, listener, p, server.Options{Log: log})
package page
