// Package claims is how several agents share things that exist before anybody uses them, such
// as hosts: whoever wants one claims it, and the thing itself, or what keeps it, says whose it
// is. There is no list beside them that could be lost, or say something else.
//
// A claim is a compare-and-swap: of any number of agents, of one fleet or of several, that
// want a thing at one time, one gets it. [Store] says what a provider needs of whatever keeps
// its claims: a file that is linked (hosts), a field that a server changes only where it is
// empty (Ironic's instance_uuid). Package claimstest holds a Store against it.
//
// What else providers with shared things need:
//
//   - [First] tries things in their order, and says of each why not.
//   - [Locks] have one goroutine of a process decide about a thing at a time, so that an agent
//     does not race with itself.
//   - [OfMachine] and [Damage] read the tags of a claim, which whoever is on the thing may have
//     changed: a claim that is damaged may be forged, and nothing is done because of it.
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
