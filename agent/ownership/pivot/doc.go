// Package pivot moves a fleet from the agent that owns it to another one: from
// a laptop into a cluster of the fleet itself, its home, from one home to
// another, or back to a laptop.
//
// It keeps no state. In each turn it looks at the status branch, the home and the secret
// stores, computes from that alone which steps are done (see Steps), and does the first one
// that is not. So the same command goes on with a pivot that was killed anywhere, and a
// pivot that did not come to the hand-over can be undone.
//
// These hold at every instant:
//
//   - One agent owns the fleet, and only that agent acts. The owner itself makes the push
//     that ends its ownership, after it has stopped.
//   - The next owner has proven that it can act: it has read the fleet, has all secrets, has
//     looked at every cluster and can push.
//   - No secret exists in one store only because it was made during the move: the owner makes
//     none after it has agreed.
//   - No machine is touched.
package pivot
