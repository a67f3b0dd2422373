// Package health answers the two questions of a kubelet: does the process hang, and is
// the agent ready?
//
//	w := health.NewWatchdog(30 * time.Minute)
//	goesOn, ends := w.Begin(health.Polling, "")
//	defer ends()
//
//	r := health.NewReadiness(map[string]string{"owner": "the owner is not known yet"})
//	r.Set("owner", "")
//
// Both serve HTTP. What they answer is plain text, bounded, without anything that steers a
// terminal.
package health
