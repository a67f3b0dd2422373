// Package vcenter makes requests to one vCenter as one user. It knows no kinds of Cluster API: it
// observes ([Client.Look]), finds inventory by names, requests changes and returns the tasks of vCenter,
// and is the only place that classifies errors of vCenter ([Wrap]).
//
// What it guarantees:
//
//   - An observation is complete or an error. If vCenter reports that something is hidden, by rights or
//     an expired session, that is an error.
//   - An expired session is opened again, and the request is repeated once: vCenter did not carry it
//     out. A refused password is tried again after a minute at first and up to ten minutes later, for all
//     users of it, since accounts get locked.
//   - No call waits for a task. The next observation has its result, also for another agent.
//   - Requests are limited in rate, and each is reported with the name of its method.
//
// For example:
//
//	pool := vcenter.NewPool(vcenter.Options{Rate: 20})
//	defer pool.Close()
//	c, err := pool.Client(vcenter.Credential{Server: "vc.example.com", Thumbprint: "AB:CD:…", User: "fairlead", Password: secret})
//	look, err := c.Look(ctx, owner)
//	for _, vm := range look.Tagged() {
//		…
//	}
package vcenter
