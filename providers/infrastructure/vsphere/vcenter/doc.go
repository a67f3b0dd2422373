// Package vcenter speaks to one vCenter as one user. It knows no kinds of Cluster API: it
// tells what is there ([Client.Look]), finds inventory by the names that people write, asks
// for changes and returns the tasks that vCenter does them in, and it is the one place that
// says what an error of vCenter means ([Wrap]).
//
// What it guarantees:
//
//   - A look is whole or an error. What hides something, as rights or a session that ended,
//     is an error where vCenter tells it.
//   - A session that ended is opened again, and what was asked is asked once more: vCenter
//     did nothing of it. A password that is refused is tried again after a minute at first
//     and ten minutes at last, whoever uses it: accounts get locked.
//   - Nothing waits for a task. The next look tells how it went, also to another agent.
//   - Requests keep a rate, and each is told with the name of its method.
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
