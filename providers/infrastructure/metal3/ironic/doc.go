// Package ironic speaks to one Ironic: it lists nodes, enrols them, asks for what their
// states allow, and claims them for machines. It knows no kinds of Metal3, and decides
// nothing: what is to be done comes from its caller.
//
// What it guarantees:
//
//   - A listing is whole or an error. An Ironic that lost its database answers with an empty
//     one, which is no proof that there are no machines: the caller knows what Git says.
//   - A claim is one request that Ironic refuses, under its lock of the node, where the node
//     is another machine's or the machine has another node. It checks no state.
//   - What makes something may be repeated: ids follow from names.
//   - Nothing waits. The next listing tells how it went.
//   - One place says what an error means ([Wrap]), and what failed since ([Node.Failure]).
//   - The account is sent to the endpoint alone, wherever answers and redirects lead.
//
// For example:
//
//	c, err := ironic.New(credential, ironic.Options{Rate: 20})
//	nodes, err := c.List(ctx)
//	node, err := c.Claim(ctx, nodes[0].UUID, ironic.Claim{Instance: ironic.InstanceID("prod", "eu/one", "md-0-x7k"), …})
//	if ironic.IsAssociated(err) {
//		// another machine was quicker: the next host
//	}
//	err = c.Deploy(ctx, node.UUID, "")
package ironic
