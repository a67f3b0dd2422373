// Package claims lets several agents share things that exist before they are used, such as
// hosts. An agent claims a thing, and the claim is stored on the thing, or by its server. There
// is no separate list that could be lost or contradict it.
//
// A claim is a compare-and-swap: of any number of agents, of one fleet or of several, that
// claim a thing at one time, one gets it. [Store] is what stores the claims of a provider: a file
// that is linked (hosts), a field that a server changes only if it is empty (Ironic's
// instance_uuid). Package claimstest tests a Store.
//
// For providers with shared things:
//
//   - [First] tries things in their order, and returns the reason for each that it passed over.
//   - [OfMachine] and [Damage] read the tags of a claim. A user of the thing may have changed
//     them: a damaged claim may be forged, so no action follows from it.
//
// For example:
//
//	claimed, why, err := claims.First(hosts, Host.Name, func(h Host) (string, error) {
//		if h.CPUs < want {
//			return fmt.Sprintf("has %d CPUs", h.CPUs), nil
//		}
//		err := store.Claim(ctx, h.ID, claims.Claim{ID: claims.NewID(), Tags: r.Tags(op)})
//		if fleet.KindOf(err) == fleet.Conflict {
//			return "was claimed by somebody else just now", nil
//		}
//		return "", err
//	})
package claims
