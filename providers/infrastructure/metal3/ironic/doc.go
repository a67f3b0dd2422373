// Package ironic makes requests to one Ironic: it lists nodes, enrols them, requests what their
// states allow, and claims them for machines. It knows no kinds of Metal3 and makes no decisions.
//
// What it guarantees:
//
//   - A listing is complete or an error. An Ironic that lost its database returns an empty one, which
//     does not prove that there are no machines: the caller compares with Git.
//   - A claim is one request that Ironic refuses, under its lock of the node, if the node has another
//     machine or the machine another node. It checks no state.
//   - Creations may be repeated: ids follow from names.
//   - No call waits. The next listing has the result.
//   - One place classifies errors ([Wrap]), and failures in a node ([Node.Failure]).
//   - The account is sent to the endpoint only, whatever responses and redirects say.
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
