// Package host decides what is next to be done to a host of bare metal: it compares what Git
// says of it with what Ironic shows, and names one request. It is pure: it asks nobody, and
// the same look gives the same decision.
//
//	d := host.Next(declared, node)
//	switch d.Step {
//	case host.Provide:
//		err = client.Provide(ctx, node.UUID)
//	…
//
// What it guarantees, in every state that Ironic knows:
//
//   - A host that may be in use is neither inspected nor provided nor deployed to: one that
//     is a machine's, that a Node names, whose tags are those of a machine that is not known
//     to be gone, that is on, or that is new while people keep it off. It is held, and the
//     reason says what people can do.
//   - Nothing is done through a node whose computer another host has. What runs on a computer
//     that Git calls another one goes on there, and is released there.
//   - What is another's is left alone, and so is what people keep in maintenance, what they
//     paused, and a host that left Git.
//   - Disks and firmware are changed where nothing may run: on the way to be available; firmware also
//     while people keep the machine on the host off.
//   - A host is released by wish alone, and not while its BMC is silent: Ironic would forget
//     whose it is while the machine runs on.
//   - Where something is under way, nothing is asked for.
package host
