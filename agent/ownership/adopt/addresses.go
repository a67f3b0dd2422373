package adopt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
)

// A claimKind is one of the kinds in which a provider for addresses tells who has which.
type claimKind struct {
	group, claim, address string
	pool                  []string // where a claim names its pool
	given                 []string // where it names its address
}

// claimKinds are the kinds of Cluster API's contract, and those of Metal3.
func claimKinds() []claimKind {
	return []claimKind{
		{addresses.Group, "IPAddressClaim", "IPAddress", []string{"spec", "poolRef"}, []string{"status", "addressRef", "name"}},
		{metal3Pools, "IPClaim", "IPAddress", []string{"spec", "pool"}, []string{"status", "address", "name"}},
	}
}

// readAddresses reads which addresses of pools the machines have. A claim is its machine's whose
// infrastructure owns it, directly or by objects between them. The order of claims is that of
// their names, which count devices.
func (a *Adoption) readAddresses(ctx context.Context, f *existing) error {
	pools := make(map[string]bool)
	for _, o := range f.companions {
		if group := o.GroupVersionKind().Group; group == addresses.Group || group == metal3Pools {
			pools[poolID(o.GetKind(), keyOf(o))] = true
		}
	}
	if len(pools) == 0 {
		return nil
	}
	f.addresses = make(map[string][]addresses.Claim)
	others := make(map[string]int)
	for _, k := range claimKinds() {
		if err := a.readClaims(ctx, f, k, pools, others); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(others)) {
		f.notes = append(f.notes, fmt.Sprintf("%s gives %d addresses to others than its machines: adopt these too before you push, or put their addresses into its excludedAddresses", id, others[id]))
	}
	return nil
}

// readClaims reads the claims of one kind of pools. Those of others are counted, by pool.
func (a *Adoption) readClaims(ctx context.Context, f *existing, k claimKind, pools map[string]bool, others map[string]int) error {
	claims, err := a.o.Management.list(ctx, schema.GroupKind{Group: k.group, Kind: k.claim}, a.o.Kinds, "", "")
	if err != nil {
		return err
	}
	slices.SortStableFunc(claims, func(a, b Object) int {
		return cmp.Or(cmp.Compare(len(a.GetName()), len(b.GetName())), keyOf(a).Compare(keyOf(b)))
	})
	seen := f.owners() // the names of Machines
	for _, o := range claims {
		r := refAt(o, k.pool...)
		id := poolID(cmp.Or(r.gk.Kind, "IPPool"), fleet.Key{Namespace: o.GetNamespace(), Name: r.name})
		if !pools[id] {
			continue
		}
		machine := ""
		if o.GetNamespace() == f.key.Namespace {
			if machine, err = a.machineOf(ctx, o, seen); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(f.machines, func(m Object) bool { return m.GetName() == machine }) {
			others[id]++
			continue
		}
		claim, err := a.addressOf(ctx, f, k, o, id)
		if err != nil {
			return err
		}
		f.addresses[machine] = append(f.addresses[machine], claim)
	}
	return nil
}

// poolID is how package addresses knows a pool.
func poolID(kind string, k fleet.Key) string {
	if kind == addresses.GlobalPoolKind {
		return kind + "/" + k.Name
	}
	return kind + "/" + k.String()
}

// addressOf returns what a claim of pool was given. A claim that was given nothing is a problem.
func (a *Adoption) addressOf(ctx context.Context, f *existing, k claimKind, claim Object, pool string) (addresses.Claim, error) {
	name, field := text(claim, k.given...), strings.Join(k.given[:2], ".")
	if name == "" {
		f.addProblem(claim, field, restHint, "was given no address of %s", pool)
		return addresses.Claim{}, nil
	}
	o, err := a.o.Management.get(ctx, schema.GroupKind{Group: k.group, Kind: k.address}, a.o.Kinds, fleet.Key{Namespace: claim.GetNamespace(), Name: name})
	if fleet.KindOf(err) == fleet.NotFound {
		f.addProblem(claim, field, restHint, "refers to IPAddress %s, which is not there", name)
		return addresses.Claim{}, nil
	}
	if err != nil {
		return addresses.Claim{}, err
	}
	at, err := netip.ParseAddr(text(o, "spec", "address"))
	if err != nil {
		f.addProblem(o, "spec.address", "", "is no address: %s", err)
	}
	return addresses.Claim{Pool: pool, Address: at}, nil
}

// mostOwners is more than there are between a claim and its Machine.
const mostOwners = 5

// machineOf returns the name of the Machine that o is of, by its owners; empty: of none.
func (a *Adoption) machineOf(ctx context.Context, o Object, seen map[ref]string) (string, error) {
	var path []ref
	name := ""
	for range mostOwners {
		owners := o.GetOwnerReferences()
		if len(owners) == 0 {
			break
		}
		gv, err := schema.ParseGroupVersion(owners[0].APIVersion)
		if err != nil {
			break // of no owner that is known here
		}
		r := ref{schema.GroupKind{Group: gv.Group, Kind: owners[0].Kind}, owners[0].Name}
		if r.gk == groupKind("Machine") {
			name = r.name
			break
		}
		if known, ok := seen[r]; ok {
			name = known
			break
		}
		path = append(path, r)
		o, err = a.o.Management.get(ctx, r.gk, a.o.Kinds, fleet.Key{Namespace: o.GetNamespace(), Name: r.name})
		if kind := fleet.KindOf(err); kind == fleet.NotFound || kind == fleet.Invalid {
			break
		}
		if err != nil {
			return "", err
		}
	}
	for _, r := range path {
		seen[r] = name
	}
	return name, nil
}
