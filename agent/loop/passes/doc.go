// Package passes makes the passes over the clusters of a fleet that an agent owns: it takes
// a cluster from the queue, has the reconciler make a pass, hands on what came of it, and
// puts the cluster back for its next look.
//
//	p := passes.New(passes.Options{Resync: resync}, passes.Parts{Reconciler: reconciler, Fleet: decisions, Queue: queue, …})
//	queue.Run(ctx, workers, p.Make)
//
// What it guarantees:
//
//   - No pass is made while the fleet is handed over, nor over a cluster that is left alone.
//   - A pass that a process did not make, or that an ending context cut short, is not
//     reported.
//   - What only the last report knows of a cluster comes with it to its next pass.
package passes
