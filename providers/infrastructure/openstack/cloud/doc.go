// Package cloud reaches the projects of OpenStack clouds: one [Project] per credential, with its
// clients, its limits and one [Snapshot] of everything in it, and the marks of owners. Sessions and the
// classification of errors are in package openstackauth.
//
// A caller that changes something wraps the error with [openstackauth.Wrap] and calls [Project.Changed]
// when the call is over, also after an error:
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
