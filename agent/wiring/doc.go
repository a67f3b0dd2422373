// Package wiring puts the real parts together: what a command line names
// becomes a source, a status branch, a renderer, providers and stores, and of these an
// agent. It is the only place that knows them all, and the only one that starts an agent.
//
// What it guarantees:
//
//   - A World that is ReadOnly changes nothing, whatever it is asked.
//   - Nothing is written to the status branch or to the escrow without asking whether this
//     process may.
//   - The credentials of one host are not sent to another one.
//
// For example:
//
//	p, err := wiring.Start(ctx, settings, wiring.ProcessOptions{Version: version, Agent: options})
//	defer p.Close()
//	err = p.Run(ctx)
package wiring
