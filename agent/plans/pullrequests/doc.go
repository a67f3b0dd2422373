// Package pullrequests plans what people propose, and says so where they review it: as the
// status of a commit, as one comment that is edited in place, and on the status branch.
//
// What it guarantees:
//
//   - Nothing is changed but these three, and only if a plan says something else: another base or state
//     alone is not written. Plans of a poll are one commit.
//   - A proposal that takes long, or cannot be planned, keeps no other from being planned.
//   - A forge that limits requests is not asked before the time that it names.
//   - Heads that are no branch of the repository are planned only if somebody approves or fleet.yaml has
//     all of them planned, and take no place of others.
//   - A pull request is planned as it would be merged, onto what is followed, and again when
//     its head, its base or what was seen of its clusters changes.
//   - What a pull request says is not trusted: clusters are looked at by what is followed,
//     what is new counts as not there, nothing of it is decrypted, the policy is that of the
//     base, and no comment is read for anything but whether it is the agent's own.
//   - A review approves of a stage where those that are followed name who wrote it, and of the
//     commit that was merged and is all that waits.
//   - However often it is killed there is one comment, and what is missing is made up for.
//
// The decisions are those of agent/plans/preview, which are the agent's own.
package pullrequests
