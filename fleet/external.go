package fleet

// ExternalResourcesAnnotation on a Cluster with the value "leave" has a deletion
// leave load balancers and volumes that Kubernetes made. Without it they go first.
const ExternalResourcesAnnotation = "fairlead.dev/external-resources"

// LeaveExternalResources is the value of ExternalResourcesAnnotation.
const LeaveExternalResources = "leave"

// An ExternalResource is an object in a workload cluster for which a controller of
// that cluster keeps something outside of it: a Service of type LoadBalancer, or a
// PersistentVolume that a driver provisioned and that goes with its claim. Nothing
// removes what is outside once the controllers are gone.
// Source: Cluster API Provider AWS, garbage collection of external resources.
type ExternalResource struct {
	Object ObjectRef
	Claim  ObjectRef // of a PersistentVolume: what uses it; zero: nothing does any more
}
