// Package openstackauth is a session with OpenStack, for whichever provider asks one of its
// services: the credential of a Secret as people have it for Cluster API ([Credential]), the
// token and its renewal, the catalogue as it changes ([Session]), one client for each
// service, and the one place that says what an error of OpenStack means ([Wrap]).
//
// What it guarantees:
//
//   - Nothing of the environment or the file system of the agent gets into a credential.
//   - A credential that is refused is not tried again for a while, by any cluster, so that
//     many clusters do not lock an account.
//   - A service that is added or moves is found while the agent runs.
//   - Requests keep a rate, and wait where the cloud asks for it: see package transport.
//
// For example:
//
//	s, err := openstackauth.New(credential, openstackauth.Options{Rate: 20, Timeout: 2 * time.Minute})
//	client, err := s.Client(ctx, openstackauth.Service{Name: "baremetal", Open: openstack.NewBareMetalV1})
//	if err != nil {
//		return err
//	}
//	node, err := nodes.Get(ctx, client, id).Extract()
//	return openstackauth.WrapLook("look at node "+id, err)
package openstackauth
