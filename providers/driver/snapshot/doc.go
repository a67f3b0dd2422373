// Package snapshot is for infrastructure providers that observe one place by listing
// everything in it: a project of a cloud, a vCenter, an Ironic. All clusters of the place
// share a listing.
//
// Owner identifies the owner of a resource, Set finds resources by id and by owner, Cache keeps
// the newest snapshot, and Watch reports which clusters differ from one snapshot to the next.
//
// What Cache guarantees: after Changed for a machine, observations of that machine and of its
// cluster get no snapshot that began before. Other clusters may get the existing snapshot.
//
//	lists := snapshot.NewCache(10*time.Second, "list what is in the project", project.list)
//	s, err := lists.Get(ctx, snapshot.OwnerOf(c))
//	…
//	lists.Changed(snapshot.OwnerOf(c).Part("eu-1-md-0-5f2a90c1"))
package snapshot
