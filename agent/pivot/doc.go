// Package pivot moves a fleet from the agent that owns it to another one: from
// a laptop into a cluster of the fleet itself, its home, from one home to
// another, or back to a laptop.
//
// It keeps no state. Each turn looks at the status branch, the home and the
// secret stores, computes from that alone which steps are done (see Steps), and
// takes the first one that is not. So a pivot that was killed anywhere goes on
// with the same command, and one that did not come to the hand-over is undone.
//
// What holds at every instant:
//
//   - One agent owns the fleet, and only it acts. The owner itself makes the
//     push that ends that, once it has stopped.
//   - The next owner has proven that it can act: it has read the fleet, has all
//     secrets, has looked at every cluster and can push.
//   - No secret is in one place only because it was made while they moved: the
//     owner makes none from when it agreed.
//   - No machine is touched.
package pivot
