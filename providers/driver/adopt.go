package driver

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
)

// An Adoption is a machine that another controller made on a thing T, and the tags that it is to have.
type Adoption[T any] struct {
	Machine fleet.MachineName
	Thing   T
	ID      string            // of the thing, as holders of addresses have it
	Where   string            // the thing, for people: "host prod/n0"
	Claims  []addresses.Claim // of pools
	Index   string            // among the machines of its data template; empty: it has none
	Tags    map[string]string
}

// Adoptions calls find for each of machines. If one cannot be adopted, it returns none, and the reasons
// of all. wrap adds what could not be done to an error of the provider; nil stays nil.
func Adoptions[T any](machines []providers.AdoptedMachine, find func(providers.AdoptedMachine) (Adoption[T], error), wrap func(op string, err error) error) ([]Adoption[T], error) {
	var out []Adoption[T]
	var errs []error
	for _, m := range machines {
		x, err := find(m)
		if err == nil {
			err = x.isApart(out)
		}
		if err != nil {
			errs = append(errs, wrap("take over machine "+string(m.Name), err))
			continue
		}
		out = append(out, x)
	}
	if err := fleet.JoinErrors(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// isApart returns an error if one of others, which are adopted at the same time, has something of x.
func (x *Adoption[T]) isApart(others []Adoption[T]) error {
	for i := range others {
		o := &others[i]
		if o.ID == x.ID {
			return fleet.Errorf(fleet.Conflict, "find where it is", "%s is that of machine %s too (one of both has another's provider id)", x.Where, o.Machine)
		}
		if x.Index != "" && x.Index == o.Index {
			return fleet.Errorf(fleet.Conflict, "keep its index", "machine %s is %s too", o.Machine, x.Index)
		}
		for _, c := range x.Claims {
			if slices.Contains(o.Claims, c) {
				return fleet.Errorf(fleet.Conflict, "keep its addresses", "machine %s has %s of %s too", o.Machine, c.Address, c.Pool)
			}
		}
	}
	return nil
}

// KeepsAddresses returns an error if another one of holders has an address of x. unknown says why it is
// not known what addresses one of them has; nil: it is.
func (x *Adoption[T]) KeepsAddresses(holders addresses.Holders, unknown error) error {
	if len(x.Claims) > 0 && unknown != nil {
		return unknown
	}
	for _, c := range x.Claims {
		if slices.ContainsFunc(holders[c], func(other string) bool { return other != x.ID }) {
			return fleet.Errorf(fleet.Conflict, "keep its addresses", "another machine of a fleet has %s of %s by its tags", c.Address, c.Pool)
		}
	}
	return nil
}

// ClaimsOf returns the addresses of m in the order of pools, the ids of those that Git names for it.
// claim is the kind of the claims of the other controller, and unnamed says that Git names no such pool.
func ClaimsOf(m providers.AdoptedMachine, pools []string, claim, unnamed string) ([]addresses.Claim, error) {
	const op = "find its addresses"
	have, err := addresses.Parse(m.Addresses)
	if err != nil {
		return nil, err
	}
	var out []addresses.Claim
	for _, pool := range pools {
		i := slices.IndexFunc(have, func(c addresses.Claim) bool { return c.Pool == pool })
		if i < 0 {
			return nil, fleet.Errorf(fleet.NotFound, op, "no %s of it has one of %s, which Git names", claim, pool)
		}
		out = append(out, have[i])
		have = slices.Delete(have, i, i+1)
	}
	if len(have) > 0 {
		return nil, fleet.Errorf(fleet.Conflict, op, "it has %s of %s, and %s", have[0].Address, have[0].Pool, unnamed)
	}
	return out, nil
}

// MayRelease returns an error of kind Conflict if one of seen, the machines of c, was not adopted as one
// of adopted, or was changed since. id is what two spellings of one provider id have in common.
func MayRelease(op string, c *fleet.Cluster, seen []fleet.Machine, adopted []providers.AdoptedMachine, id func(fleet.ProviderID) string) error {
	for _, m := range seen {
		known := slices.ContainsFunc(adopted, func(a providers.AdoptedMachine) bool { return id(a.ID) == id(m.ProviderID) })
		if !known || m.Operation != providers.AdoptionID(c.Key) || m.State == fleet.MachineDeleting || m.Damaged != "" {
			return fleet.Errorf(fleet.Conflict, op, "machine %s was made or changed since it was adopted", m.Name)
		}
	}
	return nil
}
