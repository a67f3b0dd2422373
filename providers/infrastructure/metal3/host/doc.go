// Package host decides the next step of a bare-metal host: it compares Git with Ironic, and returns
// one request. It is pure: it makes no requests, and the same observation gives the same decision.
//
//	d := host.Next(declared, node)
//	switch d.Step {
//	case host.Provide:
//		err = client.Provide(ctx, node.UUID)
//	…
//
// What it guarantees, in every state of Ironic:
//
//   - A host that may be in use is not inspected, provided or deployed to: one of a machine, one that
//     a Node names, one with the tags of a machine that is not known to be gone, one that is on, and a
//     new one that Git keeps off. It is held, with a reason that says what people can do.
//   - Nothing is done through a node whose computer belongs to another host. If Git and Ironic disagree
//     about the computer, the machine runs on, and is released, on that of Ironic.
//   - Hosts of others, hosts in maintenance, paused hosts and hosts that left Git are not changed.
//   - Disks and firmware change only while nothing may run: before the host is available; firmware also
//     while people keep the machine on the host off.
//   - A host is released only on request, and not while its BMC does not answer: Ironic would drop its
//     owner while the machine runs on.
//   - While an operation is in progress, nothing is requested.
package host
