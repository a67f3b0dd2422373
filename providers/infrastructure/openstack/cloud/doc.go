// Package cloud reaches the projects of OpenStack clouds: one [Project] per
// credential, with its clients, its limits and the one [Snapshot] of all that is
// in it, and the marks that say whose a thing is. Sessions, and what an error means, are
// of package openstackauth.
//
// A caller that changes something wraps the error with [openstackauth.Wrap] and calls
// [Project.Changed] when the call is over, whatever came of it:
//
//	client, err := p.Network(ctx)
//	if err != nil {
//		return err
//	}
//	defer p.Changed(owner)
//	_, err = networks.Create(ctx, client, networks.CreateOpts{
//		Name: name, Description: cloud.FormatOwner("", owner),
//	}).Extract()
//	return openstackauth.Wrap("create network "+name, err)
package cloud
