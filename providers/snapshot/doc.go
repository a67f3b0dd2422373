// Package snapshot is for infrastructure providers that learn what is there by listing
// everything of one place: a project of a cloud, a vCenter, an Ironic. All clusters of
// the place share a listing.
//
// Owner says whose a thing is, Set finds things by id and by owner, Cache keeps the
// newest snapshot, and Watch tells which clusters look different from one to the next.
//
// What Cache guarantees: whoever changed something of a machine, and said so, sees no
// snapshot that was begun before, and neither does who looks at the whole cluster of
// that machine. Other clusters go on with the snapshot that there is.
//
//	lists := snapshot.NewCache(10*time.Second, "list what is in the project", project.list)
//	s, err := lists.Get(ctx, snapshot.OwnerOf(c))
//	…
//	lists.Changed(snapshot.OwnerOf(c).Part("eu-1-md-0-5f2a90c1"))
package snapshot
