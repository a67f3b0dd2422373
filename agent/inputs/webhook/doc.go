// Package webhook hears of pushes from a forge, so that a push is acted on at
// once and not with the next poll.
//
//	POST /hook/github     X-Hub-Signature-256
//	POST /hook/gitlab     webhook-signature, or X-Gitlab-Token
//	POST /hook/gitea      X-Gitea-Signature, X-Forgejo-Signature
//	POST /hook/bitbucket  X-Hub-Signature, of Cloud and of Data Center
//	POST /hook/generic    X-Signature
//
// A call is a hint and nothing more: it makes the agent look at the repository
// that it was configured with. Nothing that a call says is fetched, followed or
// believed, so the worst that a stolen secret can do is a poll too many.
//
// What is guaranteed of every call:
//
//   - It is verified before anything of its content is read as more than bytes,
//     and secrets are compared in constant time.
//   - Its size, its time and the number of calls at once are bounded.
//   - A call that was received is not received again for a while.
//   - A kind without a secret does not exist: 404.
package webhook
