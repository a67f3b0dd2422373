// Package notify tells people what happened to a fleet: in Slack, Microsoft Teams, a room of
// Matrix, an e-mail or a webhook. What lasts is reported by alerts, and not here.
//
// [Events] says what happened by a commit of the status branch. The writer of that branch
// keeps each event on it until it was told:
//
//	n := notify.New(notify.Parts{Targets: targets, Open: notify.Folder("/etc/fairlead/notifications"), …})
//	writer := status.NewWriter(branch, status.Options{Notifications: n.Notifications(), …})
//	err := n.Run(ctx, writer)
//
// What it guarantees:
//
//   - No event is lost by an agent that ends, moves or loses a push. One that was told right
//     before that may be told again, with the same id.
//   - What waits for one target is one message, and a target that cannot be reached holds up
//     no other.
//   - Where messages go, and with which credentials, is said by who runs the agent. Git
//     chooses among these targets.
//   - Texts of others are neither markup nor mentions in a message, and addresses and tokens
//     are in no error.
package notify
