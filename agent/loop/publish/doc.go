// Package publish brings how a fleet is to the status branch and to the metrics: each report
// as it changes, and the fleet as a whole when something about it does.
//
//	p := publish.New(publish.Parts{Writer: writer, Fleet: decisions, Home: home.Status, …})
//	store.Follow(p.Report)
//	go p.Run(ctx)
//	p.PutFleet() // something about the fleet as a whole changed
//
// What it guarantees: of the fleet as a whole, what is written last is the newest.
package publish
